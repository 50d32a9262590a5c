// The derivatives of all operators that have one.
#include <gmock/gmock.h>

#include "tests/onnx/gradient/differences.h"

namespace epiphyte::test {
namespace {

TEST(GradientRules, OfOneArgument) {
  for (const char* op : {"Abs",
                         "Atan",
                         "Asinh",
                         "Cos",
                         "Cosh",
                         "Elu<alpha=0.7>",
                         "Erf",
                         "Exp",
                         "HardSigmoid",
                         "Identity",
                         "LeakyRelu<alpha=0.3>",
                         "Neg",
                         "Relu",
                         "Selu",
                         "Shrink<lambd=0.6>",
                         "Sigmoid",
                         "Sin",
                         "Sinh",
                         "Softplus",
                         "Softsign",
                         "Tanh",
                         "ThresholdedRelu<alpha=0.4>",
                         "HardSwish"})
    Differentiated(fmt::format("y = {}(x)", op)).By("x", {2, 3}).Check({.opset = 17});
  for (const char* op : {"Log", "Reciprocal", "Sqrt"})
    Differentiated(fmt::format("y = {}(x)", op)).By("x", {5}, 0.5, 3).Check();
  for (const char* op : {"Acos", "Asin", "Atanh", "Tan"})
    Differentiated(fmt::format("y = {}(x)", op)).By("x", {5}, -0.8, 0.8).Check();
  Differentiated("y = Acosh(x)").By("x", {5}, 1.5, 3).Check();
  for (const char* op : {"Gelu", "Gelu<approximate=\"tanh\">", "Mish"})
    Differentiated(fmt::format("y = {}(x)", op)).By("x", {2, 3}).Check({.opset = 20});
  Differentiated("y = Swish<alpha=1.3>(x)").By("x", {2, 3}).Check({.opset = 24});
}

TEST(GradientRules, OfTwoArgumentsAndMoreThatAreBroadcast) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"}) {
    Differentiated(fmt::format("y = {}(a, b)", op)).By("a", {2, 3}).By("b", {2, 3}).CheckIn();
    Differentiated(fmt::format("y = {}(a, b)", op)).By("a", {2, 1, 3}).By("b", {4, 1}).CheckIn();
    Differentiated(fmt::format("y = {}(a, b)", op)).By("a", {}).By("b", {1, 3}).CheckIn();
  }
  Differentiated("y = Div(a, b)").By("a", {2, 3}).By("b", {3}, 0.5, 2).CheckIn();
  Differentiated("y = Sum(a, b, c)").By("a", {2, 3}).By("b", {3}).By("c", {2, 1}).CheckIn();
  Differentiated("y = Max(a, b, c)").By("a", {2, 3}).By("b", {3}).By("c", {2, 1}).CheckIn();
  Differentiated("y = PRelu(a, b)").By("a", {2, 3}).By("b", {3}).CheckIn();
  Differentiated("y = Pow(a, b)").By("a", {2, 3}, 0.5, 2).By("b", {3}).CheckIn();
}

TEST(GradientRules, OfAnArgumentThatIsUsedTwice) {
  Differentiated("s = Mul(x, x) t = Exp(x) y = Mul(s, t)").By("x", {4}).CheckIn();
}

TEST(GradientRules, OfPowersOfWholeNumbers) {
  Differentiated("e = Constant<value = int64[3] {0, 2, 3}>() y = Pow(x, e)").By("x", {2, 3}).CheckIn();
}

TEST(GradientRules, OfWhatChooses) {
  const core::ValuePtr flags = Bools({2, 1}, {true, false});
  Differentiated("y = Where(c, a, b)").By("a", {2, 3}).By("b", {3}).Given("c", "bool[2,1]", flags).CheckIn();
  Differentiated("y = Clip(x, low, high)").By("x", {7}).By("low", {}, -1, -1).By("high", {}, 1, 1).CheckIn();
  Differentiated("high = Constant<value = double {0.5}>() y = Clip(x, absent, high)").By("x", {7}).CheckIn();
}

TEST(GradientRules, OfDropoutThatOnlyHandsOn) {
  Differentiated("y = Dropout(x)").By("x", {5}).CheckIn();
  Differentiated("t = Constant<value = bool {0}>() y = Dropout(x, absent, t)").By("x", {5}).CheckIn({13, 22});
}

TEST(GradientRules, OfCasts) {
  Differentiated("f = Cast<to=11>(x) y = CastLike(f, x)").By("x", {3}).Check({.opset = 17});
}

