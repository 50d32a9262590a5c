#include "host/conformance/cases/compare_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "host/conformance/graphs/float_formats.h"

namespace epiphyte::conformance {
namespace {

using core::DataType;
using core::Value;
using core::ValuePtr;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
ValuePtr TensorOf(DataType type, const std::vector<T>& values) {
  const std::vector<int64_t> dims = {static_cast<int64_t>(values.size())};
  ValuePtr tensor = Value::Tensor(type, dims);
  std::copy(values.begin(), values.end(), static_cast<T*>(tensor->mutable_data()));
  return tensor;
}

ValuePtr Floats(const std::vector<float>& values) { return TensorOf(DataType::kFloat, values); }

TEST(CompareValues, TakesFloatsWithinTheTolerance) {
  const Tolerance tolerance{.relative = 1e-3, .absolute = 1e-5};
  EXPECT_TRUE(CompareValues(*Floats({1.0009f, 1e-6f}), *Floats({1, 0}), tolerance).equal());
  EXPECT_FALSE(CompareValues(*Floats({1.0012f}), *Floats({1}), tolerance).equal());
  EXPECT_FALSE(CompareValues(*Floats({1e-4f}), *Floats({0}), tolerance).equal());
}

TEST(CompareValues, ReportsTheLargestDifferencesAndTheFirstElementOutside) {
  const Comparison comparison = CompareValues(*Floats({1, 2.5f, 7}), *Floats({1, 2, 4}), {});
  EXPECT_DOUBLE_EQ(comparison.max_absolute, 3);
  EXPECT_DOUBLE_EQ(comparison.max_relative, 0.75);
  EXPECT_EQ(comparison.difference, "element 1 is 2.5, expected 2");
}

TEST(CompareValues, ReportsTheRootMeanSquareOfDifferencesOverThatOfWhatIsExpected) {
  EXPECT_DOUBLE_EQ(CompareValues(*Floats({4, 3, 5}), *Floats({3, 3, 1}), {}).relative_rms, std::sqrt(17.0 / 19));
  EXPECT_DOUBLE_EQ(CompareValues(*Floats({3}), *Floats({0}), {}).relative_rms, 3);
  EXPECT_EQ(CompareValues(*Floats({3, kNan}), *Floats({3, kNan}), {}).relative_rms, 0);
  EXPECT_EQ(CompareValues(*Floats({3, kNan}), *Floats({3, 0}), {}).relative_rms, HUGE_VAL);
  // The values are 1.5 and 1.25 instead of 1 and 1.
  const auto float16 = [](uint16_t a, uint16_t b) { return TensorOf<uint16_t>(DataType::kFloat16, {a, b}); };
  EXPECT_DOUBLE_EQ(CompareValues(*float16(0x3e00, 0x3d00), *float16(0x3c00, 0x3c00), {}).relative_rms,
                   std::sqrt(0.3125 / 2));
  const ValuePtr two = TensorOf<double>(DataType::kDouble, {2}), one = TensorOf<double>(DataType::kDouble, {1});
  EXPECT_DOUBLE_EQ(CompareValues(*two, *one, {}).relative_rms, 1);
}

TEST(CompareValues, HoldsNanEqualToNanOnly) {
  EXPECT_TRUE(CompareValues(*Floats({kNan}), *Floats({kNan}), {}).equal());
  EXPECT_FALSE(CompareValues(*Floats({kNan}), *Floats({0}), {}).equal());
  EXPECT_FALSE(CompareValues(*Floats({0}), *Floats({kNan}), {}).equal());
  EXPECT_EQ(CompareValues(*Floats({kNan}), *Floats({0}), {}).max_absolute, HUGE_VAL);
}

TEST(CompareValues, HoldsInfinityEqualToItselfOnly) {
  EXPECT_TRUE(CompareValues(*Floats({kInfinity}), *Floats({kInfinity}), {}).equal());
  EXPECT_FALSE(CompareValues(*Floats({3e38f}), *Floats({kInfinity}), {}).equal());
  EXPECT_FALSE(CompareValues(*Floats({-kInfinity}), *Floats({kInfinity}), {}).equal());
}

TEST(CompareValues, AllowsHalfFormatsOneUnitInTheLastPlace) {
  const auto bfloat16 = [](uint16_t bits) { return TensorOf<uint16_t>(DataType::kBfloat16, {bits}); };
  EXPECT_TRUE(CompareValues(*bfloat16(0x3ef6), *bfloat16(0x3ef5), {}).equal());
  EXPECT_FALSE(CompareValues(*bfloat16(0x3ef9), *bfloat16(0x3ef5), {}).equal());
  const auto float16 = [](uint16_t bits) { return TensorOf<uint16_t>(DataType::kFloat16, {bits}); };
  EXPECT_TRUE(CompareValues(*float16(0x3c01), *float16(0x3c00), {}).equal());
  EXPECT_FALSE(CompareValues(*float16(0x3c03), *float16(0x3c00), {}).equal());
}

TEST(CompareValues, WantsIntegersExact) {
  const ValuePtr expected = TensorOf<int64_t>(DataType::kInt64, {1, 1000000, 3});
  EXPECT_TRUE(CompareValues(*expected, *expected, {}).equal());
  const Comparison comparison = CompareValues(*TensorOf<int64_t>(DataType::kInt64, {1, 1000001, 3}), *expected, {});
  EXPECT_EQ(comparison.difference, "element 1 is 1000001, expected 1000000");
}

TEST(CompareValues, WantsTypeAndShapeEqual) {
  EXPECT_THAT(CompareValues(*Floats({1}), *Floats({1, 2}), {}).difference, HasSubstr("is float[1], expected float[2]"));
  EXPECT_FALSE(CompareValues(*TensorOf<double>(DataType::kDouble, {1}), *Floats({1}), {}).equal());
}

TEST(CompareValues, ComparesStrings) {
  const std::vector<int64_t> dims = {2};
  const ValuePtr expected = Value::Strings(dims, {"a", "b"});
  EXPECT_TRUE(CompareValues(*Value::Strings(dims, {"a", "b"}), *expected, {}).equal());
  EXPECT_EQ(CompareValues(*Value::Strings(dims, {"a", "c"}), *expected, {}).difference,
            "element 1 is 'c', expected 'b'");
}

TEST(CompareValues, ComparesSequencesElementByElement) {
  const ValuePtr expected = Value::Sequence(DataType::kFloat, {Floats({1}), Floats({2, 3})});
  EXPECT_TRUE(CompareValues(*expected, *expected, {}).equal());
  EXPECT_FALSE(CompareValues(*Value::Sequence(DataType::kFloat, {Floats({1})}), *expected, {}).equal());
  EXPECT_FALSE(CompareValues(*Value::Sequence(DataType::kFloat, {Floats({1}), Floats({2, 4})}), *expected, {}).equal());
}

TEST(CompareValues, TellsAnEmptyOptionalFromAValue) {
  EXPECT_TRUE(CompareValues(*Value::EmptyOptional(), *Value::EmptyOptional(), {}).equal());
  EXPECT_FALSE(CompareValues(*Value::EmptyOptional(), *Floats({}), {}).equal());
}

TEST(FloatFormats, ReadsHalfPrecision) {
  EXPECT_EQ(static_cast<double>(Float16{0x3c00}), 1.0);
  EXPECT_EQ(static_cast<double>(Float16{0xc000}), -2.0);
  EXPECT_EQ(static_cast<double>(Float16{0x7bff}), 65504.0);
  EXPECT_EQ(static_cast<double>(Float16{0x0001}), std::ldexp(1.0, -24));
  EXPECT_EQ(static_cast<double>(Float16{0xfc00}), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(static_cast<double>(Float16{0x7e00})));
}

TEST(FloatFormats, ReadsBfloat16) {
  EXPECT_EQ(static_cast<double>(Bfloat16{0x3f80}), 1.0);
  EXPECT_EQ(static_cast<double>(Bfloat16{0xc040}), -3.0);
}

}  // namespace
}  // namespace epiphyte::conformance
