// Operators of ai.onnx's first opsets, and operators of com.microsoft in graphs of those opsets.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/call.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::HasSubstr;

constexpr int64_t kEarlyOpsets[] = {7, 8, 9};

Array Sines(Dims dims) {
  int64_t n = 0;
  return As(Make(std::move(dims), [&](const Dims&) { return std::sin(static_cast<double>(n++) * 1.3 + 1); }),
            DataType::kFloat);
}

TEST(MicrosoftEarlyOperators, ElementsAreScaledAndBent) {
  const Array x = Random({2, 3, 5}, -3, 3);
  for (const int64_t opset : kEarlyOpsets) {
    for (const bool open : {false, true}) {
      const RunAs how{.opset = opset, .open = open};
      ExpectNear(Call("Affine", "").In(x).Float("alpha", 2).Float("beta", 0.5f).Run(how)[0],
                 Each(x, [](double v) { return 2 * v + 0.5; }), 1e-6);
      ExpectNear(Call("Affine", "").In(x).Run(how)[0], x, 0);
      ExpectNear(Call("Scale", "").In(x).Float("scale", 3).Run(how)[0], Each(x, [](double v) { return 3 * v; }), 1e-6);
      ExpectNear(Call("Scale", "").In(x).Run(how)[0], x, 0);
      ExpectNear(Call("ScaledTanh", "").In(x).Float("alpha", 2).Float("beta", 0.5f).Run(how)[0],
                 Each(x, [](double v) { return 2 * std::tanh(0.5 * v); }), 1e-6);
      ExpectNear(Call("ParametricSoftplus", "").In(x).Float("alpha", 2).Float("beta", 0.5f).Run(how)[0],
                 Each(x, [](double v) { return 2 * std::log(std::exp(0.5 * v) + 1); }), 1e-6);
      ExpectNear(Call("ThresholdedRelu", "").In(x).Float("alpha", 0.5f).Run(how)[0],
                 Each(x, [](double v) { return v > 0.5 ? v : 0; }), 0);
      ExpectNear(Call("ThresholdedRelu", "").In(x).Run(how)[0], Each(x, [](double v) { return v > 1 ? v : 0; }), 0);
    }
  }
}

TEST(MicrosoftEarlyOperators, ImagesAreScaledAndCropped) {
  const Array x = Random({2, 3, 4, 5});
  const std::vector<float> bias = {0.1f, 0.2f, -0.3f};
  const Array scaled = Make(x.dims, [&](const Dims& i) { return 2 * x.At(i) + bias[static_cast<size_t>(i[1])]; });
  const auto cropped = [&](int64_t left, int64_t top, int64_t height, int64_t width) {
    return Make({2, 3, height, width}, [&](const Dims& i) { return x.At({i[0], i[1], i[2] + top, i[3] + left}); });
  };
  for (const int64_t opset : kEarlyOpsets) {
    for (const RunAs& how :
         {RunAs{.opset = opset}, RunAs{.opset = opset, .open = true}, RunAs{.opset = opset, .context = true}}) {
      ExpectNear(Call("ImageScaler", "").In(x).Float("scale", 2).FloatList("bias", bias).Run(how)[0], scaled, 1e-6);
      ExpectNear(Call("Crop", "").In(x).Ints("border", {1, 0, 2, 1}).Run(how)[0], cropped(1, 0, 3, 2), 0);
      ExpectNear(Call("Crop", "").In(x).Ints("border", {0, 1, 0, 0}).Run(how)[0], cropped(0, 1, 3, 5), 0);
      ExpectNear(Call("Crop", "").In(x).Ints("border", {1, 2, 9, 9}).Ints("scale", {2, 3}).Run(how)[0],
                 cropped(1, 2, 2, 3), 0);
    }
  }
}

TEST(MicrosoftEarlyOperators, NumbersAreThoseOfOnnxRuntime) {
  const RunAs how{.opset = 7};
  const auto first = [&](const Call& call) {
    std::vector<double> numbers = call.Run(how)[0].numbers;
    numbers.resize(5);
    return numbers;
  };
  const auto near = [](const std::vector<double>& expected) {
    return testing::Pointwise(testing::DoubleNear(1e-3), expected);
  };
  const Array x = Sines({2, 3, 2, 2});
  const std::string op_type = "MeanVarianceNormalization";
  EXPECT_THAT(first(Call(op_type, "").In(x).Int("across_channels", 0).Int("normalize_variance", 1)),
              near({1.099941, 0.9773128, -0.5574732, -1.253226, -0.1270338}));
  EXPECT_THAT(first(Call(op_type, "").In(x).Int("across_channels", 1)),
              near({1.187122, 1.053302, -0.6215573, -1.380808, -0.1144511}));
  EXPECT_THAT(first(Call(op_type, "").In(x).Int("normalize_variance", 0)),
              near({0.852125, 0.757125, -0.431875, -0.970875, -0.08025}));
}

