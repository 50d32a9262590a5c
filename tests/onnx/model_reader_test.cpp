// Reading well-formed models.
#include "core/onnx/model_reader.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/framework/temp_dir.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::Attribute;
using core::AttributeType;
using core::DataType;
using core::Model;
using core::StatusCode;
using testing::ElementsAre;

TEST(ModelReader, ReadsNodesValuesAndMetadata) {
  ProtoModel source = ReluModel();
  source.proto.set_producer_name("me");
  source.proto.set_producer_version("1.2");
  source.proto.set_model_version(7);
  onnx::StringStringEntryProto* entry = source.proto.add_metadata_props();
  entry->set_key("k");
  entry->set_value("v");
  const Model model = source.Read();
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.producer_name, "me");
  EXPECT_EQ(model.producer_version, "1.2");
  EXPECT_EQ(model.model_version, 7);
  EXPECT_EQ(model.metadata.at("k"), "v");
  ASSERT_EQ(model.graph->node_count(), 1u);
  const core::Node& node = *model.graph->nodes()[0];
  EXPECT_TRUE(node.Is("Relu"));
  EXPECT_EQ(node.since_version(), 14);
  EXPECT_EQ(node.name(), "make_y");
  EXPECT_TRUE(node.input(0)->IsInput());
  EXPECT_TRUE(node.output(0)->IsOutput());
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[2,3]");
}

TEST(ModelReader, SortsNodesThatComeInAnyOrder) {
  ProtoModel source;
  source.Input("x", kFloat, {"2"}).Output("c");
  source.Node("Neg", {"b"}, {"c"});
  source.Node("Abs", {"x"}, {"a"});
  source.Node("Relu", {"a"}, {"b"});
  const Model model = source.Read();
  std::vector<std::string> ops;
  for (const auto& node : model.graph->nodes()) ops.push_back(node->op_type());
  EXPECT_THAT(ops, ElementsAre("Abs", "Relu", "Neg"));
}

TEST(ModelReader, AnInitializerThatIsAnInputIsOverridable) {
  const auto read = [](int64_t ir_version, const std::vector<std::string>& dims, const core::ReadOptions& options) {
    ProtoModel source(17, ir_version);
    source.Input("w", kFloat, dims).Input("x", kFloat, {"2"}).Output("y");
    source.Initializer("w", kFloat, {2}).set_raw_data(std::string(8, '\0'));
    source.Node("Mul", {"x", "w"}, {"y"});
    return source.Read(options);
  };
  const Model model = read(4, {"N"}, {});
  ASSERT_EQ(model.graph->inputs().size(), 2u);
  const core::ValueDef& w = *model.graph->inputs()[0];
  EXPECT_EQ(w.name(), "w");
  ASSERT_NE(w.default_value(), nullptr);
  EXPECT_EQ(w.default_value()->byte_size(), 8u);
  EXPECT_FALSE(w.IsConstant());
  EXPECT_EQ(w.type()->ToString(), "tensor(float)[N]") << "a run may give another size";
  // If the declared shape contradicts the initializer, the initializer's shape wins.
  EXPECT_EQ(read(8, {"3"}, {}).graph->FindValue("w")->type()->ToString(), "tensor(float)[2]");
  core::ReadOptions constant;
  constant.constant_initializers = true;
  for (const Model& other : {read(3, {"N"}, {}), read(8, {"2"}, constant)}) {
    EXPECT_EQ(other.graph->inputs().size(), 1u);
    EXPECT_TRUE(other.graph->FindValue("w")->IsConstant());
  }
}

TEST(ModelReader, LeavesOutOptionalInputsAndOutputs) {
  ProtoModel source;
  source.Input("x", kFloat, {"2"}).Output("y");
  source.Initializer("max", kFloat, {}).add_float_data(6);
  source.Node("Clip", {"x", "", "max"}, {"y"});
  const Model model = source.Read();
  const core::Node& node = *model.graph->nodes()[0];
  ASSERT_EQ(node.inputs().size(), 3u);
  EXPECT_EQ(node.input(1), nullptr);
  EXPECT_TRUE(node.input(2)->IsConstant());
}

