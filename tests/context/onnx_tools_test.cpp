// Context models that ONNX's own tools have rewritten: onnx.load and onnx.save, and onnx.compose.merge_models. These
// tools don't know seals and records. The resulting models are refused with one message, and the command that it names
// helps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "core/context/reseal.h"
#include "core/context/verify.h"
#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kCommand = "epiphyte verify --reseal";

class OnnxTools : public testing::Test {
 protected:
  // Compiles model "a", which computes 2x + 1 with one plain node and external initializers, or a model that computes
  // -x.
  void Compile(const std::string& name, bool embed = false) {
    const std::string text =
        name == "a" ? "w = Constant <value = float[2] {2, 2}> () o = Constant <value = float[2] {1, 1}> () "
                      "p = MatMul(m, x) q = Mul(p, w) y = Add(q, o)"
                    : "y = Neg(x)";
    const std::string identity = name == "a" ? "<float[2, 2] m = {1, 0, 0, 1}>" : "";
    const auto model =
        dir_.Write(name + ".onnx", OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> " + name +
                                                " (float[2] x) => (float[2] y) " + identity + " {" + text + "}"));
    SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_enable", "1");
    if (embed) options.Set("ep.context_embed_mode", "1");
    if (name == "a") options.Set("ep.context_model_external_initializers_file_name", "a.data");
    Session session(*environment_, model, options);
  }
  onnx::ModelProto Parsed(const std::string& name) const { return ParseProtoFile(dir_ / (name + "_ctx.onnx")); }
  std::string Outcome(const std::string& file, std::vector<float>* y = nullptr) {
    return FailureOf([&] {
      Session session(*environment_, dir_ / file, OptionsFor({"recorder_a"}));
      const std::vector<float> found = RunOn(session, {2}, {3, -4});
      if (y != nullptr) *y = found;
    });
  }
  // Expects a refusal that names the command, and a valid model after that command.
  void ExpectHelp(const std::string& file, const std::vector<float>& expected) {
    const std::string failure = Outcome(file);
    EXPECT_THAT(failure, AllOf(StartsWith("INVALID_GRAPH"), HasSubstr(kCommand)));
    ASSERT_EQ(FailureOf([&] { core::ResealContextModel(dir_ / file, environment_->catalog()); }), "OK");
    std::vector<float> y;
    ASSERT_EQ(Outcome(file, &y), "OK");
    EXPECT_EQ(y, expected);
    std::vector<std::string> problems;
    for (const auto& problem : core::VerifyContextModel(dir_ / file, environment_->catalog()).problems) {
      problems.push_back(problem.text);
    }
    EXPECT_THAT(problems, IsEmpty());
  }
  // Joins the metadata of two models as onnx.compose.merge_models does.
  static std::map<std::string, std::string> JoinMetadata(const onnx::ModelProto& a, const onnx::ModelProto& b) {
    std::map<std::string, std::string> joined = MetadataOf(a);
    for (const auto& [key, value] : MetadataOf(b)) {
      const auto [known, is_new] = joined.emplace(key, value);
      if (!is_new && known->second != value) {
        throw std::runtime_error("Can't merge models with different values for the same model metadata property: " +
                                 key + ": " + known->second + ", " + value);
      }
    }
    return joined;
  }
  // Does merge_models(a, b, io_map=[("y", "x")], prefix1="a_", prefix2="b_").
  static onnx::ModelProto Compose(onnx::ModelProto a, onnx::ModelProto b) {
    const std::map<std::string, std::string> metadata = JoinMetadata(a, b);
    const auto prefix = [](onnx::GraphProto* graph, const std::string& with) {
      for (auto& node : *graph->mutable_node()) {
        node.set_name(with + node.name());
        for (auto& value : *node.mutable_input()) value = with + value;
        for (auto& value : *node.mutable_output()) value = with + value;
      }
      for (auto* values : {graph->mutable_input(), graph->mutable_output(), graph->mutable_value_info()}) {
        for (auto& value : *values) value.set_name(with + value.name());
      }
      for (auto& tensor : *graph->mutable_initializer()) tensor.set_name(with + tensor.name());
    };
    prefix(a.mutable_graph(), "a_");
    prefix(b.mutable_graph(), "b_");
    onnx::GraphProto* graph = a.mutable_graph();
    for (onnx::NodeProto node : b.graph().node()) {
      for (auto& value : *node.mutable_input()) {
        if (value == "b_x") value = "a_y";
      }
      *graph->add_node() = node;
    }
    *graph->mutable_output() = b.graph().output();
    for (const auto& tensor : b.graph().initializer()) *graph->add_initializer() = tensor;
    a.clear_metadata_props();
    for (const auto& [key, value] : metadata) {
      auto* entry = a.add_metadata_props();
      entry->set_key(key);
      entry->set_value(value);
    }
    return a;
  }

  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

