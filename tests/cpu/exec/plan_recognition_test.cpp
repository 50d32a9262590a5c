// Operators that exporters write out as arithmetic are recognised as one operator.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/cpu/exec/plan_text.h"

namespace epiphyte::test {
namespace {

const std::string kGeluHead = R"(
  opset 17
  in    x: float[2,3]
  const half: float = 0.5
  const one: float = 1
  const three: float = 3
  const root2: float = 1.4142135
  const inverse_root2: float = 0.70710678
  const cube: float = 0.044715
  const k: float = 0.7978845608
  out   y
)";

TEST(FuseGelu, TheFormWithErfInAnyOrder) {
  for (const char* product : {"p = Mul@14(x, e1)\ny = Mul@14(p, half)", "p = Mul@14(half, e1)\ny = Mul@14(x, p)",
                              "p = Mul@14(half, x)\ny = Mul@14(e1, p)"}) {
    EXPECT_EQ(Fused(kGeluHead + "a = Div@14(x, root2)\ne = Erf(a)\ne1 = Add@14(e, one)\n" + product).text,
              "y = Gelu<approximate=\"none\">(x)\n")
        << product;
  }
  EXPECT_EQ(Fused(kGeluHead + R"(
    a = Mul@14(inverse_root2, x)
    e = Erf(a)
    e1 = Add@14(one, e)
    p = Mul@14(x, e1)
    y = Mul@14(p, half)
  )")
                .text,
            "y = Gelu<approximate=\"none\">(x)\n");
}

TEST(FuseGelu, TheFormWithTanh) {
  EXPECT_EQ(Fused(kGeluHead + R"(
    x3 = Pow(x, three)
    c = Mul@14(cube, x3)
    s = Add@14(x, c)
    a = Mul@14(k, s)
    t = Tanh(a)
    t1 = Add@14(one, t)
    h = Mul@14(x, half)
    y = Mul@14(h, t1)
  )")
                .text,
            "y = Gelu<approximate=\"tanh\">(x)\n");
  EXPECT_EQ(Fused(kGeluHead + R"(
    kx = Mul@14(k, x)
    cx = Mul@14(cube, x)
    c = Mul@14(cx, x)
    s = Add@14(c, one)
    a = Mul@14(kx, s)
    t = Tanh(a)
    t1 = Add@14(t, one)
    h = Mul@14(x, half)
    y = Mul@14(h, t1)
  )")
                .text,
            "y = Gelu<approximate=\"tanh\">(x)\n");
}

TEST(FuseGelu, OfAProduct) {
  EXPECT_EQ(Fused(R"(
    in    u: float[2,3]
    in    v: float[2,3]
    const half: float = 0.5
    const one: float = 1
    const root2: float = 1.4142135
    x = Mul@14(u, v)
    a = Div@14(x, root2)
    e = Erf(a)
    e1 = Add@14(e, one)
    p = Mul@14(x, e1)
    y = Mul@14(p, half)
    out y, x
  )")
                .text,
            "x = Mul(u, v)\ny = Gelu<approximate=\"none\">(x)\n");
}

TEST(FuseGelu, OfDoubles) {
  EXPECT_EQ(Fused(R"(
    in    x: double[2,3]
    const half: double = 0.5
    const one: double = 1
    const root2: double = 1.41421356237
    a = Div@14(x, root2)
    e = Erf(a)
    e1 = Add@14(e, one)
    p = Mul@14(x, e1)
    y = Mul@14(p, half)
    out y
  )")
                .text,
            "y = Gelu<approximate=\"none\">(x)\n");
}

TEST(FuseGelu, StaysForOtherFormulas) {
  const auto fused = [](const std::string& body) {
    return Fused(kGeluHead + body).text.find("Gelu") != std::string::npos;
  };
  const std::string gelu =
      "a = Div@14(x, root2)\ne = Erf(a)\ne1 = Add@14(e, one)\np = Mul@14(x, e1)\ny = Mul@14(p, half)\n";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = gelu;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_TRUE(fused(gelu));
  EXPECT_FALSE(fused(with("(x, root2)", "(x, three)")));
  EXPECT_FALSE(fused(with("(e, one)", "(e, half)")));
  EXPECT_FALSE(fused(with("(p, half)", "(p, one)")));
  EXPECT_FALSE(fused("in z: float[2,3]\n" + with("(x, e1)", "(z, e1)")));
}

TEST(FuseGelu, ALongChainOfProductsIsLookedAtInPieces) {
  std::string text = "in v0: float[4]\nconst k: float = 1.01\n";
  for (int i = 0; i < 5000; ++i)
    text += "v" + std::to_string(i + 1) + ":float[4] = Mul@14(v" + std::to_string(i) + ", k)\n";
  const FusedPlan plan = Fused(text + "out v5000\n");
  EXPECT_LT(plan.def.nodes.size(), 5000u);
}

const std::string kNormHead = R"(
  opset 13
  in    x: float[2,5,4]
  const two: float = 2
  const epsilon: float = 0.001
  const scale: float[4] = 1 2 3 4
  const bias: float[4] = 5 6 7 8
  const wide: float[5,4] = 1 2 3
  out   y
)";
const std::string kNormBody = R"(
  mean = ReduceMean@13<axes=[-1]>(x)
  d = Sub@14(x, mean)
  sq = Pow(d, two)
  var = ReduceMean@13<axes=[-1]>(sq)
  ve = Add@14(var, epsilon)
  std = Sqrt(ve)
  n = Div@14(d, std)
)";
const std::string kWideBody = R"(
  mean = ReduceMean@13<axes=[2,1]>(x)
  d = Sub@14(x, mean)
  sq = Mul@14(d, d)
  var = ReduceMean@13<axes=[1,2]>(sq)
  ve = Add@14(epsilon, var)
  std = Sqrt(ve)
  n = Div@14(d, std)
)";