TEST(GradientRules, OfMatrixProducts) {
  const auto check = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    Differentiated("y = MatMul(a, b)").By("a", a).By("b", b).CheckIn();
  };
  check({2, 3}, {3, 4});
  check({5, 2, 3}, {5, 3, 2});
  check({5, 2, 3}, {3, 2});
  check({2, 3}, {5, 3, 2});
  check({2, 1, 2, 3}, {3, 3, 2});
  check({3}, {3, 2});
  check({2, 3}, {3});
  check({3}, {3});
  check({3}, {2, 3, 2});
  check({2, 2, 3}, {3});
}

TEST(GradientRules, OfGemm) {
  for (const int turn_a : {0, 1}) {
    for (const int turn_b : {0, 1}) {
      Differentiated(fmt::format("y = Gemm<transA={}, transB={}, alpha=0.5, beta=2.0>(a, b, c)", turn_a, turn_b))
          .By("a", turn_a != 0 ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3})
          .By("b", turn_b != 0 ? std::vector<int64_t>{4, 3} : std::vector<int64_t>{3, 4})
          .By("c", {4})
          .CheckIn({13, 17});
    }
  }
  Differentiated("y = Gemm(a, b)").By("a", {2, 3}).By("b", {3, 4}).CheckIn({13});
}

TEST(GradientRules, OfOtherShapes) {
  Differentiated("y = Transpose(x)").By("x", {2, 3}).CheckIn();
  Differentiated("y = Transpose<perm=[2,0,1]>(x)").By("x", {2, 3, 4}).CheckIn();
  Differentiated("s = Constant<value = int64[2] {3, -1}>() y = Reshape(x, s)").By("x", {2, 3}).CheckIn();
  Differentiated("a = Constant<value = int64[2] {0, -2}>() y = Squeeze(x, a)").By("x", {1, 2, 1, 3}).CheckIn();
  Differentiated("a = Constant<value = int64[2] {0, -1}>() y = Unsqueeze(x, a)").By("x", {2, 3}).CheckIn();
  Differentiated("y = Flatten(x)").By("x", {2, 3, 2}).CheckIn();
  Differentiated("s = Constant<value = int64[3] {2, 2, 3}>() y = Expand(x, s)").By("x", {2, 1}).CheckIn();
}

TEST(GradientRules, OfJoiningAndCutting) {
  Differentiated("y = Concat<axis=-1>(a, b, a)").By("a", {2, 3}).By("b", {2, 1}).CheckIn();
  Differentiated(
      "s = Constant<value = int64[2] {-1, 0}>() e = Constant<value = int64[2] {-9, 3}>() "
      "a = Constant<value = int64[2] {0, 1}>() t = Constant<value = int64[2] {-2, 1}>() y = Slice(x, s, e, a, t)")
      .By("x", {4, 4})
      .CheckIn();
  Differentiated(
      "s = Constant<value = int64[2] {1, 2}>() u, v = Split<axis=1>(x, s) w = Exp(v) y = Concat<axis=1>(w, u)")
      .By("x", {2, 3})
      .CheckIn();
  Differentiated("s = Constant<value = int64[2] {1, 2}>() u, y = Split<axis=1>(x, s)").By("x", {2, 3}).CheckIn();
  Differentiated("p = Constant<value = int64[4] {1, 0, 2, -1}>() y = Pad(x, p, v)")
      .By("x", {2, 3})
      .By("v", {})
      .CheckIn();
  Differentiated("p = Constant<value = int64[4] {1, 0, 0, 2}>() y = Pad<mode=\"reflect\">(x, p)")
      .By("x", {2, 3})
      .CheckIn({17});
  Differentiated("y = Trilu<upper=0>(x)").By("x", {3, 3}).CheckIn({14, 17});
}

TEST(GradientRules, OfMovingElements) {
  const std::string i = "i = Constant<value = int64[3] {2, 0, 2}>() ";
  Differentiated(i + "y = Gather<axis=1>(x, i)").By("x", {2, 3}).CheckIn({16, 18});
  Differentiated("i = Constant<value = int64[2,2] {1, 0, 1, 1}>() y = GatherElements<axis=1>(x, i)")
      .By("x", {2, 3})
      .CheckIn({16, 18});
  Differentiated("i = Constant<value = int64[2,1] {1, 1}>() y = GatherND(x, i)").By("x", {2, 3}).CheckIn({16, 18});
  Differentiated("r = Constant<value = int64[2] {2, 3}>() y = Tile(x, r)").By("x", {1, 2}).CheckIn({16, 18});
  Differentiated("y = DepthToSpace<blocksize=2>(x)").By("x", {1, 4, 1, 2}).CheckIn();
  Differentiated("y = SpaceToDepth<blocksize=2>(x)").By("x", {1, 1, 2, 4}).CheckIn();
  Differentiated("i = Constant<value = int64[1,2] {1, 0}>() y = ScatterElements<axis=1>(x, i, u)")
      .By("x", {2, 3})
      .By("u", {1, 2})
      .CheckIn({16, 18});
  Differentiated("i = Constant<value = int64[1,1] {1}>() y = ScatterND(x, i, u)")
      .By("x", {2, 3})
      .By("u", {1, 3})
      .CheckIn({16, 18});
}

