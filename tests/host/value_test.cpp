// Values of the public API.
#include <gmock/gmock.h>

#include "epiphyte/value.hpp"

namespace epiphyte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Body>
Error Catch(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(StatusCode::kOk, "nothing was thrown");
}

TEST(Value, CopiesATensor) {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  Value value = Value::Copy<float>(data, {2, 3});
  data[0] = 100;
  EXPECT_EQ(value.kind(), ValueKind::kTensor);
  EXPECT_EQ(value.element_type(), ElementType::kFloat);
  EXPECT_THAT(value.shape(), ElementsAre(2, 3));
  EXPECT_EQ(value.element_count(), 6u);
  EXPECT_EQ(value.byte_size(), 24u);
  EXPECT_THAT(value.Data<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Value, WrapsTheApplicationsMemory) {
  std::vector<int64_t> data = {1, 2};
  int released = 0;
  {
    Value value = Value::Wrap<int64_t>(data, {2}, [&] { ++released; });
    Value copy = value;
    EXPECT_EQ(copy.Data<int64_t>().data(), data.data());
    value.MutableData<int64_t>()[1] = 7;
    value = Value();
    EXPECT_EQ(released, 0) << "a copy is left";
  }
  EXPECT_EQ(released, 1);
  EXPECT_THAT(data, ElementsAre(1, 7));
}

TEST(Value, MovesWithoutTouchingTheData) {
  Value value = Value::Tensor(ElementType::kInt8, {4});
  const void* data = value.data();
  Value moved = std::move(value);
  EXPECT_FALSE(value);
  EXPECT_EQ(moved.data(), data);
}

TEST(Value, TensorMemoryIsAligned) {
  Value value = Value::Tensor(ElementType::kUint8, {3});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(value.data()) % 64, 0u);
}

TEST(Value, ScalarsAndEmptyTensors) {
  Value scalar = Value::Copy<double>(std::vector<double>{1.5}, {});
  EXPECT_THAT(scalar.shape(), ElementsAre());
  EXPECT_THAT(scalar.Data<double>(), ElementsAre(1.5));
  Value empty = Value::Tensor(ElementType::kFloat, {3, 0});
  EXPECT_EQ(empty.element_count(), 0u);
  EXPECT_TRUE(empty.Data<float>().empty());
}

TEST(Value, PackedTypesTakeTheBytesTheyNeed) {
  EXPECT_EQ(Value::Tensor(ElementType::kInt4, {5}).byte_size(), 3u);
  EXPECT_EQ(Value::Tensor(ElementType::kUint2, {5}).byte_size(), 2u);
}

TEST(Value, Strings) {
  Value value = Value::Strings({"a", "", "ü\n"}, {3});
  EXPECT_EQ(value.element_type(), ElementType::kString);
  EXPECT_THAT(value.strings(), ElementsAre("a", "", "ü\n"));
  EXPECT_EQ(Catch([&] { value.data(); }).code(), StatusCode::kInvalidArgument);
}

TEST(Value, SequencesHoldValues) {
  Value one = Value::Copy<float>(std::vector<float>{1}, {1});
  Value sequence = Value::Sequence(ElementType::kFloat, {one, one});
  EXPECT_EQ(sequence.kind(), ValueKind::kSequence);
  ASSERT_EQ(sequence.elements().size(), 2u);
  EXPECT_THAT(sequence.elements()[1].Data<float>(), ElementsAre(1));
  EXPECT_EQ(Value::Sequence(ElementType::kFloat, {}).elements().size(), 0u);
  EXPECT_EQ(Catch([&] { Value::Sequence(ElementType::kFloat, {Value()}); }).code(), StatusCode::kInvalidArgument);
}

TEST(Value, EmptyOptionalIsAValueWithoutContent) {
  Value value = Value::EmptyOptional();
  EXPECT_TRUE(value);
  EXPECT_EQ(value.kind(), ValueKind::kEmpty);
  EXPECT_FALSE(value.IsTensor());
}