std::vector<float> Input() {
  std::vector<float> x(40);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.5f * static_cast<float>(i % 11) - 2.0f;
  return x;
}

TEST(FuseNormalizations, WithScaleAndBias) {
  const std::string text = kNormHead + kNormBody + "s = Mul@14(n, scale)\ny = Add@14(bias, s)";
  EXPECT_EQ(Fused(text).text, "y = LayerNormalization<axis=-1, epsilon=0.001>(x, scale, bias)\n");
  ExpectSameAsPlain(text, {Input()}, 1e-4f);
}

TEST(FuseNormalizations, WithoutBias) {
  const std::string text = kNormHead + kNormBody + "y = Mul@14(scale, n)";
  EXPECT_EQ(Fused(text).text, "y = LayerNormalization<axis=-1, epsilon=0.001>(x, scale)\n");
  ExpectSameAsPlain(text, {Input()}, 1e-4f);
  EXPECT_EQ(Fused(kNormHead + kNormBody + "s = Mul@14(scale, n)\ny = Add@14(s, x)").operators(),
            "LayerNormalization Add")
      << "an Add of something else stays";
}

TEST(FuseNormalizations, OverSeveralLastAxes) {
  const std::string text = kNormHead + kWideBody + "y = Mul@14(n, wide)";
  EXPECT_EQ(Fused(text).text, "y = LayerNormalization<axis=-2, epsilon=0.001>(x, wide)\n");
  ExpectSameAsPlain(text, {Input()}, 1e-4f);
  const std::string biased = kNormHead + kWideBody + "s = Mul@14(n, wide)\ny = Add@14(s, wide)";
  EXPECT_EQ(Fused(biased).text, "y = LayerNormalization<axis=-2, epsilon=0.001>(x, wide, wide)\n");
  ExpectSameAsPlain(biased, {Input()}, 1e-4f);
}

TEST(FuseNormalizations, StaysForWhatOnlyLooksLikeIt) {
  const auto fused = [](std::string body, std::string_view from, std::string_view to) {
    if (!from.empty()) body.replace(body.find(from), from.size(), to);
    return Fused(kNormHead + body + "y = Mul@14(n, scale)").operators() == "LayerNormalization";
  };
  EXPECT_TRUE(fused(kNormBody, "", ""));
  EXPECT_FALSE(fused(kNormBody, "axes=[-1]", "axes=[1]"));
  EXPECT_FALSE(fused(kNormBody, "axes=[-1]", "axes=[-1,-2]")) << "the mean of more than the variance";
  EXPECT_FALSE(fused(kNormBody, "Pow(d, two)", "Pow(d, epsilon)"));
  EXPECT_FALSE(fused(kNormBody, "Pow(d, two)", "Pow(x, two)"));
  EXPECT_FALSE(fused(kNormBody, "Sqrt", "Exp"));
  EXPECT_NE(Fused(kNormHead + kNormBody + "out n\ny = Mul@14(n, scale)").operators(), "LayerNormalization")
      << "the unscaled values are needed too";
}

// Operators that the kit's recognisers make (tests/plugin_api/fuse) give the same results in this plugin as the model's
// own operators.

std::vector<float> Waves(size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = 3.0f * std::sin(0.7f * static_cast<float>(i));
  return x;
}

