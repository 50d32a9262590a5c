// Written models: protobuf and libonnx's checker accept them, and the reader reads back the same model.
#include "core/onnx/write/model_writer.h"

#include "tests/framework/temp_dir.h"
#include "tests/onnx/graph_equal.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::Constant;
using core::DataType;
using core::Model;
using core::StatusCode;

std::string Write(const Model& model, const core::WriteOptions& options = {}) {
  std::string bytes;
  core::WriteModel(model, options,
                   [&bytes](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  EXPECT_EQ(core::ModelByteSize(model, options), bytes.size());
  return bytes;
}

onnx::ModelProto Parse(const std::string& bytes) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(bytes));
  return proto;
}

ProtoModel WeightsModel(const std::vector<int64_t>& sizes) {
  ProtoModel source;
  source.Input("x", kFloat, {"1"}).Output("y");
  source.Node("Neg", {"x"}, {"y"});
  for (size_t i = 0; i < sizes.size(); ++i) {
    source.Initializer("w" + std::to_string(i), kFloat, {sizes[i]})
        .set_raw_data(std::string(static_cast<size_t>(sizes[i]) * 4, static_cast<char>('a' + i)));
  }
  return source;
}

TEST(ModelWriter, WritesWhatTheReaderReads) {
  ProtoModel source;
  source.Opset("custom", 2).Opset("ai.onnx.ml", 3);
  source.proto.set_producer_name("p");
  source.proto.set_doc_string("d");
  source.Input("x", kFloat, {"N", "?"}).Output("y").Output("z");
  source.Initializer("text", onnx::TensorProto::STRING, {2}).add_string_data("a");
  source.graph().mutable_initializer(0)->add_string_data(std::string("b\0c", 3));
  source.Initializer("empty", kFloat, {0});
  onnx::NodeProto& node = source.Node("Op", {"x", "", "text"}, {"y", "", "m"}, "custom");
  ProtoModel::Ints(node, "none", {});
  ProtoModel::Ints(node, "ints", {1, -1, INT64_MIN});
  ProtoModel::Attribute(node, "empty", onnx::AttributeProto::STRING);
  ProtoModel::Attribute(node, "s", onnx::AttributeProto::STRINGS).add_strings("");
  ProtoModel::Attribute(node, "tp", onnx::AttributeProto::TYPE_PROTO).mutable_tp()->mutable_map_type()->set_key_type(7);
  onnx::GraphProto* body = ProtoModel::Attribute(node, "g", onnx::AttributeProto::GRAPHS).add_graphs();
  body->set_name("inner");
  ProtoModel::AddNode(body, "Abs", {"x"}, {"b"});
  body->add_output()->set_name("b");
  source.Node("Neg", {"x"}, {"z"});

  const Model model = source.Read();
  const std::string bytes = Write(model);
  const Model again = ProtoModel::ReadBytes(bytes);
  EXPECT_EQ(Difference(*model.graph, *again.graph), "");
  EXPECT_EQ(again.producer_name, "p");
  EXPECT_EQ(again.doc_string, "d");
  EXPECT_EQ(again.ir_version, 8);
  EXPECT_EQ(Write(again), bytes);
  EXPECT_EQ(Parse(bytes).graph().node_size(), 2);
}

TEST(ModelWriter, IsDeterministic) {
  Model model = WeightsModel({3, 5000}).Read();
  model.metadata = {{"b", "2"}, {"a", "1"}};
  const std::string bytes = Write(model);
  EXPECT_EQ(bytes, Write(model));
  const onnx::ModelProto proto = Parse(bytes);
  EXPECT_EQ(proto.metadata_props(0).key(), "a");
  EXPECT_EQ(proto.metadata_props(1).key(), "b");
}

TEST(ModelWriter, OldIrVersionsListInitializersAsInputs) {
  ProtoModel source(8, 3);
  source.Input("x", kFloat, {"2"}).Input("w", kFloat, {"2"}).Output("y", kFloat, {"2"});
  source.Initializer("w", kFloat, {2}).set_raw_data(std::string(8, '\0'));
  source.Node("Add", {"x", "w"}, {"y"});
  const onnx::ModelProto proto = Parse(Write(source.Read()));
  EXPECT_NO_THROW(onnx::checker::check_model(proto));
  EXPECT_EQ(proto.graph().input_size(), 2);
}

TEST(ModelWriter, LargeTensorsAreViewedInPlaceWhenReadAgain) {
  TempDir dir;
  const Model model = WeightsModel({1024, 2000, 3, 5001, 1025}).Read();
  const auto path = dir.Write("m.onnx", Write(model));
  const Model again = core::ReadModelFile(path, {});
  EXPECT_EQ(Difference(*model.graph, *again.graph), "");
  for (const char* name : {"w0", "w1", "w3", "w4"}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(again.graph->FindValue(name)->constant()->data()) % 64, 0u) << name;
  }
  EXPECT_NO_THROW(onnx::checker::check_model(Parse(ReadFile(path))));
}

