// Merging: the result computes the same as running the models one after another, and keeps values and names apart.
// Models that don't fit are refused before anything is written.
#include "core/context/merge.h"
#include "core/context/reseal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <fstream>

#include "core/context/context_model.h"
#include "core/context/verify.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::MergeOptions;
using core::MergeResult;
using core::Session;
using core::ValuePtr;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kFirst = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 2] y) {
    w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
    y = MatMul(x, w)
  })";
// The model has the same names as the first for graph, values and nodes.
constexpr std::string_view kSecond = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 2] x) => (float[2, 2] y, float[2, 2] z) {
    w = Constant <value = float[2, 2] {1, -2, 3, -4}> ()
    y = MatMul(x, w)
    z = Tanh(y)
  })";
// Two partitions around control flow. The context therefore has a secondary node.
constexpr std::string_view kBranches = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x, bool choose) => (float[2, 3] y) {
    before = Relu(x)
    chosen = If (choose) <
      then_branch = then_graph () => (float[2, 3] a) { a = Neg(before) },
      else_branch = else_graph () => (float[2, 3] b) { b = Add(before, before) }
    >
    y = Tanh(chosen)
  })";

class MergeTest : public testing::Test {
 protected:
  std::filesystem::path Compile(std::string_view text, const std::string& name, bool embed = false,
                                const std::string& prefix = "") {
    const std::filesystem::path model = dir_.Write(name + ".onnx", OnnxFromText(text));
    core::SessionOptions options = OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed ? "1" : "0");
    options.Set("ep.context_node_name_prefix", prefix);
    Session session(*environment_, model, options);
    return dir_ / (name + "_ctx.onnx");
  }
  MergeResult Merge(std::vector<std::filesystem::path> models, std::vector<std::string> connections = {}) {
    MergeOptions options;
    options.models = std::move(models);
    options.connections = std::move(connections);
    options.output = output_;
    return core::MergeContextModels(options, environment_->catalog());
  }
  std::string Refusal(std::vector<std::filesystem::path> models, std::vector<std::string> connections = {}) {
    std::string failure = FailureOf([&] { Merge(std::move(models), std::move(connections)); });
    EXPECT_FALSE(std::filesystem::exists(output_)) << failure;
    EXPECT_EQ(failure.find('\n'), std::string::npos) << failure;
    return failure;
  }
  std::vector<std::vector<float>> Run(const std::filesystem::path& model, std::vector<ValuePtr> inputs) {
    Session session(*environment_, model, OptionsFor({"cpu"}));
    std::vector<std::vector<float>> results;
    for (const ValuePtr& output : session.Run(inputs)) results.push_back(FloatsOf(*output));
    return results;
  }
  std::vector<std::string> Problems(const std::filesystem::path& model) {
    std::vector<std::string> texts;
    for (const auto& problem : core::VerifyContextModel(model, environment_->catalog()).problems) {
      texts.push_back(problem.text);
    }
    return texts;
  }
  static ValuePtr X() { return Floats({2, 3}, {1, -2, 3, 0.25, 5, -6}); }

  TempDir dir_;
  std::filesystem::path output_ = dir_ / "merged_ctx.onnx";
  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

class MergeForms : public MergeTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Embed, MergeForms, testing::Bool(),
                         [](const auto& info) { return info.param ? "Embedded" : "External"; });

TEST_P(MergeForms, AChainGivesTheNumbersOfRunningOneAfterAnother) {
  const auto first = Compile(kFirst, "first", GetParam());
  const auto second = Compile(kSecond, "second", GetParam());
  const std::vector<float> between = Run(first, {X()})[0];
  const auto expected = Run(second, {Floats({2, 2}, between)});

  const MergeResult result = Merge({first, second}, {"first.y=second_ctx.x"});
  EXPECT_EQ(Run(output_, {X()}), expected);
  EXPECT_EQ(result.context_nodes, 2u);
  EXPECT_THAT(result.written, IsEmpty());
  EXPECT_EQ(result.referenced.size(), GetParam() ? 0u : 2u);
  EXPECT_THAT(Problems(output_), IsEmpty());
}

