// Attributes of every kind as models store them, contradictory attributes, and copies under another name.
#include "core/onnx/read/attribute_reader.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/graph/graph.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::Attribute;
using core::AttributeType;
using core::DataType;
using testing::ElementsAre;
using testing::IsEmpty;

Attribute ReadBytes(const std::string& bytes) {
  const core::TensorReader tensors(nullptr, nullptr);
  return core::ReadAttribute(bytes, "node 'n'", false, tensors, [](std::string_view graph) {
    onnx::GraphProto proto;
    EXPECT_TRUE(proto.ParseFromArray(graph.data(), static_cast<int>(graph.size())));
    return std::make_unique<core::Graph>(proto.name());
  });
}

Attribute Read(const onnx::AttributeProto& proto) { return ReadBytes(proto.SerializeAsString()); }

void ExpectRefused(const onnx::AttributeProto& proto, const std::vector<std::string>& parts) {
  ExpectError([&] { Read(proto); }, core::StatusCode::kInvalidGraph, parts);
}

onnx::AttributeProto Named(onnx::AttributeProto_AttributeType type = onnx::AttributeProto::UNDEFINED) {
  onnx::AttributeProto proto;
  proto.set_name("a");
  if (type != onnx::AttributeProto::UNDEFINED) proto.set_type(type);
  return proto;
}

