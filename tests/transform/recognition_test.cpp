// Operators that exporters write out as arithmetic.
#include <gtest/gtest.h>

#include "tests/transform/rule_test.h"

namespace epiphyte::test {
namespace {

using namespace core;

const std::string kGeluHead = R"(
  opset 20
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

TEST(RecognizeGelu, TheFormWithErfInAnyOrder) {
  for (const char* product :
       {"p = Mul(x, e1)\ny = Mul(p, half)", "p = Mul(half, e1)\ny = Mul(x, p)", "p = Mul(half, x)\ny = Mul(e1, p)"}) {
    EXPECT_EQ(
        Apply(MakeRecognizeGelu(), kGeluHead + "a = Div(x, root2)\ne = Erf(a)\ne1 = Add(e, one)\n" + product).text,
        "y = Gelu<approximate=\"none\">(x)\n")
        << product;
  }
  EXPECT_EQ(Apply(MakeRecognizeGelu(), kGeluHead + R"(
    a = Mul(inverse_root2, x)
    e = Erf(a)
    e1 = Add(one, e)
    p = Mul(x, e1)
    y = Mul(p, half)
  )")
                .text,
            "y = Gelu<approximate=\"none\">(x)\n");
}

TEST(RecognizeGelu, TheFormWithTanh) {
  EXPECT_EQ(Apply(MakeRecognizeGelu(), kGeluHead + R"(
    x3 = Pow(x, three)
    c = Mul(cube, x3)
    s = Add(x, c)
    a = Mul(k, s)
    t = Tanh(a)
    t1 = Add(one, t)
    h = Mul(x, half)
    y = Mul(h, t1)
  )")
                .text,
            "y = Gelu<approximate=\"tanh\">(x)\n");
  EXPECT_EQ(Apply(MakeRecognizeGelu(), kGeluHead + R"(
    kx = Mul(k, x)
    cx = Mul(cube, x)
    c = Mul(cx, x)
    s = Add(c, one)
    a = Mul(kx, s)
    t = Tanh(a)
    t1 = Add(t, one)
    h = Mul(x, half)
    y = Mul(h, t1)
  )")
                .text,
            "y = Gelu<approximate=\"tanh\">(x)\n");
}

TEST(RecognizeGelu, StaysBelowOpset20AndForOtherFormulas) {
  const auto changed = [](const std::string& head, const std::string& body) {
    return Apply(MakeRecognizeGelu(), head + body).changed;
  };
  const std::string gelu = "a = Div(x, root2)\ne = Erf(a)\ne1 = Add(e, one)\np = Mul(x, e1)\ny = Mul(p, half)\n";
  EXPECT_TRUE(changed(kGeluHead, gelu));
  EXPECT_FALSE(changed(kGeluHead + "opset 19\n", gelu));
  EXPECT_FALSE(
      changed(kGeluHead, "a = Div(x, three)\ne = Erf(a)\ne1 = Add(e, one)\np = Mul(x, e1)\ny = Mul(p, half)\n"));
  EXPECT_FALSE(
      changed(kGeluHead, "a = Div(x, root2)\ne = Erf(a)\ne1 = Add(e, half)\np = Mul(x, e1)\ny = Mul(p, half)\n"));
  EXPECT_FALSE(
      changed(kGeluHead, "a = Div(x, root2)\ne = Erf(a)\ne1 = Add(e, one)\np = Mul(x, e1)\ny = Mul(p, one)\n"));
  EXPECT_FALSE(changed(kGeluHead,
                       "in z: float[2,3]\n" + gelu.substr(0, gelu.find("p =")) + "p = Mul(z, e1)\ny = Mul(p, half)\n"));
  EXPECT_FALSE(changed(kGeluHead, gelu + "out e\n")) << "something else needs a step between";
}

const std::string kNormHead = R"(
  opset 17
  in    x: float[2,5,4]
  const two: float = 2
  const epsilon: float = 0.001
  const scale: float[4] = 1 2 3 4
  const bias: float[4] = 5 6 7 8
  const wide: float[5,4] = 1
  out   y
)";
const std::string kNormBody = R"(
  mean = ReduceMean<axes=[-1]>(x)
  d = Sub(x, mean)
  sq = Pow(d, two)
  var = ReduceMean<axes=[-1]>(sq)
  ve = Add(var, epsilon)
  std = Sqrt(ve)
  n = Div(d, std)
)";

TEST(RecognizeLayerNormalization, WithScaleAndBias) {
  EXPECT_EQ(
      Apply(MakeRecognizeLayerNormalization(), kNormHead + kNormBody + "s = Mul(n, scale)\ny = Add(bias, s)").text,
      "y = LayerNormalization<axis=-1, epsilon=0.001>(x, scale, bias)\n");
}

TEST(RecognizeLayerNormalization, WithoutBias) {
  EXPECT_EQ(Apply(MakeRecognizeLayerNormalization(), kNormHead + kNormBody + "y = Mul(scale, n)").text,
            "y = LayerNormalization<axis=-1, epsilon=0.001>(x, scale)\n");
  EXPECT_EQ(Apply(MakeRecognizeLayerNormalization(), kNormHead + kNormBody + "s = Mul(scale, n)\ny = Add(s, x)").text,
            "s = LayerNormalization<axis=-1, epsilon=0.001>(x, scale)\ny = Add(s, x)\n")
      << "an Add of something else stays";
}

TEST(RecognizeLayerNormalization, OverSeveralLastAxes) {
  EXPECT_EQ(Apply(MakeRecognizeLayerNormalization(), kNormHead + R"(
    mean = ReduceMean<axes=[2,1]>(x)
    d = Sub(x, mean)
    sq = Mul(d, d)
    var = ReduceMean<axes=[1,2]>(sq)
    ve = Add(epsilon, var)
    std = Sqrt(ve)
    n = Div(d, std)
    y = Mul(n, wide)
  )")
                .text,
            "y = LayerNormalization<axis=-2, epsilon=0.001>(x, wide)\n");
}

TEST(RecognizeLayerNormalization, StaysForWhatOnlyLooksLikeIt) {
  const auto changed = [](std::string head, std::string body, std::string_view from, std::string_view to) {
    if (const size_t at = body.find(from); at != body.npos) body.replace(at, from.size(), to);
    return Apply(MakeRecognizeLayerNormalization(), head + body + "y = Mul(n, scale)").changed;
  };
  EXPECT_TRUE(changed(kNormHead, kNormBody, "", ""));
  EXPECT_FALSE(changed(kNormHead + "opset 16\n", kNormBody, "", ""));
  EXPECT_FALSE(changed(kNormHead, kNormBody, "axes=[-1]", "axes=[1]"));
  EXPECT_FALSE(changed(kNormHead, kNormBody, "axes=[-1]>(x", "axes=[-1], keepdims=0>(x"));
  EXPECT_FALSE(changed(kNormHead, kNormBody, "Pow(d, two)", "Pow(d, epsilon)"));
  EXPECT_FALSE(changed(kNormHead, kNormBody, "Pow(d, two)", "Pow(x, two)"));
  EXPECT_FALSE(changed(kNormHead, kNormBody, "Sqrt", "Exp"));
  EXPECT_FALSE(changed(kNormHead + "out n\n", kNormBody, "", "")) << "the unscaled values are needed too";
}

}  // namespace
}  // namespace epiphyte::test