TEST_P(MergeForms, ModelsSideBySideKeepTheirInputsAndOutputs) {
  const auto first = Compile(kFirst, "first", GetParam());
  const auto second = Compile(kSecond, "second", GetParam());
  const MergeResult result = Merge({first, second});
  EXPECT_THAT(result.renamed, Contains(HasSubstr("value 'x' is 'second_x'")));
  core::Model model = core::ReadModelFile(output_, {});
  std::vector<std::string> inputs, outputs;
  for (const auto* value : model.graph->inputs()) inputs.push_back(value->name());
  for (const auto* value : model.graph->outputs()) outputs.push_back(value->name());
  EXPECT_THAT(inputs, ElementsAre("x", "second_x"));
  EXPECT_THAT(outputs, ElementsAre("y", "second_y", "z"));
  const auto both = Run(output_, {X(), Floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(both[0], Run(first, {X()})[0]);
  EXPECT_EQ(both[2], Run(second, {Floats({2, 2}, {1, 2, 3, 4})})[1]);
}

TEST_P(MergeForms, TheSameModelsGiveTheSameBytes) {
  const auto first = Compile(kFirst, "first", GetParam());
  const auto second = Compile(kSecond, "second", GetParam());
  Merge({first, second}, {"A.y=B.x"});
  const std::string bytes = ReadFile(output_);
  std::filesystem::remove(output_);
  Merge({first, second}, {"A.y=B.x"});
  EXPECT_EQ(ReadFile(output_), bytes);
}

TEST_F(MergeTest, ThreeModelsByTheirLetters) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  Merge({first, second, second}, {"A.y=B.x", "B.z=C.x"});
  const auto middle = Run(second, {Floats({2, 2}, Run(first, {X()})[0])});
  const auto last = Run(second, {Floats({2, 2}, middle[1])});
  const auto merged = Run(output_, {X()});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0], middle[0]);
  EXPECT_EQ(merged[1], last[0]);
  EXPECT_EQ(merged[2], last[1]);
}

TEST_F(MergeTest, BinariesAreCopiedIntoAnotherFolderUnderNamesOfTheirOwn) {
  std::filesystem::create_directories(dir_ / "left");
  std::filesystem::create_directories(dir_ / "right");
  std::filesystem::create_directories(dir_ / "out");
  const auto first = Compile(kFirst, "left/model");
  const auto second = Compile(kSecond, "right/model");
  output_ = dir_ / "out/whole.onnx";
  const MergeResult result = Merge({first, second}, {"A.y=B.x"});
  EXPECT_THAT(result.written, ElementsAre(dir_ / "out/model_cpu.bin", dir_ / "out/model_model_cpu.bin"));
  const auto expected = Run(second, {Floats({2, 2}, Run(first, {X()})[0])});
  std::filesystem::remove_all(dir_ / "left");
  std::filesystem::remove_all(dir_ / "right");
  EXPECT_EQ(Run(output_, {X()}), expected);
  EXPECT_THAT(Problems(output_), IsEmpty());
}

TEST_F(MergeTest, SecondariesStayWithTheirPrimaryInFiles) {
  const auto one = Compile(kBranches, "one");
  const auto two = Compile(kBranches, "two");
  const auto once = [&](bool a, bool b) {
    return Run(two, {Floats({2, 3}, Run(one, {X(), Bools({}, {a})})[0]), Bools({}, {b})});
  };
  Merge({one, two}, {"one.y=two.x"});
  for (bool a : {false, true}) {
    for (bool b : {false, true}) EXPECT_EQ(Run(output_, {X(), Bools({}, {a}), Bools({}, {b})}), once(a, b));
  }
  EXPECT_THAT(Problems(output_), IsEmpty());
}

// An embedded secondary can't say which of two payloads is its own. A secondary of payloads in files can.
TEST_F(MergeTest, EmbeddedPayloadsThatSecondariesCouldNotTellApartBecomeFiles) {
  const auto one = Compile(kBranches, "one", true);
  std::string other(kBranches);
  other.replace(other.find("Tanh(chosen)"), 12, "Sigmoid(chosen)");
  const auto two = Compile(other, "two", true);
  const MergeResult result = Merge({one, two}, {"one.y=two.x"});
  EXPECT_THAT(result.written, testing::UnorderedElementsAre(dir_ / "one_cpu.bin", dir_ / "two_cpu.bin"));
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      EXPECT_EQ(Run(output_, {X(), Bools({}, {a}), Bools({}, {b})}),
                Run(two, {Floats({2, 3}, Run(one, {X(), Bools({}, {a})})[0]), Bools({}, {b})}));
    }
  }
  EXPECT_THAT(Problems(output_), IsEmpty());
}

