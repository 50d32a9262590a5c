// Comparison of a kernel's outputs with the graph's declarations.
#include "core/abi/output_check.h"

#include <gtest/gtest.h>

namespace epiphyte::core {
namespace {

using Dims = std::vector<int64_t>;

TypePtr FloatTensor(std::vector<int64_t> dims) {
  Shape shape;
  for (const int64_t dim : dims) shape.push_back(dim < 0 ? Dim() : Dim(dim));
  return Type::Tensor(DataType::kFloat, std::move(shape));
}
ValuePtr Floats(Dims dims) { return Value::Tensor(DataType::kFloat, dims); }
ValuePtr Ints(Dims dims) { return Value::Tensor(DataType::kInt64, dims); }
bool Fits(const TypePtr& type, const ValuePtr& value) { return DeclaredOutput(type).Fits(*value); }

TEST(DeclaredOutput, OfATensorHasItsElementTypeRankAndStaticDims) {
  EXPECT_TRUE(Fits(FloatTensor({2, 3}), Floats({2, 3})));
  EXPECT_TRUE(Fits(FloatTensor({-1, 3}), Floats({7, 3})));
  EXPECT_TRUE(Fits(Type::Tensor(DataType::kFloat), Floats({7, 3, 1})));
  EXPECT_FALSE(Fits(FloatTensor({2, 3}), Ints({2, 3})));
  EXPECT_FALSE(Fits(FloatTensor({2, 3}), Floats({2, 4})));
  EXPECT_FALSE(Fits(FloatTensor({-1, 3}), Floats({3, 2})));
  EXPECT_FALSE(Fits(FloatTensor({2, 3}), Floats({2, 3, 1})));
  EXPECT_FALSE(Fits(FloatTensor({}), Floats({1})));
  EXPECT_FALSE(Fits(FloatTensor({2}), Value::Sequence(DataType::kFloat, {Floats({2})})));
  EXPECT_FALSE(Fits(FloatTensor({2}), Value::EmptyOptional()));
}

TEST(DeclaredOutput, OfASequenceHasItsElements) {
  const TypePtr type = Type::Sequence(FloatTensor({-1}));
  EXPECT_TRUE(Fits(type, Value::Sequence(DataType::kFloat, {Floats({2}), Floats({5})})));
  EXPECT_TRUE(Fits(type, Value::Sequence(DataType::kFloat, {})));
  EXPECT_FALSE(Fits(type, Value::Sequence(DataType::kInt64, {}))) << "readers of an empty one go by this";
  EXPECT_FALSE(Fits(type, Value::Sequence(DataType::kFloat, {Floats({2}), Ints({5})})));
  EXPECT_FALSE(Fits(type, Value::Sequence(DataType::kFloat, {Value::EmptyOptional()})));
  EXPECT_FALSE(Fits(type, Floats({2})));
  EXPECT_TRUE(Fits(Type::Sequence(FloatTensor({})), Value::Sequence(DataType::kFloat, {Floats({2}), Floats({5, 1})})))
      << "elements differ in shape, whatever the type says";
}

TEST(DeclaredOutput, OfAMapHasItsKeysAndValues) {
  const TypePtr type = Type::Map(DataType::kInt64, Type::Tensor(DataType::kFloat, Shape{}));
  EXPECT_TRUE(Fits(type, Value::Map(Ints({2}), Floats({2}))));
  EXPECT_FALSE(Fits(type, Value::Map(Ints({2}), Ints({2}))));
  EXPECT_FALSE(Fits(type, Value::Map(Value::Strings(Dims{1}, {"a"}), Floats({1}))));
  EXPECT_FALSE(Fits(type, Floats({2})));
  const TypePtr maps = Type::Sequence(type);
  EXPECT_TRUE(Fits(maps, Value::Sequence(DataType::kUndefined, {Value::Map(Ints({2}), Floats({2}))})));
  EXPECT_FALSE(Fits(maps, Value::Sequence(DataType::kUndefined, {Value::Map(Ints({2}), Ints({2}))})));
}

TEST(DeclaredOutput, OfAnOptionalIsEmptyOrItsElement) {
  const TypePtr type = Type::Optional(FloatTensor({2}));
  EXPECT_TRUE(Fits(type, Value::EmptyOptional()));
  EXPECT_TRUE(Fits(type, Floats({2})));
  EXPECT_FALSE(Fits(type, Floats({3})));
}

TEST(DeclaredOutput, OfUnknownTypeIsAnything) {
  for (const TypePtr& type : {TypePtr(), Type::Unknown()}) {
    EXPECT_TRUE(Fits(type, Floats({3})));
    EXPECT_TRUE(Fits(type, Value::Sequence(DataType::kInt64, {})));
  }
}

TEST(DeclaredOutput, DimsThatOnlyTheModelDeclaresMayDifferWhereNothingReadsThem) {
  const OutputType returned{.type = FloatTensor({1, 2}), .returned_as = "y", .inferred = FloatTensor({1, -1})};
  EXPECT_FALSE(DeclaredOutput(returned).Fits(*Floats({1, 3})));
  EXPECT_TRUE(DeclaredOutput(returned).IsModelsMistake(*Floats({1, 3})));
  EXPECT_FALSE(DeclaredOutput(returned).IsModelsMistake(*Floats({2, 2}))) << "inference knows that it is 1";
  EXPECT_FALSE(DeclaredOutput(returned).IsModelsMistake(*Floats({1, 2, 1}))) << "and how many there are";
  EXPECT_FALSE(DeclaredOutput(returned).IsModelsMistake(*Ints({1, 3})));
  const OutputType unknown{.type = FloatTensor({1, 2}), .returned_as = "y"};
  EXPECT_TRUE(DeclaredOutput(unknown).IsModelsMistake(*Floats({5})));
  EXPECT_FALSE(DeclaredOutput(unknown).IsModelsMistake(*Ints({5})));
  EXPECT_FALSE(DeclaredOutput(OutputType{FloatTensor({1, 2})}).IsModelsMistake(*Floats({1, 3})))
      << "another node reads it";
}

TEST(DeclaredOutput, SaysWhatWasFoundAndWhatWasExpected) {
  EXPECT_EQ(DeclaredOutput(FloatTensor({2, -1})).Complaint(*Ints({3, 1})),
            "is tensor(int64)[3,1], but the model says tensor(float)[2,?]");
}

}  // namespace
}  // namespace epiphyte::core