TEST(ModelWriter, ContextPayloadsAreStringsInTheFile) {
  const std::string payload(10000, 'p');
  Model model;
  model.ir_version = 10;
  model.graph = std::make_unique<core::Graph>("g");
  model.graph->SetOpset("", 17);
  model.graph->SetOpset("com.microsoft", 1);
  core::ValueDef* x = model.graph->AddInput("x", core::Type::Tensor(DataType::kFloat, core::Shape{core::Dim(1)}));
  core::ValueDef* y = model.graph->AddValue("y", x->type());
  std::vector<core::Attribute> attributes;
  attributes.push_back(core::Attribute::Tensor(
      "ep_cache_context", Constant::Copy(DataType::kUint8, {10000}, payload.data(), payload.size())));
  model.graph->AddNode("EPContext", "com.microsoft", 1, {x}, {y}, std::move(attributes), "n");
  model.graph->SetOutputs({y});
  model.graph->Finalize();
  const std::string bytes = Write(model);
  const onnx::AttributeProto attribute = Parse(bytes).graph().node(0).attribute(0);
  EXPECT_EQ(attribute.type(), onnx::AttributeProto::STRING);
  EXPECT_EQ(attribute.s(), payload);
  EXPECT_EQ(Difference(*model.graph, *ProtoModel::ReadBytes(bytes).graph), "");
}

TEST(ModelWriter, ExternalInitializersAreAlignedAndFoundAgain) {
  TempDir dir;
  const Model model = WeightsModel({1, 2, 3, 1 << 18, 5}).Read();
  std::string external;
  core::WriteOptions options;
  options.external_file_name = "w.bin";
  options.external_threshold = 8;
  options.external_sink = [&](const void* data, uint64_t size) {
    external.append(static_cast<const char*>(data), size);
  };
  const auto path = dir.Write("m.onnx", Write(model, options));
  dir.Write("w.bin", external);
  const Model again = core::ReadModelFile(path, {});
  EXPECT_EQ(Difference(*model.graph, *again.graph), "");
  EXPECT_EQ(again.graph->FindValue("w0")->external, nullptr);  // below the threshold for external data
  for (const char* name : {"w1", "w2", "w4"}) {
    ASSERT_NE(again.graph->FindValue(name)->external, nullptr) << name;
    EXPECT_EQ(again.graph->FindValue(name)->external->offset % 64, 0u) << name;
  }
  EXPECT_EQ(again.graph->FindValue("w3")->external->offset % 4096, 0u);
}

TEST(ModelWriter, SharedWeightsAreWrittenOnce) {
  Model model;
  model.ir_version = 8;
  model.graph = std::make_unique<core::Graph>("g");
  model.graph->SetOpset("", 17);
  const std::string bytes(4096, 'w');
  const core::ConstantPtr shared = Constant::Copy(DataType::kFloat, {1024}, bytes.data(), bytes.size());
  model.graph->AddConstant("a", shared);
  model.graph->AddConstant("b", shared);
  uint64_t written = 0;
  core::WriteOptions options;
  options.external_file_name = "w.bin";
  options.external_sink = [&](const void*, uint64_t size) { written += size; };
  Write(model, options);
  EXPECT_EQ(written, 4096u);
}

TEST(ModelWriter, RefusesMoreThanProtobufCanHold) {
  Model model;
  model.ir_version = 8;
  model.graph = std::make_unique<core::Graph>("g");
  model.graph->SetOpset("", 17);
  // The bytes are never read: the size alone decides, before anything is written.
  const uint64_t size = (uint64_t{1} << 31) + 5;
  static const char kByte = 0;
  model.graph->AddConstant("w", Constant::View(DataType::kUint8, {static_cast<int64_t>(size)}, &kByte, size, nullptr));
  bool written = false;
  ExpectError([&] { core::WriteModel(model, {}, [&](const void*, uint64_t) { written = true; }); },
              StatusCode::kInvalidArgument, {"bytes", "2147483647", "external file"});
  EXPECT_FALSE(written);
  EXPECT_GT(core::ModelByteSize(model, {}), size);
  // External data has no limit.
  core::WriteOptions options;
  options.external_file_name = "w.bin";
  options.external_sink = [](const void*, uint64_t) {};
  EXPECT_LT(core::ModelByteSize(model, options), 1000u);
}

TEST(ModelWriter, NeedsAGraph) {
  ExpectError([] { core::WriteModel(Model(), {}, [](const void*, uint64_t) {}); }, StatusCode::kInvalidArgument,
              {"graph"});
}

}  // namespace
}  // namespace epiphyte::test