TEST(Recognised, SoftmaxComputesTheSame) {
  const std::string text = R"(
    opset 13
    in x: float[2,3,4]
    const axis: int64[1] = 1
    m = ReduceMax@13<axes=[1]>(x)
    z = Sub@14(x, m)
    e = Exp(z)
    s = ReduceSum@13(e, axis)
    y = Div@14(e, s)
    out y
  )";
  EXPECT_EQ(Fused(text).text, "y = Softmax<axis=1>(x)\n");
  ExpectSameAsPlain(text, {Waves(24)});
}

TEST(Recognised, InstanceAndGroupNormalizationComputeTheSame) {
  const std::string instance = R"(
    opset 13
    in x: float[2,4,3,2]
    const epsilon: float = 0.01
    const w: float[4,1,1] = 1 2 -3 4
    const b: float[4,1,1] = 5 6 7 -8
    m = ReduceMean@13<axes=[2,3]>(x)
    d = Sub@14(x, m)
    q = Mul@14(d, d)
    v = ReduceMean@13<axes=[2,3]>(q)
    e = Add@14(v, epsilon)
    r = Sqrt(e)
    n = Div@14(d, r)
    s = Mul@14(n, w)
    y = Add@14(s, b)
    out y
  )";
  EXPECT_EQ(Fused(instance).operators(), "InstanceNormalization");
  ExpectSameAsPlain(instance, {Waves(48)}, 1e-4f);
  const std::string group = R"(
    opset 13
    in x: float[2,4,3,2]
    const shape: int64[3] = 0 2 -1
    const back: int64[4] = 2 4 3 2
    const ones: float[2] = 1 1
    const zeros: float[2] = 0 0
    const w: float[4,1,1] = 1 2 -3 4
    const b: float[4,1,1] = 5 6 7 -8
    g = Reshape@13(x, shape)
    n = InstanceNormalization@6<epsilon=0.01>(g, ones, zeros)
    i = Reshape@13(n, back)
    s = Mul@14(i, w)
    y = Add@14(s, b)
    out y
  )";
  EXPECT_EQ(Fused(group).operators(), "GroupNormalization");
  ExpectSameAsPlain(group, {Waves(48)}, 1e-4f);
}

TEST(Recognised, RotaryEmbeddingComputesTheSame) {
  const std::string text = R"(
    opset 13
    in x: float[1,2,3,4]
    const c: float[3,2] = 1 0.5 0.25 -1 0 2
    const s: float[3,2] = 0.5 1 -0.25 1 3 2
    const zero: int64[1] = 0
    const two: int64[1] = 2
    const four: int64[1] = 4
    const last: int64[1] = 3
    cos = Concat@13<axis=-1>(c, c)
    sin = Concat@13<axis=-1>(s, s)
    f = Slice@13(x, zero, two, last)
    g = Slice@13(x, two, four, last)
    n = Neg(g)
    t = Concat@13<axis=-1>(n, f)
    a = Mul@14(x, cos)
    b = Mul@14(t, sin)
    y = Add@14(a, b)
    out y
  )";
  EXPECT_THAT(Fused(text).operators(), testing::EndsWith("RotaryEmbedding"));
  ExpectSameAsPlain(text, {Waves(24)});
}

TEST(Recognised, AttentionWithScaledQueriesAndKeysComputesTheSame) {
  const std::string text = R"(
    opset 13
    in q: float[1,2,3,4]
    in k: float[1,2,5,4]
    in v: float[1,2,5,4]
    const root: float = 0.7
    t = Transpose@13<perm=[0,1,3,2]>(k)
    a = Mul@14(q, root)
    b = Mul@14(t, root)
    s = MatMul@13(a, b)
    p = Softmax@13<axis=-1>(s)
    y = MatMul@13(p, v)
    out y
  )";
  EXPECT_EQ(Fused(text).operators(), "Attention*");
  ExpectSameAsPlain(text, {Waves(24), Waves(40), Waves(40)});
}

TEST(Recognised, HardSwishComputesTheSame) {
  const std::string text = R"(
    opset 13
    in x: float[2,12]
    const zero: float = 0
    const three: float = 3
    const six: float = 6
    a = Add@14(x, three)
    c = Clip@13(a, zero, six)
    m = Mul@14(x, c)
    y = Div@14(m, six)
    out y
  )";
  EXPECT_EQ(Fused(text).text, "y = HardSwish(x)\n");
  ExpectSameAsPlain(text, {Waves(24)});
}

}  // namespace
}  // namespace epiphyte::test