// A payload stays embedded if it is the only one, or if no secondary has to tell it from another.
TEST_F(MergeTest, EmbeddedPayloadsStayEmbeddedWhereTheyCan) {
  const auto one = Compile(kBranches, "one", true);
  const auto plain = dir_.Write("plain.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) })"));
  EXPECT_THAT(Merge({one, plain}, {"A.y=B.x"}).written, IsEmpty());
  std::filesystem::remove(output_);
  EXPECT_THAT(Merge({one, one}, {"A.y=B.x"}).written, IsEmpty()) << "the same payload twice";
  EXPECT_EQ(Run(output_, {X(), Bools({}, {true}), Bools({}, {false})}),
            Run(one, {Floats({2, 3}, Run(one, {X(), Bools({}, {true})})[0]), Bools({}, {false})}));
  std::filesystem::remove(output_);
  const auto first = Compile(kFirst, "first", true);  // the context has no secondary
  EXPECT_THAT(Merge({one, first}).written, ElementsAre(dir_ / "one_cpu.bin"));
  EXPECT_THAT(Problems(output_), IsEmpty());
}

TEST_F(MergeTest, WeightsOfPlainNodesGoIntoOneFile) {
  // The models are not compiled: plain models are merged by the same rules.
  const auto first = dir_.Write("first.onnx", OnnxFromText(kFirst));
  const auto second = dir_.Write("second.onnx", OnnxFromText(kSecond));
  const std::string weights = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { y = MatMul(x, w) })";
  const auto third = dir_.Write("third.onnx", OnnxFromText(weights));
  MergeOptions options;
  options.models = {first, second, third};
  options.connections = {"A.y=B.x", "B.y=C.x"};
  options.output = output_;
  options.external_initializers = "weights.bin";
  const MergeResult result = core::MergeContextModels(options, environment_->catalog());
  EXPECT_THAT(result.written, ElementsAre(dir_ / "weights.bin"));
  EXPECT_EQ(result.context_nodes, 0u);
  const auto expected = Run(third, {Floats({2, 2}, Run(second, {Floats({2, 2}, Run(first, {X()})[0])})[0])});
  EXPECT_THAT(Run(output_, {X()}), Contains(expected[0]));
  std::string bytes = ReadFile(dir_ / "weights.bin");
  bytes[3] = static_cast<char>(bytes[3] ^ 1);
  dir_.Write("weights.bin", bytes);
  EXPECT_THAT(Problems(output_), ElementsAre(HasSubstr("'weights.bin'")));
}

TEST_F(MergeTest, FunctionsOfBothModelsComeAlong) {
  const auto with_function = [](std::string_view op, std::string_view body) {
    return fmt::format(R"(<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
      g (float[2, 2] x) => (float[2, 2] y) {{ y = mine.{}(x) }}
      <opset_import: ["" : 17], domain: "mine"> {} (a) => (b) {{ b = {}(a) }})",
                       op, op, body);
  };
  const auto first = dir_.Write("first.onnx", OnnxFromText(with_function("Twist", "Neg")));
  const auto second = dir_.Write("second.onnx", OnnxFromText(with_function("Turn", "Abs")));
  const auto other = dir_.Write("other.onnx", OnnxFromText(with_function("Twist", "Abs")));
  EXPECT_THAT(Refusal({first, other}), AllOf(HasSubstr("mine.Twist"), HasSubstr("rename")));
  Merge({first, second}, {"A.y=B.x"});
  EXPECT_THAT(Run(output_, {Floats({2, 2}, {1, 2, -3, 4})}), ElementsAre(ElementsAre(1, 2, 3, 4)));
}