TEST(GradientRules, OfReductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp",
                         "ReduceSumSquare"}) {
    for (const int keep : {0, 1}) {
      const bool by_input = std::string_view(op) == "ReduceSum";
      const std::string with_axes =
          by_input ? fmt::format("a = Constant<value = int64[1] {{-2}}>() y = {}<keepdims={}>(x, a)", op, keep)
                   : fmt::format("y = {}<axes=[-2], keepdims={}>(x)", op, keep);
      Differentiated(with_axes).By("x", {2, 3, 2}).CheckIn({13, 17});
      Differentiated(fmt::format("a = Constant<value = int64[2] {{0, 2}}>() y = {}<keepdims={}>(x, a)", op, keep))
          .By("x", {2, 3, 2})
          .CheckIn({18});
      Differentiated(fmt::format("y = {}<keepdims={}>(x)", op, keep)).By("x", {2, 3}).CheckIn();
    }
  }
  Differentiated("y = ReduceLogSum<keepdims=0>(x)").By("x", {2, 3}, 0.5, 2).CheckIn();
  Differentiated("y = ReduceSum<noop_with_empty_axes=1>(x)").By("x", {2, 3}).CheckIn();
  for (const int reverse : {0, 1})
    for (const int exclusive : {0, 1})
      Differentiated(fmt::format("a = Constant<value = int64 {{1}}>() y = CumSum<reverse={}, exclusive={}>(x, a)",
                                 reverse, exclusive))
          .By("x", {2, 3})
          .CheckIn({13});
}

TEST(GradientRules, OfNormalizations) {
  Differentiated("y = Softmax(x)").By("x", {2, 3}).CheckIn({13, 17});
  Differentiated("y = Softmax<axis=1>(x)").By("x", {2, 3, 2}).CheckIn({12, 13});
  Differentiated("y = LogSoftmax<axis=-2>(x)").By("x", {2, 3, 2}).CheckIn({12, 13});
  Differentiated("y = BatchNormalization(x, s, b, m, v)")
      .By("x", {2, 3, 2})
      .By("s", {3})
      .By("b", {3})
      .By("m", {3})
      .By("v", {3}, 0.5, 2)
      .CheckIn();
  Differentiated("y, m2, v2 = BatchNormalization<training_mode=1>(x, s, b, m, v)")
      .By("x", {4, 2})
      .By("s", {2})
      .By("b", {2})
      .By("m", {2})
      .By("v", {2}, 0.5, 2)
      .CheckIn({15}, 1);
  Differentiated("y = InstanceNormalization(x, s, b)").By("x", {2, 2, 4}).By("s", {2}).By("b", {2}).CheckIn({13, 18});
  Differentiated("y = LayerNormalization<axis=-2>(x, s, b)")
      .By("x", {2, 3, 2})
      .By("s", {3, 2})
      .By("b", {2})
      .CheckIn({17, 18});
  Differentiated("y = LayerNormalization(x, s)").By("x", {2, 4}).By("s", {4}).CheckIn({17});
  Differentiated("y = GroupNormalization<num_groups=2>(x, s, b)")
      .By("x", {2, 4, 3})
      .By("s", {2})
      .By("b", {2})
      .CheckIn({18});
  Differentiated("y = GroupNormalization<num_groups=2>(x, s, b)")
      .By("x", {2, 4, 3})
      .By("s", {4})
      .By("b", {4})
      .CheckIn({21});
  Differentiated("y = RMSNormalization(x, s)").By("x", {2, 4}).By("s", {4}).CheckIn({23});
  Differentiated("y = LpNormalization<axis=1>(x)").By("x", {2, 3}).CheckIn({13});
  Differentiated("y = LpNormalization<axis=-1, p=1>(x)").By("x", {2, 3}).CheckIn({13});
  Differentiated("y = MeanVarianceNormalization<axes=[0,2]>(x)").By("x", {2, 2, 3}).CheckIn({13, 18});
}

