#include "core/graph/type.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace epiphyte::test {
namespace {

using namespace core;

TEST(DataType, HasTheNumbersAndNamesOfOnnx) {
  EXPECT_FALSE(IsValidDataType(0));
  EXPECT_FALSE(IsValidDataType(-1));
  EXPECT_FALSE(IsValidDataType(27));
  for (int32_t i = 1; i <= 26; ++i) {
    EXPECT_TRUE(IsValidDataType(i));
    EXPECT_NE(DataTypeName(static_cast<DataType>(i)), "undefined") << i;
    EXPECT_GT(DataTypeBits(static_cast<DataType>(i)), 0u) << i;
  }
  EXPECT_EQ(DataTypeName(DataType::kBfloat16), "bfloat16");
  EXPECT_EQ(DataTypeName(DataType::kFloat8E5M2FNUZ), "float8e5m2fnuz");
  EXPECT_EQ(DataTypeName(static_cast<DataType>(1234567)), "undefined");
  EXPECT_EQ(DataTypeName(static_cast<DataType>(-5)), "undefined");
}

TEST(DataType, PackedTypesShareBytes) {
  EXPECT_EQ(DataTypeBytes(DataType::kInt4, 0), 0u);
  EXPECT_EQ(DataTypeBytes(DataType::kInt4, 3), 2u);
  EXPECT_EQ(DataTypeBytes(DataType::kUint2, 5), 2u);
  EXPECT_EQ(DataTypeBytes(DataType::kFloat, 3), 12u);
  EXPECT_EQ(DataTypeBytes(DataType::kComplex128, 1), 16u);
}

TEST(DataType, RefusesSizesBeyondMemory) {
  EXPECT_THROW(DataTypeBytes(DataType::kDouble, UINT64_MAX / 4), Error);
  EXPECT_EQ(DataTypeBytes(DataType::kInt4, UINT64_MAX), UINT64_MAX / 2 + 1);
  EXPECT_THROW(DataTypeBytes(DataType::kUndefined, 1), Error);
  EXPECT_THROW(ElementCount({-1, 3}), Error);
  EXPECT_THROW(ElementCount({INT64_MAX, INT64_MAX}), Error);
  EXPECT_EQ(ElementCount({INT64_MAX, INT64_MAX, 0}), 0u);
  EXPECT_EQ(ElementCount({}), 1u);
}

TEST(Type, PrintsLikeOnnx) {
  EXPECT_EQ(Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim::Symbol("height"), Dim()})->ToString(),
            "tensor(float)[1,height,?]");
  EXPECT_EQ(Type::Tensor(DataType::kInt64)->ToString(), "tensor(int64)");
  EXPECT_EQ(Type::Sequence(Type::Optional(Type::Tensor(DataType::kBool, Shape{})))->ToString(),
            "seq(optional(tensor(bool)[]))");
  EXPECT_EQ(Type::Map(DataType::kString, Type::Tensor(DataType::kFloat))->ToString(), "map(string,tensor(float))");
  EXPECT_EQ(Type::Unknown()->ToString(), "unknown");
}

TEST(Type, ShowsItselfToPlugins) {
  const TypePtr type = Type::Tensor(DataType::kFloat, Shape{Dim(4), Dim::Symbol("n"), Dim(-7)});
  const EpTypeInfo* info = type->abi();
  EXPECT_EQ(info->struct_size, sizeof(EpTypeInfo));
  EXPECT_EQ(info->kind, EP_KIND_TENSOR);
  EXPECT_EQ(info->element_type, EP_TYPE_FLOAT);
  ASSERT_EQ(info->rank, 3);
  EXPECT_EQ(info->dims[0], 4);
  EXPECT_EQ(info->dims[1], -1);
  EXPECT_EQ(info->dims[2], -1) << "sizes that make no sense are unknown";
  EXPECT_EQ(info->dim_names[0], nullptr);
  EXPECT_STREQ(info->dim_names[1], "n");
  EXPECT_EQ(info->dim_names[2], nullptr);

  EXPECT_EQ(Type::Tensor(DataType::kFloat, Shape{Dim(4)})->abi()->dim_names, nullptr);
  EXPECT_EQ(Type::Tensor(DataType::kFloat, Shape{})->abi()->rank, 0);
  EXPECT_EQ(Type::Tensor(DataType::kFloat)->abi()->rank, -1);
  const TypePtr sequence = Type::Sequence(type);
  EXPECT_EQ(sequence->abi()->element, info);
}