void FillTensor(onnx::TensorProto* tensor, std::vector<int64_t> values) {
  tensor->set_data_type(kInt64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor->add_int64_data(value);
}

// Sets a sparse tensor that is [0, value, 0] when dense.
void FillSparse(onnx::SparseTensorProto* sparse, int64_t value) {
  sparse->add_dims(3);
  FillTensor(sparse->mutable_values(), {value});
  FillTensor(sparse->mutable_indices(), {1});
}

std::vector<int64_t> Elements(const core::ConstantPtr& constant) {
  std::vector<int64_t> elements(constant->byte_size() / sizeof(int64_t));
  std::memcpy(elements.data(), constant->data(), constant->byte_size());
  return elements;
}

TEST(AttributeReader, ReadsListsOfTensors) {
  onnx::AttributeProto proto = Named(onnx::AttributeProto::TENSORS);
  FillTensor(proto.add_tensors(), {1, 2});
  FillTensor(proto.add_tensors(), {3});
  const Attribute read = Read(proto);
  EXPECT_EQ(read.type(), AttributeType::kTensors);
  ASSERT_EQ(read.tensors().size(), 2u);
  EXPECT_THAT(Elements(read.tensors()[0]), ElementsAre(1, 2));
  EXPECT_THAT(Elements(read.tensors()[1]), ElementsAre(3));
}

TEST(AttributeReader, ReadsListsOfGraphs) {
  onnx::AttributeProto proto = Named(onnx::AttributeProto::GRAPHS);
  proto.add_graphs()->set_name("first");
  proto.add_graphs()->set_name("second");
  const Attribute read = Read(proto);
  EXPECT_EQ(read.type(), AttributeType::kGraphs);
  ASSERT_EQ(read.graphs().size(), 2u);
  EXPECT_EQ(read.graphs()[1]->name(), "second");
}

TEST(AttributeReader, MakesSparseTensorsDense) {
  onnx::AttributeProto one = Named(onnx::AttributeProto::SPARSE_TENSOR);
  FillSparse(one.mutable_sparse_tensor(), 7);
  const Attribute dense = Read(one);
  EXPECT_EQ(dense.type(), AttributeType::kTensor);
  EXPECT_THAT(Elements(dense.t()), ElementsAre(0, 7, 0));
  onnx::AttributeProto several = Named(onnx::AttributeProto::SPARSE_TENSORS);
  FillSparse(several.add_sparse_tensors(), 8);
  FillSparse(several.add_sparse_tensors(), 9);
  const Attribute list = Read(several);
  EXPECT_EQ(list.type(), AttributeType::kTensors);
  ASSERT_EQ(list.tensors().size(), 2u);
  EXPECT_THAT(Elements(list.tensors()[1]), ElementsAre(0, 9, 0));
}

TEST(AttributeReader, ReadsListsOfTypes) {
  onnx::AttributeProto proto = Named(onnx::AttributeProto::TYPE_PROTOS);
  proto.add_type_protos()->mutable_tensor_type()->set_elem_type(kFloat);
  proto.add_type_protos()->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(kInt64);
  const Attribute read = Read(proto);
  EXPECT_EQ(read.type(), AttributeType::kTypeProtos);
  ASSERT_EQ(read.types().size(), 2u);
  EXPECT_EQ(read.types()[0]->ToString(), "tensor(float)");
  EXPECT_EQ(read.types()[1]->ToString(), "optional(tensor(int64))");
}

TEST(AttributeReader, EmptyListsAreThereWhenTheTypeSaysSo) {
  EXPECT_THAT(Read(Named(onnx::AttributeProto::FLOATS)).floats(), IsEmpty());
  EXPECT_THAT(Read(Named(onnx::AttributeProto::INTS)).ints(), IsEmpty());
  EXPECT_THAT(Read(Named(onnx::AttributeProto::STRINGS)).strings(), IsEmpty());
  EXPECT_THAT(Read(Named(onnx::AttributeProto::TENSORS)).tensors(), IsEmpty());
  EXPECT_THAT(Read(Named(onnx::AttributeProto::GRAPHS)).graphs(), IsEmpty());
  EXPECT_THAT(Read(Named(onnx::AttributeProto::TYPE_PROTOS)).types(), IsEmpty());
}

// In IR versions 1 and 2, attributes have no type.
TEST(AttributeReader, WithoutATypeTheValueTellsIt) {
  const auto type_of = [](auto fill) {
    onnx::AttributeProto proto = Named();
    fill(proto);
    return Read(proto).type();
  };
  EXPECT_EQ(type_of([](auto& proto) { proto.set_f(1); }), AttributeType::kFloat);
  EXPECT_EQ(type_of([](auto& proto) { proto.set_i(1); }), AttributeType::kInt);
  EXPECT_EQ(type_of([](auto& proto) { proto.set_s("s"); }), AttributeType::kString);
  EXPECT_EQ(type_of([](auto& proto) { FillTensor(proto.mutable_t(), {1}); }), AttributeType::kTensor);
  EXPECT_EQ(type_of([](auto& proto) { proto.mutable_g()->set_name("g"); }), AttributeType::kGraph);
  EXPECT_EQ(type_of([](auto& proto) { proto.add_floats(1); }), AttributeType::kFloats);
  EXPECT_EQ(type_of([](auto& proto) { proto.add_ints(1); }), AttributeType::kInts);
  EXPECT_EQ(type_of([](auto& proto) { proto.add_strings("s"); }), AttributeType::kStrings);
  EXPECT_EQ(type_of([](auto& proto) { FillTensor(proto.add_tensors(), {1}); }), AttributeType::kTensors);
  EXPECT_EQ(type_of([](auto& proto) { proto.add_graphs()->set_name("g"); }), AttributeType::kGraphs);
}

TEST(AttributeReader, WithoutATypeOneValueIsExpected) {
  ExpectRefused(Named(), {"node 'n'", "attribute 'a'", "has no type and no values, exactly one expected"});
  onnx::AttributeProto both = Named();
  both.set_i(1);
  both.set_f(1);
  ExpectRefused(both, {"has no type and several values, exactly one expected"});
}

TEST(AttributeReader, AValueOfAnotherTypeIsRefused) {
  onnx::AttributeProto floats = Named(onnx::AttributeProto::INTS);
  floats.add_floats(1);
  ExpectRefused(floats, {"node 'n'", "attribute 'a' is of type 7, but holds a value of type 6"});
  onnx::AttributeProto scalar = Named(onnx::AttributeProto::FLOAT);
  scalar.set_i(3);
  ExpectRefused(scalar, {"attribute 'a' is of type 1, but holds a value of type 2"});
}

TEST(AttributeReader, WhatCannotBeLeftOutIsMissed) {
  for (const auto type : {onnx::AttributeProto::TENSOR, onnx::AttributeProto::GRAPH, onnx::AttributeProto::TYPE_PROTO,
                          onnx::AttributeProto::SPARSE_TENSOR}) {
    ExpectRefused(Named(type), {"attribute 'a' lacks the value that its type " + std::to_string(type) + " asks for"});
  }
}

TEST(AttributeReader, ATypeThatOnnxDoesNotHaveIsRefused) {
  const std::string name = Named().SerializeAsString();
  // Field 20 (the type) has the numbers 15 and -1.
  for (const std::string& type : {std::string("\xa0\x01\x0f"), "\xa0\x01" + std::string(9, '\xff') + "\x01"}) {
    ExpectError([&] { ReadBytes(name + type); }, core::StatusCode::kInvalidGraph,
                {"node 'n'", "attribute 'a' is of type", "1 to 14 expected"});
  }
}

TEST(AttributeReader, ANameIsExpected) {
  onnx::AttributeProto proto = Named(onnx::AttributeProto::INT);
  proto.clear_name();
  ExpectRefused(proto, {"node 'n' has an attribute without a name"});
}

TEST(AttributeReader, BadTensorsNameTheirAttribute) {
  onnx::AttributeProto proto = Named(onnx::AttributeProto::TENSORS);
  FillTensor(proto.add_tensors(), {1});
  proto.mutable_tensors(0)->add_dims(4);
  ExpectRefused(proto, {"attribute 'a' of node 'n'"});
}

TEST(AttributeHead, TellsNameAndReferenceOnly) {
  onnx::AttributeProto proto = Named(onnx::AttributeProto::INT);
  proto.set_ref_attr_name("of_the_call");
  const std::string bytes = proto.SerializeAsString();
  const core::AttributeHead head = core::ReadAttributeHead(bytes);
  EXPECT_EQ(head.name, "a");
  EXPECT_EQ(head.reference, "of_the_call");
}

TEST(RenamedAttribute, IsTheSameUnderAnotherName) {
  const core::ConstantPtr tensor = core::Constant::Copy(DataType::kInt64, {1}, std::vector<int64_t>{5}.data(), 8);
  std::vector<Attribute> originals;
  originals.push_back(Attribute::Float("a", 1.5f));
  originals.push_back(Attribute::Int("a", -2));
  originals.push_back(Attribute::String("a", "text"));
  originals.push_back(Attribute::Tensor("a", tensor));
  originals.push_back(Attribute::Floats("a", {1, 2}));
  originals.push_back(Attribute::Ints("a", {3, 4}));
  originals.push_back(Attribute::Strings("a", {"s", "t"}));
  originals.push_back(Attribute::Tensors("a", {tensor, tensor}));
  originals.push_back(Attribute::Sparse("a", {tensor, tensor}, /*list=*/false));
  originals.push_back(Attribute::Sparse("a", {tensor, tensor, tensor, tensor}, /*list=*/true));
  originals.push_back(Attribute::Types("a", {core::Type::Unknown()}, /*list=*/false));
  originals.push_back(Attribute::Types("a", {core::Type::Unknown(), core::Type::Unknown()}, /*list=*/true));
  for (const Attribute& original : originals) {
    const Attribute renamed = core::RenamedAttribute(original, "b", {});
    EXPECT_EQ(renamed.name(), "b");
    EXPECT_EQ(renamed.type(), original.type());
    EXPECT_EQ(renamed.floats(), original.floats());
    EXPECT_EQ(renamed.ints(), original.ints());
    EXPECT_EQ(renamed.strings(), original.strings());
    EXPECT_EQ(renamed.tensors(), original.tensors());
    EXPECT_EQ(renamed.types(), original.types());
  }
}

TEST(RenamedAttribute, HasGraphsOfItsOwn) {
  const auto graph = [](const char* name) {
    auto made = std::make_unique<core::Graph>(name);
    core::ValueDef* x = made->AddInput("x", nullptr);
    core::ValueDef* y = made->AddValue("y");
    made->AddNode("Neg", "", 13, {x}, {y});
    made->SetOutputs({y});
    return made;
  };
  const Attribute one = Attribute::Subgraph("a", graph("one"));
  const Attribute copy = core::RenamedAttribute(one, "b", {});
  EXPECT_EQ(copy.name(), "b");
  EXPECT_NE(&copy.g(), &one.g());
  EXPECT_EQ(copy.g().name(), "one");
  EXPECT_EQ(copy.g().node_count(), 1u);
  std::vector<std::unique_ptr<core::Graph>> graphs;
  graphs.push_back(graph("first"));
  graphs.push_back(graph("second"));
  const Attribute several = Attribute::Subgraphs("a", std::move(graphs));
  const Attribute copies = core::RenamedAttribute(several, "b", {});
  ASSERT_EQ(copies.graphs().size(), 2u);
  EXPECT_NE(copies.graphs()[1].get(), several.graphs()[1].get());
  EXPECT_EQ(copies.graphs()[1]->name(), "second");
}

}  // namespace
}  // namespace epiphyte::test