TEST(MicrosoftEarlyOperators, SlicesTakeTheirPlacesAsInputs) {
  const Array x = Random({3, 4});
  const auto int64s = [](std::vector<double> n) { return Of({static_cast<int64_t>(n.size())}, n, DataType::kInt64); };
  const Array rows = Make({2, 4}, [&](const Dims& i) { return x.At({i[0] + 1, i[1]}); });
  const Array columns = Make({3, 2}, [&](const Dims& i) { return x.At({i[0], i[1] + 2}); });
  for (const int64_t opset : kEarlyOpsets) {
    ExpectNear(Call("DynamicSlice", "").In(x).In(int64s({1})).In(int64s({3})).Run({.opset = opset})[0], rows, 0);
    ExpectNear(Call("DynamicSlice", "").In(x).In(int64s({2})).In(int64s({4})).In(int64s({1})).Run({.opset = opset})[0],
               columns, 0);
  }
}

TEST(MicrosoftEarlyOperators, AreGoneSinceOpset10) {
  const Array x = Random({2, 3});
  for (const std::string op_type : {"Affine", "Crop", "DynamicSlice", "ImageScaler", "Scale", "ScaledTanh"}) {
    EXPECT_THAT(Call(op_type, "").In(x).Failure({.opset = 10}),
                AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("no operator of that name in opset 10")));
  }
  EXPECT_EQ(Call("ThresholdedRelu", "").In(x).Failure({.opset = 10}), "OK");
}

TEST(MicrosoftEarlyOperators, RefuseWhatDoesNotFit) {
  const Array image = Random({1, 3, 4, 5}), x = Random({2, 3});
  const RunAs how{.opset = 9};
  EXPECT_THAT(Call("ScaledTanh", "").In(x).Float("alpha", 1).Failure(how), HasSubstr("attribute 'beta' is missing"));
  EXPECT_THAT(Call("Crop", "").In(image).Failure(how), HasSubstr("'border' has 0 numbers"));
  EXPECT_THAT(Call("Crop", "").In(image).Ints("border", {0, 3, 0, 2}).Failure(how),
              HasSubstr("dimension 2 is 4, 5 at least"));
  EXPECT_THAT(Call("Crop", "").In(image).Ints("border", {-1, 0, 0, 0}).Failure(how), HasSubstr("-1 to be cropped"));
  EXPECT_THAT(Call("Crop", "").In(x).Ints("border", {0, 0, 0, 0}).Failure(how), HasSubstr("4 expected"));
  EXPECT_THAT(Call("ImageScaler", "").In(image).FloatList("bias", {1, 2}).Failure(how),
              HasSubstr("'bias' has 2 numbers"));
  EXPECT_THAT(Call("Scale", "").In(x).Int("axis", 1).Failure(how), HasSubstr("attribute 'axis' is not known"));
}

TEST(MicrosoftEarlyOperators, ThoseOfComMicrosoftRunInGraphsOfTheseOpsets) {
  const Array x = Random({2, 3, 8}, -4, 4), bias = Random({8}, -1, 1, DataType::kFloat, 2);
  const Array gamma = Random({8}, 0.5, 1.5, DataType::kFloat, 3);
  const auto gelu = [](double v) { return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))); };
  const Array sum = Make(x.dims, [&](const Dims& i) { return x.At(i) + bias.At({i[2]}); });
  for (const int64_t opset : {7, 8, 9, 10}) {
    for (const RunAs& how : {RunAs{.opset = opset}, RunAs{.opset = opset, .open = true, .context = true}}) {
      ExpectNear(Call("Gelu").In(x).Run(how)[0], Each(x, gelu), 2e-6);
      ExpectNear(Call("BiasGelu").In(x).Weights(bias).Run(how)[0], Each(sum, gelu), 2e-6);
      const auto as_later = [&](const Call& call) { ExpectNear(call.Run(how)[0], call.Run({.opset = 13})[0], 2e-5); };
      as_later(Call("FastGelu").In(x));
      as_later(Call("QuickGelu").In(x));
      as_later(Call("SkipLayerNormalization").In(x).In(x).Weights(gamma).Weights(bias));
      as_later(Call("SkipSimplifiedLayerNormalization").In(x).In(x).Weights(gamma));
      as_later(Call("FusedMatMul").In(x).In(Random({8, 4})).Float("alpha", 0.5f));
      as_later(Call("MultiHeadAttention").In(x).In(x).In(x).Int("num_heads", 2).Int("unidirectional", 1));
    }
  }
}

}  // namespace
}  // namespace epiphyte::test::microsoft