TEST(MergeTypes, KeepsWhatEitherSideKnows) {
  const TypePtr a = Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim::Symbol("n"), Dim()});
  const TypePtr b = Type::Tensor(DataType::kFloat, Shape{Dim(), Dim(), Dim(5)});
  EXPECT_EQ(MergeTypes(a, b)->ToString(), "tensor(float)[1,n,5]");
  EXPECT_EQ(MergeTypes(b, a)->ToString(), "tensor(float)[1,n,5]");
  EXPECT_EQ(MergeTypes(Type::Tensor(DataType::kFloat), b), b);
  EXPECT_EQ(MergeTypes(nullptr, b), b);
  EXPECT_EQ(MergeTypes(b, Type::Unknown()), b);
  EXPECT_EQ(MergeTypes(nullptr, nullptr)->kind(), EP_KIND_UNKNOWN);
  EXPECT_EQ(MergeTypes(Type::Sequence(Type::Tensor(DataType::kFloat)), Type::Sequence(a))->ToString(),
            "seq(tensor(float)[1,n,?])");
}

TEST(MergeTypes, GivesNullForContradictions) {
  const TypePtr type = Type::Tensor(DataType::kFloat, Shape{Dim(2), Dim(3)});
  EXPECT_EQ(MergeTypes(type, Type::Tensor(DataType::kInt64)), nullptr);
  EXPECT_EQ(MergeTypes(type, Type::Tensor(DataType::kFloat, Shape{Dim(2)})), nullptr);
  EXPECT_EQ(MergeTypes(type, Type::Tensor(DataType::kFloat, Shape{Dim(2), Dim(4)})), nullptr);
  EXPECT_EQ(MergeTypes(type, Type::Sequence(type)), nullptr);
  EXPECT_EQ(MergeTypes(Type::Sequence(type), Type::Sequence(Type::Tensor(DataType::kBool))), nullptr);
}

TEST(JoinTypes, KeepsWhatBothSidesSay) {
  const TypePtr a = Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim::Symbol("n"), Dim(4)});
  const TypePtr b = Type::Tensor(DataType::kFloat, Shape{Dim(1), Dim(3), Dim(5)});
  EXPECT_EQ(core::JoinTypes(a, b)->ToString(), "tensor(float)[1,?,?]");
  EXPECT_EQ(core::JoinTypes(a, a), a);
  EXPECT_EQ(core::JoinTypes(a, Type::Tensor(DataType::kFloat, Shape{Dim(1)}))->ToString(), "tensor(float)");
  EXPECT_EQ(core::JoinTypes(Type::Sequence(a), Type::Sequence(b))->ToString(), "seq(tensor(float)[1,?,?])");
  EXPECT_EQ(core::JoinTypes(a, nullptr)->kind(), EP_KIND_UNKNOWN);
  EXPECT_EQ(core::JoinTypes(a, Type::Tensor(DataType::kInt64)), nullptr);
  EXPECT_EQ(core::JoinTypes(a, Type::Sequence(a)), nullptr);
}

TEST(WithoutShape, ReachesTheElements) {
  const TypePtr type = Type::Tensor(DataType::kFloat, Shape{Dim(1)});
  EXPECT_EQ(core::WithoutShape(type)->ToString(), "tensor(float)");
  EXPECT_EQ(core::WithoutShape(Type::Optional(Type::Sequence(type)))->ToString(), "optional(seq(tensor(float)))");
  EXPECT_EQ(core::WithoutShape(nullptr), nullptr);
}

TEST(Type, ComparesByContent) {
  EXPECT_EQ(*Type::Tensor(DataType::kFloat, Shape{Dim(2)}), *Type::Tensor(DataType::kFloat, Shape{Dim(2)}));
  EXPECT_FALSE(*Type::Tensor(DataType::kFloat, Shape{Dim(2)}) == *Type::Tensor(DataType::kFloat));
  EXPECT_FALSE(*Type::Tensor(DataType::kFloat) == *Type::SparseTensor(DataType::kFloat));
  EXPECT_FALSE(*Type::Sequence(Type::Tensor(DataType::kFloat)) == *Type::Sequence(Type::Tensor(DataType::kBool)));
}

}  // namespace
}  // namespace epiphyte::test