TEST_F(OnnxTools, AModelThatWasLoadedChangedAndSavedNeedsOneCommand) {
  Compile("a");
  onnx::ModelProto model = Parsed("a");
  model.mutable_graph()->set_doc_string("changed by hand");
  dir_.Write("a_ctx.onnx", model.SerializeAsString());
  ExpectHelp("a_ctx.onnx", {7, -7});
  EXPECT_EQ(Parsed("a").graph().doc_string(), "changed by hand");
}

TEST_F(OnnxTools, ComposedModelsNeedOneCommand) {
  Compile("a");
  Compile("b");
  dir_.Write("both.onnx", Compose(Parsed("a"), Parsed("b")).SerializeAsString());
  ExpectHelp("both.onnx", {-7, 7});
}

TEST_F(OnnxTools, ComposedModelsWithEmbeddedPayloadsNeedOneCommand) {
  Compile("a", /*embed=*/true);
  Compile("b", /*embed=*/true);
  dir_.Write("both.onnx", Compose(Parsed("a"), Parsed("b")).SerializeAsString());
  ExpectHelp("both.onnx", {-7, 7});
}

// The user has removed the entries on which two models disagree.
TEST_F(OnnxTools, AModelThatLostSomeOfItsRecordsNeedsOneCommand) {
  Compile("a");
  Compile("b");
  onnx::ModelProto b = Parsed("b");
  ForgetRecords(&b);
  dir_.Write("both.onnx", Compose(Parsed("a"), b).SerializeAsString());
  ExpectHelp("both.onnx", {-7, 7});

  // In the opposite case, the record exists but its payload is not in the graph.
  onnx::ModelProto both = ParseProtoFile(dir_ / "both.onnx");
  onnx::ModelProto only = Parsed("b");
  *only.mutable_metadata_props() = both.metadata_props();
  dir_.Write("only.onnx", only.SerializeAsString());
  ExpectHelp("only.onnx", {-3, 4});
}

TEST_F(OnnxTools, ChangedPayloadIsNotSealed) {
  Compile("a");
  Compile("b");
  onnx::ModelProto b = Parsed("b");
  ForgetRecords(&b);
  dir_.Write("both.onnx", Compose(Parsed("a"), b).SerializeAsString());
  std::string payload = ReadFile(dir_ / "a_recorder_a.bin");
  payload.back() = static_cast<char>(payload.back() ^ 1);
  dir_.Write("a_recorder_a.bin", payload);
  const std::string before = ReadFile(dir_ / "both.onnx");
  EXPECT_THAT(FailureOf([&] { core::ResealContextModel(dir_ / "both.onnx", environment_->catalog()); }),
              AllOf(StartsWith("INVALID_GRAPH"), HasSubstr("not sealed again"), HasSubstr("a_recorder_a.bin")));
  EXPECT_EQ(ReadFile(dir_ / "both.onnx"), before);
}

// A session inlines functions. Verdicts and verification see the nodes in functions, too.
TEST_F(OnnxTools, ContextNodesInFunctionsAreVerifiedAndJudged) {
  Compile("b");
  const onnx::ModelProto compiled = Parsed("b");
  onnx::ModelProto model = compiled;
  onnx::NodeProto* call = model.mutable_graph()->mutable_node(0);
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("Inner");
  function->set_domain("local");
  *function->mutable_opset_import() = model.opset_import();
  function->add_input(call->input(0));
  function->add_output(call->output(0));
  *function->add_node() = *call;
  onnx::FunctionProto* outer = model.add_functions();
  outer->set_name("Outer");
  outer->set_domain("local");
  *outer->mutable_opset_import() = model.opset_import();
  for (auto* imports : {model.mutable_opset_import(), outer->mutable_opset_import()}) {
    auto* local = imports->Add();
    local->set_domain("local");
    local->set_version(1);
  }
  outer->add_input("v");
  outer->add_output("w");
  onnx::NodeProto* inner = outer->add_node();
  inner->set_op_type("Inner");
  inner->set_domain("local");
  inner->add_input("v");
  inner->add_output("w");
  call->set_op_type("Outer");
  call->set_domain("local");
  call->clear_attribute();
  ForgetRecords(&model);
  const auto path = dir_.Write("called.onnx", model.SerializeAsString());
  std::vector<float> y;
  ASSERT_EQ(Outcome("called.onnx", &y), "OK");
  EXPECT_EQ(y, (std::vector<float>{-3, 4}));
  const core::VerifyReport good = core::VerifyContextModel(path, environment_->catalog());
  EXPECT_EQ(good.context_nodes, 1u);
  EXPECT_TRUE(good.problems.empty());
  std::filesystem::remove(dir_ / "b_recorder_a.bin");
  EXPECT_FALSE(core::VerifyContextModel(path, environment_->catalog()).problems.empty());
}