TEST(ModelReader, ReadsAttributesOfEveryKind) {
  ProtoModel source;
  source.Opset("custom", 1);
  source.Input("x", kFloat, {"2"}).Output("y");
  onnx::NodeProto& node = source.Node("Op", {"x"}, {"y"}, "custom");
  ProtoModel::Attribute(node, "f", onnx::AttributeProto::FLOAT).set_f(1.5f);
  ProtoModel::Int(node, "i", -3);
  ProtoModel::Attribute(node, "s", onnx::AttributeProto::STRING).set_s("text");
  onnx::AttributeProto& floats = ProtoModel::Attribute(node, "floats", onnx::AttributeProto::FLOATS);
  floats.add_floats(1);
  floats.add_floats(2);
  ProtoModel::Ints(node, "ints", {4, -5});
  ProtoModel::Attribute(node, "strings", onnx::AttributeProto::STRINGS).add_strings("a");
  onnx::TensorProto* tensor = ProtoModel::Attribute(node, "t", onnx::AttributeProto::TENSOR).mutable_t();
  tensor->set_data_type(kInt64);
  tensor->add_int64_data(9);
  ProtoModel::Attribute(node, "tp", onnx::AttributeProto::TYPE_PROTO)
      .mutable_tp()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(kFloat);
  onnx::GraphProto* body = ProtoModel::Attribute(node, "g", onnx::AttributeProto::GRAPH).mutable_g();
  body->set_name("body");
  ProtoModel::AddNode(body, "Neg", {"x"}, {"z"});
  body->add_output()->set_name("z");
  // Protobuf does not write default values. The attribute's type says that there is a value.
  ProtoModel::Attribute(node, "zero", onnx::AttributeProto::INT);

  const Model model = source.Read();
  const core::Node& read = *model.graph->nodes()[0];
  EXPECT_EQ(read.FindAttribute("f")->f(), 1.5f);
  EXPECT_EQ(read.FindAttribute("i")->i(), -3);
  EXPECT_EQ(read.FindAttribute("s")->s(), "text");
  EXPECT_THAT(read.FindAttribute("floats")->floats(), ElementsAre(1, 2));
  EXPECT_THAT(read.FindAttribute("ints")->ints(), ElementsAre(4, -5));
  EXPECT_THAT(read.FindAttribute("strings")->strings(), ElementsAre("a"));
  EXPECT_EQ(*static_cast<const int64_t*>(read.FindAttribute("t")->t()->data()), 9);
  EXPECT_EQ(read.FindAttribute("tp")->types()[0]->ToString(), "seq(tensor(float))");
  EXPECT_EQ(read.FindAttribute("g")->g().name(), "body");
  EXPECT_EQ(read.FindAttribute("zero")->i(), 0);
  EXPECT_EQ(read.since_version(), 1);
}

TEST(ModelReader, NestedGraphsSeeTheValuesAroundThem) {
  ProtoModel source;
  source.Input("x", kFloat, {"2"}).Input("c", kBool, {}).Output("y");
  onnx::NodeProto& node = source.Node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto* branch = ProtoModel::Attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
    branch->set_name(name);
    ProtoModel::AddNode(branch, "Neg", {"a"}, {"r"});
    branch->add_output()->set_name("r");
  }
  source.Node("Abs", {"x"}, {"a"});  // its use inside the If comes first
  const Model model = source.Read();
  ASSERT_EQ(model.graph->node_count(), 2u);
  EXPECT_TRUE(model.graph->nodes()[0]->Is("Abs"));
  const core::Node& branching = *model.graph->nodes()[1];
  ASSERT_EQ(branching.subgraphs().size(), 2u);
  const core::ValueDef* inner = branching.subgraphs()[0]->FindValue("a");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->outer(), model.graph->FindValue("a"));
  EXPECT_THAT(branching.implicit_inputs(), ElementsAre(model.graph->FindValue("a")));
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[2]");
}

TEST(ModelReader, ViewsAlignedRawDataInPlaceAndCopiesTheRest) {
  // Each additional byte in the producer's name moves the data by one byte.
  int views = 0;
  for (int shift = 0; shift < 8; ++shift) {
    ProtoModel source;
    source.Input("x", kFloat, {"4"}).Output("y");
    source.proto.set_producer_name(std::string(static_cast<size_t>(shift), 'p'));
    source.Initializer("w", kFloat, {4}).set_raw_data(std::string("\x00\x00\x80\x3f", 4) + std::string(12, '\0'));
    source.Node("Add", {"x", "w"}, {"y"});
    auto bytes = std::make_shared<std::string>(source.Bytes());
    const Model model = core::ReadModelMemory(bytes->data(), bytes->size(), bytes, {});
    const core::ValueDef* w = model.graph->nodes()[0]->input(1);
    const char* data = static_cast<const char*>(w->constant()->data());
    EXPECT_EQ(*reinterpret_cast<const float*>(data), 1.0f);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % sizeof(float), 0u);
    if (data >= bytes->data() && data < bytes->data() + bytes->size()) ++views;
  }
  EXPECT_EQ(views, 2);
}