// Doc strings, denotations and quantization annotations are kept, also those of renamed values.
TEST_F(MergeTest, AnnotationsComeAlong) {
  const auto annotated = [&](std::string_view text, const std::string& name) {
    std::string bytes = OnnxFromText(text);
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(bytes));
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_doc_string(name + " is a graph");
    graph.mutable_input(0)->set_doc_string("x of " + name);
    graph.mutable_output(0)->mutable_type()->set_denotation("IMAGE");
    onnx::TensorAnnotation* quantized = graph.add_quantization_annotation();
    quantized->set_tensor_name("y");
    onnx::StringStringEntryProto* scale = quantized->add_quant_parameter_tensor_names();
    scale->set_key("SCALE_TENSOR");
    scale->set_value("x");
    return dir_.Write(name + ".onnx", model.SerializeAsString());
  };
  const auto compile = [&](const std::filesystem::path& model) {
    core::SessionOptions options = OptionsFor({"cpu"});
    options.Set("ep.context_enable", "1");
    Session session(*environment_, model, options);
    return std::filesystem::path(model).replace_extension().concat("_ctx.onnx");
  };
  Merge({compile(annotated(kFirst, "first")), compile(annotated(kSecond, "second"))});
  onnx::ModelProto merged;
  std::ifstream file(output_, std::ios::binary);
  ASSERT_TRUE(merged.ParseFromIstream(&file));
  const onnx::GraphProto& graph = merged.graph();
  EXPECT_EQ(graph.doc_string(), "first is a graph");
  ASSERT_EQ(graph.input_size(), 2);
  EXPECT_EQ(graph.input(0).doc_string(), "x of first");
  EXPECT_EQ(graph.input(1).doc_string(), "x of second");
  EXPECT_EQ(graph.input(1).name(), "second_x");
  EXPECT_EQ(graph.output(0).type().denotation(), "IMAGE");
  EXPECT_EQ(graph.output(1).type().denotation(), "IMAGE");
  ASSERT_EQ(graph.quantization_annotation_size(), 2);
  EXPECT_EQ(graph.quantization_annotation(1).tensor_name(), "second_y");
  EXPECT_EQ(graph.quantization_annotation(1).quant_parameter_tensor_names(0).value(), "second_x");
}

TEST_F(MergeTest, NamesInNestedGraphsDoNotHideValues) {
  // "before" is a value of the first model. In the second model it is a value inside a branch.
  const auto first = dir_.Write("first.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] before) => (float[2, 3] a) { a = Neg(before) })"));
  const auto second = dir_.Write("second.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] a, bool choose) => (float[2, 3] y) {
      y = If (choose) <
        then_branch = then_graph () => (float[2, 3] t) { before = Neg(a) t = Relu(before) },
        else_branch = else_graph () => (float[2, 3] e) { e = Identity(a) }
      > })"));
  Merge({first, second}, {"A.a=B.a"});
  const auto expected = Run(second, {Floats({2, 3}, Run(first, {X()})[0]), Bools({}, {true})});
  EXPECT_EQ(Run(output_, {X(), Bools({}, {true})}), expected);
}

TEST_F(MergeTest, DifferentOpsetsOfPlainNodesAreRefusedWithBothVersions) {
  const auto first = dir_.Write("first.onnx", OnnxFromText(kFirst));
  const auto old = dir_.Write("old.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, 2] x) => (float[2, 2] y) { y = Relu(x) })"));
  EXPECT_THAT(Refusal({first, old}), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("17"), HasSubstr("13")));
  // Compiled nodes have no opset, so the rest of the old model fits any opset.
  std::filesystem::remove(dir_ / "old.onnx");
  const auto compiled = Compile(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, 2] x) => (float[2, 2] y) { y = Relu(x) })",
                                "old");
  Merge({first, compiled}, {"first.y=old.x"});
  EXPECT_EQ(core::ReadModelFile(output_, {}).graph->Opset(""), 17);
}

TEST_F(MergeTest, CompatibilityInfoStaysOnlyWhereTheModelsAgree) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  Merge({first, second});
  EXPECT_TRUE(core::ReadModelFile(output_, {}).metadata.contains("ep_compatibility_info.cpu"));

  core::Model model = core::ReadModelFile(second, {});
  model.metadata["ep_compatibility_info.cpu"] = "made elsewhere";
  model.metadata["origin"] = "second";
  std::string bytes;
  core::WriteModel(model, {},
                   [&](const void* data, uint64_t size) { bytes.append(static_cast<const char*>(data), size); });
  dir_.Write("second_ctx.onnx", bytes);
  core::Reseal(second);
  std::filesystem::remove(output_);
  Merge({first, second});
  const auto metadata = core::ReadModelFile(output_, {}).metadata;
  EXPECT_FALSE(metadata.contains("ep_compatibility_info.cpu"));
  EXPECT_EQ(metadata.at("origin"), "second");
}