TEST(Value, AccessIsChecked) {
  Value value = Value::Copy<float>(std::vector<float>{1}, {1});
  Error error = Catch([&] { value.Data<int32_t>(); });
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("tensor(float) found, int32 asked for"));
  EXPECT_EQ(Catch([&] { value.strings(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Catch([&] { value.elements(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Catch([&] { Value().shape(); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Catch([&] { Value::EmptyOptional().Data<float>(); }).code(), StatusCode::kInvalidArgument);
}

TEST(Value, MemoryOfTheWrongSizeIsRefused) {
  std::vector<float> data(6);
  Error error = Catch([&] { Value::Wrap<float>(data, {2, 4}); });
  EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("24 bytes given, 32 expected for float[2,4]"));
  EXPECT_EQ(Catch([&] { Value::Copy<float>(data, {7}); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Catch([&] { Value::Wrap(ElementType::kFloat, {2}, nullptr, 8); }).code(), StatusCode::kInvalidArgument);
}

TEST(Value, ImpossibleTensorsAreRefused) {
  EXPECT_EQ(Catch([] { Value::Tensor(ElementType::kFloat, {-1}); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Catch([] { Value::Tensor(static_cast<ElementType>(99), {1}); }).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Catch([] { Value::Tensor(ElementType::kString, {1}); }).code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Catch([] {
              Value::Tensor(ElementType::kDouble, {int64_t{1} << 40, int64_t{1} << 40});
            }).code(),
            StatusCode::kOk);
  EXPECT_NE(Catch([] { Value::Strings({"one"}, {2}); }).code(), StatusCode::kOk);
}

TEST(TypeInfo, SpellsItselfOut) {
  TypeInfo type = TypeInfo::Tensor(ElementType::kFloat, std::vector<Dimension>{{1, ""}, {-1, "height"}, {-1, ""}});
  EXPECT_EQ(type.ToString(), "tensor(float)[1,height,?]");
  EXPECT_EQ(type.shape()->at(1).symbol, "height");
  EXPECT_EQ(TypeInfo::Sequence(type).element().ToString(), type.ToString());
  EXPECT_EQ(TypeInfo::Optional(type).kind(), ValueKind::kOptional);
  EXPECT_EQ(TypeInfo().kind(), ValueKind::kEmpty);
  const TypeInfo unranked = TypeInfo::Tensor(ElementType::kInt64);
  EXPECT_FALSE(unranked.shape().has_value());
  EXPECT_FALSE(TypeInfo().element().kind() != ValueKind::kEmpty);
}

// C++ ends the life of a temporary optional before a loop over its content begins. Therefore a shape is a reference
// into its type, and a temporary type returns no shape.
template <typename T>
concept GivesAShape = requires(T&& type) {
  std::forward<T>(type).shape();
};
static_assert(GivesAShape<TypeInfo&> && GivesAShape<const TypeInfo&>);
static_assert(!GivesAShape<TypeInfo> && !GivesAShape<const TypeInfo>);

TEST(TypeInfo, ItsShapeCanBeWalkedInPlace) {
  const TypeInfo type =
      TypeInfo::Tensor(ElementType::kFloat, std::vector<Dimension>{{2, ""}, {-1, "a long symbol, on the heap"}});
  std::string walked;
  for (const Dimension& dimension : *type.shape()) walked += std::to_string(dimension.size) + dimension.symbol + ";";
  EXPECT_EQ(walked, "2;-1a long symbol, on the heap;");
  EXPECT_EQ(&*type.shape(), &*type.shape()) << "a reference, not a copy";

  const TypeInfo list = TypeInfo::Sequence(type);
  walked.clear();
  for (const Dimension& dimension : *list.element().shape()) walked += dimension.symbol;
  EXPECT_EQ(walked, "a long symbol, on the heap");
  const TypeInfo copy = TypeInfo::Sequence(type).element();
  EXPECT_EQ(copy.shape()->size(), 2u) << "a copy outlives the type it is from";
}

}  // namespace
}  // namespace epiphyte