TEST(GradientRules, OfConvolutions) {
  const auto check = [](const std::string& attributes, std::vector<int64_t> x, std::vector<int64_t> w) {
    Differentiated("y = Conv<" + attributes + ">(x, w, b)").By("x", x).By("w", w).By("b", {w[0]}).CheckIn({13, 18});
  };
  check("pads=[0,0]", {2, 2, 5}, {3, 2, 2});
  check("pads=[1,0,0,2]", {1, 2, 4, 3}, {2, 2, 2, 2});
  check("strides=[2,3]", {2, 1, 6, 7}, {2, 1, 3, 2});
  check("dilations=[2,1], strides=[1,2], pads=[1,1,1,1]", {1, 1, 5, 4}, {2, 1, 2, 3});
  check("group=2, strides=[2]", {2, 4, 6}, {4, 2, 3});
  check("group=3, pads=[1,1]", {2, 3, 4}, {3, 1, 3});
  check("auto_pad=\"SAME_UPPER\", strides=[2,2]", {1, 1, 5, 4}, {1, 1, 2, 3});
  check("auto_pad=\"SAME_LOWER\", strides=[2]", {1, 1, 6}, {1, 1, 4});
  check("auto_pad=\"VALID\"", {1, 1, 5}, {2, 1, 2});
  Differentiated("y = Conv(x, w)").By("x", {1, 1, 2, 3, 2}).By("w", {1, 1, 2, 2, 1}).CheckIn({17});
}

TEST(GradientRules, OfTransposedConvolutions) {
  const auto check = [](const std::string& attributes, std::vector<int64_t> x, std::vector<int64_t> w,
                        int64_t channels) {
    Differentiated("y = ConvTranspose<" + attributes + ">(x, w, b)")
        .By("x", x)
        .By("w", w)
        .By("b", {channels})
        .CheckIn({13, 18});
  };
  check("pads=[0,0]", {2, 2, 3}, {2, 3, 2}, 3);
  check("pads=[1,0], strides=[2], output_padding=[1]", {1, 2, 3}, {2, 1, 3}, 1);
  check("group=2, strides=[2,1], dilations=[1,2]", {1, 2, 2, 3}, {2, 1, 2, 2}, 2);
}

TEST(GradientRules, OfPooling) {
  Differentiated("y = MaxPool<kernel_shape=[2,2], strides=[1,2], pads=[0,1,1,0]>(x)")
      .By("x", {1, 2, 3, 4})
      .CheckIn({16, 18});
  Differentiated("y = MaxPool<kernel_shape=[2], ceil_mode=1, strides=[2]>(x)").By("x", {2, 1, 5}).CheckIn({17});
  Differentiated("y = AveragePool<kernel_shape=[2,2], strides=[1,2], pads=[0,1,1,0]>(x)")
      .By("x", {1, 2, 3, 4})
      .CheckIn();
  Differentiated("y = AveragePool<kernel_shape=[3], count_include_pad=1, pads=[1,1]>(x)").By("x", {2, 2, 4}).CheckIn();
  Differentiated("y = AveragePool<kernel_shape=[3], auto_pad=\"SAME_UPPER\", strides=[2]>(x)")
      .By("x", {2, 2, 4})
      .CheckIn();
  Differentiated("y = GlobalAveragePool(x)").By("x", {2, 2, 2, 3}).CheckIn();
  Differentiated("y = GlobalMaxPool(x)").By("x", {2, 2, 2, 3}).CheckIn();
}

// An operator that is a function and has no rule is replaced by its body.
TEST(GradientRules, OfFunctions) {
  Differentiated("y = com.microsoft.QuickGelu(x)").By("x", {2, 3}).CheckIn({13, 17});
  Differentiated("y = SoftmaxCrossEntropyLoss<reduction=\"mean\">(x, t)")
      .By("x", {2, 3})
      .Given("t", "int64[2]", Int64s({2}, {2, 0}))
      .CheckIn({16});
}

TEST(GradientRules, OfOperatorsBehindEachOther) {
  Differentiated("n = LayerNormalization(x, b) h = MatMul(n, w) y = Softmax(h)")
      .By("x", {2, 3})
      .By("w", {3, 2})
      .By("b", {3})
      .CheckIn({17, 18});
  Differentiated("c = Conv(x, w) r = Tanh(c) p = MaxPool<kernel_shape=[2]>(r) f = Flatten(p) y = MatMul(f, v)")
      .By("x", {2, 1, 5})
      .By("w", {2, 1, 2})
      .By("v", {6, 2})
      .CheckIn({17});
}

// The derivative of a piecewise constant function is 0.
TEST(GradientRules, OfSteps) {
  Differentiated("f = Floor(x) r = Round(x) s = Sign(x) t = Sum(f, r, s) y = Mul(x, t)").By("x", {5}).CheckIn({17});
  Differentiated("z = Shape(x) d = Cast<to=11>(z) y = Mul(x, d)").By("x", {3, 2}).CheckIn({17});
  Differentiated("y = Ceil(x)").By("x", {5}).CheckIn({17});
}

}  // namespace
}  // namespace epiphyte::test
