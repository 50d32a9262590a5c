// Sums of products that fit into int32, and sums that don't.
#include "epiphyte/kit/qdq/sums.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace epiphyte::test {
namespace {

using kit::qdq::HoldsSums;
using kit::qdq::Quantization;
using kit::qdq::Sums;

// int8 weights with zero point 0, for uint8 inputs with zero point 0. The inputs are at most 255.
class Weights {
 public:
  Weights(const std::vector<int64_t>& dims, std::vector<int8_t> numbers) : numbers_(std::move(numbers)) {
    kit::ir::Tensor tensor;
    tensor.type = EP_TYPE_INT8;
    tensor.dims = kit::Dims(std::span<const int64_t>(dims));
    tensor.data = numbers_.data();
    if (numbers_.empty()) {
      graph_.AddValue({"w", EP_TYPE_INT8, EP_KIND_TENSOR, static_cast<int32_t>(dims.size()), dims});
    } else {
      graph_.AddConstant("w", tensor, kit::ir::Constant::Storage::kBorrowed);
    }
  }
  bool Hold(const Sums& sums, const std::vector<int32_t>& bias = {}) const {
    return HoldsSums(graph_, 0, Of(EP_TYPE_UINT8), Of(EP_TYPE_INT8), bias, sums);
  }

 private:
  static Quantization Of(EpElementType type) {
    static constexpr float kScale = 0.5f;
    Quantization quantization;
    quantization.type = type;
    quantization.scale.type = EP_TYPE_FLOAT;
    quantization.scale.data = &kScale;
    return quantization;
  }

  std::vector<int8_t> numbers_;
  kit::ir::Graph graph_;
};

Sums One() {
  return {1, [](int64_t) { return int64_t{0}; }};
}

// 255 * 128 * 65793 is below 2^31; with 65794 it isn't.
TEST(HoldsSums, OfAnyNumbersByHowManyThereAre) {
  EXPECT_TRUE(Weights({65793}, {}).Hold(One()));
  EXPECT_FALSE(Weights({65794}, {}).Hold(One()));
  EXPECT_TRUE(Weights({2, 65793}, {}).Hold({2, [](int64_t i) { return i / 65793; }}));
}

TEST(HoldsSums, OfKnownNumbersByWhatTheyAre) {
  std::vector<int8_t> numbers(100000, 84);  // 255 * 84 * 100000 is below 2^31, 255 * 85 * 100000 isn't
  EXPECT_TRUE(Weights({100000}, numbers).Hold(One()));
  numbers.assign(100000, -85);
  EXPECT_FALSE(Weights({100000}, numbers).Hold(One()));
  // Two outputs use half of the numbers each.
  EXPECT_TRUE(Weights({100000}, numbers).Hold({2, [](int64_t i) { return i % 2; }}));
}

TEST(HoldsSums, WithTheBiasOfTheOutput) {
  const Weights weights({2}, {1, 100});
  const Sums each{2, [](int64_t i) { return i; }};
  EXPECT_TRUE(weights.Hold(each, {INT32_MAX - 255, -(INT32_MAX - 25500)}));
  EXPECT_FALSE(weights.Hold(each, {INT32_MAX - 254, 0}));
  EXPECT_FALSE(weights.Hold(each, {0, -(INT32_MAX - 25499)}));
}

TEST(HoldsSums, OfNoOutputsAndOfShapesBeyondAnyMemory) {
  EXPECT_TRUE(Weights({0, 4}, {}).Hold({0, [](int64_t) { return int64_t{0}; }}));
  EXPECT_FALSE(Weights({int64_t{1} << 40, int64_t{1} << 40}, {}).Hold(One()));
}

}  // namespace
}  // namespace epiphyte::test