TEST_F(MergeTest, DamagedModelsAreRefused) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  const std::string binary = ReadFile(dir_ / "second_cpu.bin");
  dir_.Write("second_cpu.bin", binary.substr(0, binary.size() - 1));
  EXPECT_THAT(Refusal({first, second}), AllOf(HasSubstr("second_cpu.bin"), HasSubstr("has")));
  EXPECT_EQ(HintOf([&] { Merge({first, second}); }), core::Hint::kVerify);
  dir_.Write("second_cpu.bin", binary);
  std::string bytes = ReadFile(first);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  dir_.Write("first_ctx.onnx", bytes);
  EXPECT_THAT(Refusal({first, second}), AllOf(HasSubstr("first_ctx.onnx"), HasSubstr("seal")));
}

TEST_F(MergeTest, ConnectionsThatDoNotFitAreRefused) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  EXPECT_THAT(Refusal({first, second}, {"second.y=first.x"}), AllOf(HasSubstr("[2,2]"), HasSubstr("[2,3]")));
  EXPECT_THAT(Refusal({first, second}, {"first.y"}), HasSubstr("A.output=B.input"));
  EXPECT_THAT(Refusal({first, second}, {"third.y=second.x"}), AllOf(HasSubstr("third.y"), HasSubstr("B or second")));
  EXPECT_THAT(Refusal({first, second}, {"first.q=second.x"}),
              AllOf(HasSubstr("no output 'q'"), HasSubstr("it has: y")));
  EXPECT_THAT(Refusal({first, second}, {"A.y=B.x", "B.y=B.x"}), HasSubstr("connected already"));
  EXPECT_THAT(Refusal({second, second}, {"A.y=B.x", "B.y=A.x"}), HasSubstr("can't be put in order"));
  EXPECT_THAT(Refusal({second, second}, {"second.y=B.x"}), HasSubstr("letters"));
  EXPECT_THAT(Refusal({first}), HasSubstr("two or more"));
}

TEST_F(MergeTest, ExistingFilesAreReplacedOnlyOnRequest) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  dir_.Write("merged_ctx.onnx", "precious");
  EXPECT_THAT(FailureOf([&] { Merge({first, second}); }), AllOf(HasSubstr("FAIL"), HasSubstr("exists already")));
  EXPECT_EQ(HintOf([&] { Merge({first, second}); }), core::Hint::kOverwrite);
  EXPECT_EQ(ReadFile(output_), "precious");
  MergeOptions options;
  options.models = {first, second};
  options.output = output_;
  options.overwrite = true;
  core::MergeContextModels(options, environment_->catalog());
  EXPECT_THAT(Problems(output_), IsEmpty());
  options.output = dir_ / "first_cpu.bin";
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(options, environment_->catalog()); }),
              HasSubstr("is a payload"));
  options.output = dir_ / "no/such/folder.onnx";
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(options, environment_->catalog()); }),
              HasSubstr("create it first"));
}

// Merging follows the rules for publishing that apply to every context model.

TEST_F(MergeTest, TwoFilesOfTheResultNeverHaveOneName) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  MergeOptions options;
  options.models = {first, second};
  options.output = output_;
  options.overwrite = true;
  for (const char* name : {"merged_ctx.onnx", "sub/weights.bin", "..", "a\\b"}) {
    options.external_initializers = name;
    EXPECT_THAT(FailureOf([&] { core::MergeContextModels(options, environment_->catalog()); }),
                AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("external_initializers"), HasSubstr(name)));
  }
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(MergeTest, WhatIsMergedIsNeverReplaced) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  const std::string before = ReadFile(second);
  MergeOptions options;
  options.models = {first, second};
  options.output = second;
  options.overwrite = true;
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(options, environment_->catalog()); }),
              AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("part of what is merged")));
  EXPECT_EQ(ReadFile(second), before);
}

TEST_F(MergeTest, WhatAKilledProcessStagedIsRemoved) {
  const auto first = Compile(kFirst, "first");
  const auto second = Compile(kSecond, "second");
  const std::filesystem::path abandoned = dir_.Write(".epiphyte-1-2-0badcafe.staged", "nobody holds its lock");
  Merge({first, second}, {"A.y=B.x"});
  EXPECT_FALSE(std::filesystem::exists(abandoned));
}

}  // namespace
}  // namespace epiphyte::test
