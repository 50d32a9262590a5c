#include "core/graph/value.h"

#include <gtest/gtest.h>

#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::Value;
using core::ValuePtr;

TEST(Value, DataIsAlignedTo64Bytes) {
  for (int64_t size : {1, 3, 100, 5000, 1 << 20}) {
    ValuePtr value = Value::Tensor(DataType::kUint8, std::vector<int64_t>{size});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(value->data()) % 64, 0u) << size;
    EXPECT_EQ(value->byte_size(), static_cast<uint64_t>(size));
  }
}

TEST(Value, RanksAboveTheInlineOnesKeepTheirDims) {
  std::vector<int64_t> dims = {1, 2, 1, 2, 1, 2, 1, 2, 3};
  ValuePtr value = Value::Tensor(DataType::kFloat, dims);
  EXPECT_EQ(std::vector<int64_t>(value->dims().begin(), value->dims().end()), dims);
  EXPECT_EQ(value->element_count(), 48u);
}

TEST(Value, NegativeAndOverflowingDimsAreRefused) {
  EXPECT_EQ(FailureOf([] {
              Value::Tensor(DataType::kFloat, std::vector<int64_t>{2, -1});
            }),
            "INVALID_ARGUMENT: a tensor can't have a dimension of -1; give sizes of 0 or more");
  EXPECT_NE(FailureOf([] { Value::Tensor(DataType::kFloat, std::vector<int64_t>{INT64_MAX, 3}); }), "OK");
  EXPECT_NE(FailureOf([] { Value::Tensor(DataType::kDouble, std::vector<int64_t>{INT64_MAX / 4}); }), "OK");
}

TEST(Value, OwnerOfWrappedMemoryIsCalledWhenTheLastReferenceIsReleased) {
  float data[2] = {1, 2};
  int released = 0;
  ValuePtr first = Value::Wrap(DataType::kFloat, std::vector<int64_t>{2}, data, sizeof data, [&] { ++released; });
  ValuePtr second = first;
  first = nullptr;
  EXPECT_EQ(released, 0);
  EXPECT_EQ(second->data(), data);
  second = nullptr;
  EXPECT_EQ(released, 1);
}

TEST(Value, WrappedMemoryMustBeLargeEnough) {
  float data[2] = {};
  EXPECT_EQ(FailureOf([&] { Value::Wrap(DataType::kFloat, std::vector<int64_t>{3}, data, sizeof data, {}); }),
            "INVALID_ARGUMENT: memory of 8 bytes can't hold a tensor of float that needs 12 bytes");
}

TEST(Value, StringsKeepZeroBytes) {
  std::string with_zero("a\0b", 3);
  ValuePtr value = Value::Strings(std::vector<int64_t>{2}, {with_zero, ""});
  EXPECT_EQ(value->string_at(0), with_zero);
  EXPECT_EQ(value->string_at(1), "");
  EXPECT_NE(FailureOf([] { Value::Strings(std::vector<int64_t>{3}, {"one"}); }), "OK");
}

TEST(Value, SequencesAndMapsShareTheirElements) {
  ValuePtr element = Floats({1}, {5});
  ValuePtr sequence = Value::Sequence(DataType::kFloat, {element, element});
  EXPECT_EQ(sequence->elements().size(), 2u);
  EXPECT_EQ(sequence->elements()[1].get(), element.get());
  EXPECT_EQ(sequence->abi()->element_count, 2u);
  EXPECT_NE(FailureOf([&] { Value::Map(Floats({1}, {1}), Floats({1}, {1})); }), "OK") << "float keys";
  ValuePtr map = Value::Map(Int64s({1}, {7}), Floats({1}, {1}));
  EXPECT_EQ(map->kind(), EP_KIND_MAP);
}

TEST(Value, TheAbiViewLeadsBackToTheValue) {
  ValuePtr value = Floats({2}, {1, 2});
  EXPECT_EQ(Value::FromAbi(value->abi()), value.get());
  EXPECT_EQ(static_cast<const void*>(value->abi()), static_cast<const void*>(value.get()));
}

}  // namespace
}  // namespace epiphyte::test
