// The same bodies on Vulkan. The provider chooses which of their nodes it runs, but the numbers must be the same.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/attention_reference.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test::microsoft {
namespace {

class MicrosoftOnVulkan : public testing::Test {
 protected:
  void SetUp() override {
    if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
  }
  const RunAs how_{.provider = "vulkan"};
};

TEST_F(MicrosoftOnVulkan, ActivationsAndProducts) {
  const Array x = Random({2, 3, 8}, -3, 3), bias = Random({8}, -1, 1, DataType::kFloat, 2);
  const Array expected = Make(x.dims, [&](const Dims& i) {
    const double v = x.At(i) + bias.At({i[2]});
    return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  });
  ExpectNear(Call("BiasGelu").In(x).Weights(bias).Run(how_)[0], expected, 1e-5);
  const Array a = Random({1, 3, 4}), b = Random({1, 5, 4}, -1, 1, DataType::kFloat, 2);
  const Array product = Make({1, 3, 5}, [&](const Dims& i) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += 0.5 * a.At({0, i[1], k}) * b.At({0, i[2], k});
    return sum;
  });
  ExpectNear(Call("FusedMatMul").In(a).In(b).Int("transB", 1).Float("alpha", 0.5f).Run(how_)[0], product, 1e-5);
}

TEST_F(MicrosoftOnVulkan, NormalizationsOfSums) {
  const Array x = Random({2, 3, 8}), skip = Random({2, 3, 8}, -1, 1, DataType::kFloat, 2);
  const Array gamma = Random({8}, 0.5, 1.5, DataType::kFloat, 3);
  const Array sum = Make(x.dims, [&](const Dims& i) { return x.At(i) + skip.At(i); });
  const Array expected = Make(x.dims, [&](const Dims& i) {
    double square = 0;
    for (int64_t c = 0; c < 8; ++c) square += sum.At({i[0], i[1], c}) * sum.At({i[0], i[1], c}) / 8;
    return sum.At(i) / std::sqrt(square + 1e-6) * gamma.At({i[2]});
  });
  for (const int64_t opset : {13, 23}) {
    Call call("SkipSimplifiedLayerNormalization");
    call.In(x).In(skip).Weights(gamma).Float("epsilon", 1e-6f).Outputs({true, false, false, true});
    const Arrays y = call.Run({.opset = opset, .provider = "vulkan"});
    ExpectNear(y[0], expected, 2e-5);
    ExpectNear(y[1], sum, 1e-6);
  }
}

TEST_F(MicrosoftOnVulkan, AttentionWithItsMaskAndPast) {
  const Array q = Random({2, 3, 8}), k = Random({2, 3, 8}, -1, 1, DataType::kFloat, 2);
  const Array v = Random({2, 3, 8}, -1, 1, DataType::kFloat, 3),
              past = Random({2, 2, 4, 4}, -1, 1, DataType::kFloat, 4);
  AttentionRule rule;
  rule.added = [](const Dims& i) { return i[3] > i[2] + 4 ? kHidden : 0; };
  const Array keys = Joined(past, HeadsOf(k, 2, 4));
  const Array expected = Merged(AttentionOf(HeadsOf(q, 2, 4), keys, Joined(past, HeadsOf(v, 2, 4)), rule));
  Call call("MultiHeadAttention");
  call.In(q).In(k).In(v).Absent().Absent().Absent().In(past).In(past);
  const Arrays y = call.Int("num_heads", 2).Int("unidirectional", 1).Outputs({true, true, true}).Run(how_);
  ExpectNear(y[0], expected, 2e-5);
  ExpectNear(y[1], keys, 1e-6);
}

}  // namespace
}  // namespace epiphyte::test::microsoft
