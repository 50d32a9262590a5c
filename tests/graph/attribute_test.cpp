#include "core/graph/attribute.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::test {
namespace {

using namespace core;

EpAttributeInfo Info(const Attribute& attribute) {
  EpAttributeInfo info{};
  info.struct_size = sizeof info;
  attribute.FillAbi(&info);
  return info;
}

TEST(Attribute, SingleValuesAreArraysOfOne) {
  const Attribute number = Attribute::Int("axis", -1);
  EXPECT_EQ(number.i(), -1);
  const EpAttributeInfo info = Info(number);
  EXPECT_EQ(info.type, EP_ATTRIBUTE_INT);
  EXPECT_STREQ(info.name, "axis");
  ASSERT_EQ(info.count, 1u);
  EXPECT_EQ(info.ints[0], -1);
  EXPECT_EQ(info.floats, nullptr);
}

TEST(Attribute, ViewsSurviveMoves) {
  std::vector<Attribute> attributes;
  for (int i = 0; i < 50; ++i) attributes.push_back(Attribute::Strings("s", {"x", "a longer text than fits inside"}));
  for (const Attribute& attribute : attributes) {
    const EpAttributeInfo info = Info(attribute);
    ASSERT_EQ(info.count, 2u);
    EXPECT_EQ(std::string(info.strings[0].data, info.strings[0].size), "x");
    EXPECT_EQ(info.strings[1].data, attribute.strings()[1].data());
  }
}

TEST(Attribute, SparseTensorsCountPairs) {
  const float value = 1;
  const int64_t index = 4;
  std::vector<ConstantPtr> pair = {Constant::Copy(DataType::kFloat, {1}, &value, 4),
                                   Constant::Copy(DataType::kInt64, {1}, &index, 8)};
  const Attribute sparse = Attribute::Sparse("w", pair, false);
  const EpAttributeInfo info = Info(sparse);
  EXPECT_EQ(info.type, EP_ATTRIBUTE_SPARSE_TENSOR);
  EXPECT_EQ(info.count, 1u);
  EXPECT_EQ(info.tensors[1], pair[1]->abi());
}

TEST(Attribute, CloneCopiesBodiesAndSharesConstants) {
  auto body = std::make_unique<Graph>("body");
  ValueDef* x = body->AddInput("x", Type::Tensor(DataType::kFloat));
  ValueDef* y = body->AddValue("y");
  body->AddNode("Relu", "", 14, {x}, {y});
  body->SetOutputs({y});
  const Attribute original = Attribute::Subgraph("body", std::move(body));
  const Attribute copy = original.Clone();
  EXPECT_NE(&copy.g(), &original.g());
  EXPECT_EQ(copy.g().node_count(), 1u);
  EXPECT_EQ(Info(copy).graphs[0], ToAbi(&copy.g()));

  const float value = 1;
  const Attribute tensor = Attribute::Tensor("value", Constant::Copy(DataType::kFloat, {}, &value, 4));
  EXPECT_EQ(tensor.Clone().t(), tensor.t());
}

TEST(Attribute, FillsNothingWhereThereIsNoRoomForAll) {
  const Attribute attribute = Attribute::Ints("perm", {1, 0});
  EpAttributeInfo info{};
  info.ints = reinterpret_cast<const int64_t*>(&info);
  info.struct_size = offsetof(EpAttributeInfo, floats);
  EXPECT_THROW(attribute.FillAbi(&info), core::Error);
  EXPECT_EQ(info.struct_size, offsetof(EpAttributeInfo, floats));
  EXPECT_EQ(info.count, 0u);
  EXPECT_EQ(info.ints, reinterpret_cast<const int64_t*>(&info));
}

}  // namespace
}  // namespace epiphyte::test