TEST(ModelReader, WithoutAnOwnerNothingPointsIntoTheCallersBytes) {
  ProtoModel source;
  source.Input("x", kFloat, {"4"}).Output("y");
  source.Initializer("w", kFloat, {4}).set_raw_data(std::string(16, '\1'));
  source.Node("Add", {"x", "w"}, {"y"});
  std::string bytes = source.Bytes();
  const Model model = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {});
  bytes.assign(bytes.size(), '\xff');
  const core::ConstantPtr& w = model.graph->FindValue("w")->constant();
  EXPECT_EQ(std::memcmp(w->data(), std::string(16, '\1').data(), 16), 0);
}

TEST(ModelReader, KeepsLongContextPayloadsAsViews) {
  for (const size_t size : {2, 4096, 4097, 100000}) {
    ProtoModel source;
    source.Opset("com.microsoft", 1);
    source.Input("x", kFloat, {"2"}).Output("y", kFloat, {"2"});
    onnx::NodeProto& node = source.Node("EPContext", {"x"}, {"y"}, "com.microsoft");
    ProtoModel::Attribute(node, "ep_cache_context", onnx::AttributeProto::STRING).set_s(std::string(size, 'p'));
    ProtoModel::Int(node, "embed_mode", 1);
    auto bytes = std::make_shared<std::string>(source.Bytes());
    const Model model = core::ReadModelMemory(bytes->data(), bytes->size(), bytes, {});
    const Attribute* payload = model.graph->nodes()[0]->FindAttribute("ep_cache_context");
    ASSERT_NE(payload, nullptr);
    if (size <= 4096) {
      EXPECT_EQ(payload->s(), std::string(size, 'p'));
      continue;
    }
    ASSERT_EQ(payload->type(), AttributeType::kTensor);
    EXPECT_EQ(payload->t()->type(), DataType::kUint8);
    EXPECT_EQ(payload->t()->byte_size(), size);
    const char* data = static_cast<const char*>(payload->t()->data());
    EXPECT_TRUE(data >= bytes->data() && data + size <= bytes->data() + bytes->size());
  }
}

// Before IR version 4 each initializer was listed among the inputs.
TEST(ModelReader, InputsWithInitializersAreConstantsInOldModels) {
  ProtoModel source(7, 3);
  source.Input("x", kFloat, {"1"}).Input("w", kFloat, {"1"}).Output("y");
  source.Initializer("w", kFloat, {1}).add_float_data(2);
  source.Node("Add", {"x", "w"}, {"y"});
  const Model model = source.Read();
  ASSERT_EQ(model.graph->inputs().size(), 1u);
  EXPECT_EQ(model.graph->inputs()[0]->name(), "x");
  EXPECT_TRUE(model.graph->FindValue("w")->IsConstant());
}

TEST(ModelReader, TheTwoSpellingsOfTheDefaultDomainAreOne) {
  ProtoModel source;
  source.proto.clear_opset_import();
  source.Opset("ai.onnx", 17);
  source.Input("x", kFloat, {"1"}).Output("y");
  source.Node("Relu", {"x"}, {"y"}, "ai.onnx");
  const Model model = source.Read();
  EXPECT_EQ(model.graph->Opset(""), 17);
  EXPECT_EQ(model.graph->nodes()[0]->domain(), "");
}

TEST(ModelReader, ModelsFromBeforeOpsetsUseTheFirst) {
  ProtoModel source(1, 2);
  source.proto.clear_opset_import();
  source.Input("x", kFloat, {"1"}).Output("y");
  source.Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(source.Read().graph->nodes()[0]->since_version(), 1);
}

TEST(ModelReader, UnknownFieldsAreSkipped) {
  std::string bytes = ReluModel().Bytes();
  bytes += std::string(
      "\xc2\x3e\x03"
      "abc",
      6);                                   // field 1000, bytes
  bytes += std::string("\xc8\x3e\x05", 3);  // field 1001, varint
  EXPECT_EQ(ProtoModel::ReadBytes(bytes).graph->node_count(), 1u);
}

TEST(ModelReader, UnknownDomainsAreLeftToProviders) {
  ProtoModel source;
  source.Opset("my.domain", 3);
  source.Input("x", kFloat, {"1"}).Output("y", kFloat, {"1"});
  source.Node("Whatever", {"x"}, {"y"}, "my.domain");
  const Model model = source.Read();
  EXPECT_EQ(model.graph->nodes()[0]->since_version(), 3);
  EXPECT_EQ(TypeOf(model, "y"), "tensor(float)[1]");
}

TEST(ModelReader, ReadsFromAFile) {
  TempDir dir;
  const auto path = dir.Write("relu.onnx", ReluModel().Bytes());
  const Model model = core::ReadModelFile(path, {});
  EXPECT_EQ(model.graph->node_count(), 1u);
  ExpectError([&] { core::ReadModelFile(dir / "none.onnx", {}); }, StatusCode::kNoSuchFile, {"none.onnx"});
}

}  // namespace
}  // namespace epiphyte::test
