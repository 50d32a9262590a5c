// Which values share memory. That decides whether a kernel can write into a bound output.
#include "core/runtime/value_places.h"

#include <gtest/gtest.h>

#include "core/runtime/run_bindings.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::IsSameMemory;
using core::Overlap;
using core::Value;
using core::ValuePtr;

class ValuePlaces : public ::testing::Test {
 protected:
  ValuePtr Over(size_t first, int64_t count) {
    return Value::Wrap(DataType::kFloat, std::vector<int64_t>{count}, floats_ + first,
                       static_cast<uint64_t>(count) * sizeof(float), {});
  }
  float floats_[16] = {};
};

TEST_F(ValuePlaces, TensorsOverlapWhereOneByteIsTheSame) {
  EXPECT_TRUE(Overlap(*Over(0, 4), *Over(3, 4)));
  EXPECT_TRUE(Overlap(*Over(3, 4), *Over(0, 4)));
  EXPECT_TRUE(Overlap(*Over(0, 8), *Over(2, 2)));
  EXPECT_FALSE(Overlap(*Over(0, 4), *Over(4, 4)));
}

TEST_F(ValuePlaces, EmptyTensorsOverlapNothing) { EXPECT_FALSE(Overlap(*Over(4, 0), *Over(4, 4))); }

TEST_F(ValuePlaces, TheMemoryIsTheSameOnlyWithTheSameBeginningAndSize) {
  EXPECT_TRUE(IsSameMemory(*Over(2, 4), *Over(2, 4)));
  EXPECT_FALSE(IsSameMemory(*Over(2, 4), *Over(2, 3)));
  EXPECT_FALSE(IsSameMemory(*Over(2, 4), *Over(3, 4)));
}

TEST_F(ValuePlaces, ASequenceOverlapsWhatItsElementsOverlap) {
  const ValuePtr sequence = Value::Sequence(DataType::kFloat, {Over(0, 2), Over(8, 2)});
  EXPECT_TRUE(Overlap(*sequence, *Over(9, 1)));
  EXPECT_TRUE(Overlap(*Over(9, 1), *sequence));
  EXPECT_FALSE(Overlap(*sequence, *Over(4, 4)));
  EXPECT_TRUE(Overlap(*sequence, *Value::Sequence(DataType::kFloat, {Over(1, 1)})));
  EXPECT_FALSE(Overlap(*Value::EmptyOptional(), *sequence));
}

TEST(BindingNumbers, StayWhileNothingChangesAndNeverComeAgain) {
  core::BindingNumbers numbers;
  const uint64_t first = numbers.Of(0, {1, 2});
  EXPECT_NE(first, 0u);
  EXPECT_EQ(numbers.Of(0, {1, 2}), first);
  EXPECT_NE(numbers.Of(1, {1, 2}), first);
  const uint64_t second = numbers.Of(0, {1, 3});
  EXPECT_NE(second, first);
  EXPECT_NE(numbers.Of(0, {1, 2}), first) << "what was recorded for the first may be gone";
}

}  // namespace
}  // namespace epiphyte::test