// Doc strings, denotations, metadata and quantization annotations of the source model are in its context model.
TEST_F(OnnxTools, WhatASourceModelIsAnnotatedWithStays) {
  onnx::ModelProto source = ParseProto(OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 2] x, bool c) => (float[N, 2] y) <float[2, 2] m = {1, 2, 3, 4}, float[1] s = {1}> {
      a = Neg(x)
      b = MatMul(a, m)
      scaled = Mul(b, s)
      y = If (c) <
        then_branch = then () => (float[N, 2] t) { t = Tanh(scaled) },
        else_branch = other () => (float[N, 2] e) { e = Sigmoid(scaled) }
      >
    })"));
  onnx::GraphProto* graph = source.mutable_graph();
  graph->set_doc_string("about the graph");
  graph->mutable_input(0)->set_doc_string("about x");
  graph->mutable_input(0)->mutable_type()->set_denotation("IMAGE");
  auto* shape = graph->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_denotation("DATA_BATCH");
  shape->mutable_dim(1)->set_denotation("DATA_FEATURE");
  graph->mutable_output(0)->set_doc_string("about y");
  graph->mutable_initializer(0)->set_doc_string("about m");
  for (auto& node : *graph->mutable_node()) {
    node.set_doc_string("about " + node.output(0));
    for (auto& attribute : *node.mutable_attribute()) {
      for (auto& inner : *attribute.mutable_g()->mutable_node()) inner.set_doc_string("inside " + inner.output(0));
    }
  }
  onnx::TensorAnnotation* quantized = graph->add_quantization_annotation();
  quantized->set_tensor_name("b");
  auto* parameter = quantized->add_quant_parameter_tensor_names();
  parameter->set_key("SCALE_TENSOR");
  parameter->set_value("m");
  graph->add_quantization_annotation()->set_tensor_name("gone");
  // No remaining node uses the scale of x.
  quantized = graph->add_quantization_annotation();
  quantized->set_tensor_name("x");
  parameter = quantized->add_quant_parameter_tensor_names();
  parameter->set_key("SCALE_TENSOR");
  parameter->set_value("x_scale");
  onnx::TensorProto* scale = graph->add_initializer();
  scale->set_name("x_scale");
  scale->set_data_type(onnx::TensorProto::FLOAT);
  scale->add_float_data(0.25f);
  const auto path = dir_.Write("said.onnx", source.SerializeAsString());
  SessionOptions options = OptionsFor({"recorder_a"});
  options.provider_options["recorder_a"]["claim"] = "Neg";
  options.Set("ep.context_enable", "1");
  options.Set("epiphyte.graph_optimization_level", "0");
  { Session session(*environment_, path, options); }

  const onnx::ModelProto written = Parsed("said");
  ASSERT_EQ(ContextNodesOf(written).size(), 1u);
  EXPECT_EQ(written.graph().doc_string(), "about the graph");
  const onnx::ValueInfoProto& x = written.graph().input(0);
  EXPECT_EQ(x.doc_string(), "about x");
  EXPECT_EQ(x.type().denotation(), "IMAGE");
  EXPECT_EQ(x.type().tensor_type().shape().dim(0).denotation(), "DATA_BATCH");
  EXPECT_EQ(x.type().tensor_type().shape().dim(1).denotation(), "DATA_FEATURE");
  EXPECT_EQ(written.graph().output(0).doc_string(), "about y");
  size_t inside = 0;
  for (const auto& node : written.graph().node()) {
    EXPECT_EQ(node.doc_string(), node.op_type() == "EPContext" ? "" : "about " + node.output(0)) << node.op_type();
    for (const auto& attribute : node.attribute()) {
      for (const auto& inner : attribute.g().node()) {
        EXPECT_EQ(inner.doc_string(), "inside " + inner.output(0));
        ++inside;
      }
    }
  }
  EXPECT_EQ(inside, 2u);
  for (const auto& tensor : written.graph().initializer()) {
    EXPECT_EQ(tensor.doc_string(), tensor.name() == "m" ? "about m" : "") << tensor.name();
  }
  ASSERT_EQ(written.graph().quantization_annotation_size(), 2) << "those of tensors that are there";
  EXPECT_EQ(written.graph().quantization_annotation(0).tensor_name(), "b");
  EXPECT_EQ(written.graph().quantization_annotation(1).tensor_name(), "x");
  const auto& tensors = written.graph().initializer();
  const auto x_scale =
      std::find_if(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.name() == "x_scale"; });
  ASSERT_NE(x_scale, tensors.end());
  EXPECT_EQ(x_scale->float_data(0), 0.25f);
}

}  // namespace
}  // namespace epiphyte::test
