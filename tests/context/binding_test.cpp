// One rule decides which payload holds a node's graph, and whether it is the payload that the node was written with.
// All readers of a context model must come to the same verdict. The test takes one set of models. Each is loaded and
// run, verified, described, judged by its plugins, and merged with another model and run.
#include "core/context/context_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/context/compatibility.h"
#include "core/context/merge.h"
#include "core/context/node_payloads.h"
#include "core/context/reseal.h"
#include "core/context/seal.h"
#include "core/context/verify.h"
#include "core/onnx/model_reader.h"
#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A model with three partitions for a recording plugin, separated by Tanh.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  main_graph (float[3] x) => (float[3] y) {
    w = Constant <value = float[3] {2, -3, 0.5}> ()
    a = Mul(x, w) b = Tanh(a) c = Abs(b) d = Tanh(c) y = Neg(d)
  })";
// A model with the same names as kModel, but other numbers and operators.
constexpr std::string_view kOther = R"(<ir_version: 8, opset_import: ["" : 17]>
  main_graph (float[3] x) => (float[3] y) {
    w = Constant <value = float[3] {5, 7, -11}> ()
    a = Mul(x, w) b = Tanh(a) c = Neg(b) d = Tanh(c) y = Abs(d)
  })";

using Nodes = std::vector<onnx::NodeProto*>;

struct Edit {
  const char* name = nullptr;
  const char* refusal = nullptr;  // text in every refusal; null: the model is valid
  bool per_partition = false;     // true: one payload for each partition, instead of one for all
  std::function<void(const Nodes&)> change = [](const Nodes&) {};  // changes the context nodes, in order
  bool ambiguous = false;                                          // true: only the plugin can find a secondary's graph
  bool external_only = false;
  bool recorded_only = false;  // true: models of other tools have no records that would show the change
  std::function<void(const TempDir& dir, const TempDir& elsewhere)> damage = [](const TempDir&, const TempDir&) {
  };  // changes the files after the model was sealed
};

// Name of the payload that has all three graphs. Edits add it to a model of several payloads.
constexpr const char* kWhole = "whole.bin";
constexpr const char* kBinary = "model_recorder_a.bin";

std::vector<Edit> Edits() {
  const auto second_source = [](std::vector<size_t> of) {
    return [of](const Nodes& nodes) {
      for (const size_t i : of) SetText(nodes[i], "source", "RecorderAV1");
    };
  };
  const auto move_payload = [](const Nodes& nodes, size_t from, size_t to) {
    SetText(nodes[to], "ep_cache_context", TextOf(*nodes[from], "ep_cache_context").value());
    SetInt(nodes[to], "main_context", 1);
    RemoveAttribute(nodes[from], "ep_cache_context");
    SetInt(nodes[from], "main_context", 0);
  };
  std::vector<Edit> edits;
  const auto add = [&](Edit edit) { edits.push_back(std::move(edit)); };
  add({.name = "AsCompiled"});
  add({.name = "SeveralPrimaries", .per_partition = true});
  add({.name = "SecondariesOfTheSecondSource", .change = second_source({1, 2})});
  add({.name = "OneSecondaryOfTheSecondSource", .change = second_source({2})});
  add({.name = "ThePrimaryOfTheSecondSource", .change = second_source({0})});
  add({.name = "SeveralPrimariesOfTwoSources", .per_partition = true, .change = second_source({1})});
  add({.name = "WithoutPartitionNames", .change = [](const Nodes& nodes) {
         for (onnx::NodeProto* node : nodes) RemoveAttribute(node, "partition_name");
       }});
  add({.name = "ThePrimaryStandsLast", .change = [=](const Nodes& nodes) { move_payload(nodes, 0, 2); }});
  add({.name = "TwoPrimariesOfOnePayload", .change = [](const Nodes& nodes) {
         SetInt(nodes[2], "main_context", 1);
         SetText(nodes[2], "ep_cache_context", TextOf(*nodes[0], "ep_cache_context").value());
       }});
  add({.name = "ASecondaryNamesItsFile",
       .change =
           [](const Nodes& nodes) {
             SetText(nodes[1], "ep_cache_context", TextOf(*nodes[0], "ep_cache_context").value());
           },
       .external_only = true});
  add({.name = "ASecondaryAmongSeveralPrimaries",
       .per_partition = true,
       .change =
           [](const Nodes& nodes) {
             SetInt(nodes[1], "main_context", 0);
             RemoveAttribute(nodes[1], "ep_cache_context");
             SetText(nodes[2], "ep_cache_context", kWhole);
           },
       .ambiguous = true});
  add({.name = "NoPrimary", .refusal = "no node with main_context 1", .change = [](const Nodes& nodes) {
         RemoveAttribute(nodes[0], "ep_cache_context");
         SetInt(nodes[0], "main_context", 0);
       }});
  add({.name = "APrimaryOfAnotherProvider", .refusal = "no node with main_context 1", .change = [](const Nodes& nodes) {
         SetText(nodes[0], "source", "RecorderB");
       }});
  add({.name = "APrimaryThatCannotBeRead", .refusal = "main_context is 7", .change = [](const Nodes& nodes) {
         SetInt(nodes[0], "main_context", 7);
       }});
  add({.name = "AFileThatIsGone",
       .refusal = "gone.bin",
       .change = [](const Nodes& nodes) { SetText(nodes[0], "ep_cache_context", "gone.bin"); },
       .external_only = true});
  for (const auto& [name, path, refusal] : {std::tuple{"APathOutOfTheFolder", "../model_recorder_a.bin", "'..'"},
                                            {"AnAbsolutePath", "/etc/passwd", "absolute"},
                                            {"AFolder", ".", "no regular file"}}) {
    add({.name = name,
         .refusal = refusal,
         .change = [path = path](const Nodes& nodes) { SetText(nodes[0], "ep_cache_context", path); },
         .external_only = true});
  }
  add({.name = "AFileWithoutARecord",
       .refusal = "none of this one",
       .change = [](const Nodes& nodes) { SetText(nodes[0], "ep_cache_context", "renamed.bin"); },
       .external_only = true,
       .recorded_only = true,
       .damage = [](const TempDir& dir, const TempDir&) { fs::rename(dir / kBinary, dir / "renamed.bin"); }});
  add({.name = "AFlippedBit",
       .refusal = "has digest",
       .external_only = true,
       .recorded_only = true,
       .damage = [](const TempDir& dir, const TempDir&) {
         std::string bytes = ReadFile(dir / kBinary);
         bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
         dir.Write(kBinary, bytes);
       }});
  add({.name = "APayloadThatIsCutOff",
       .refusal = "bytes, but the context model was written with",
       .external_only = true,
       .recorded_only = true,
       .damage = [](const TempDir& dir, const TempDir&) {
         fs::resize_file(dir / kBinary, fs::file_size(dir / kBinary) - 1);
       }});
  add({.name = "ALinkOutOfTheFolder",
       .refusal = "symbolic link",
       .external_only = true,
       .damage = [](const TempDir& dir, const TempDir& elsewhere) {
         fs::create_symlink(elsewhere.Write(kBinary, ReadFile(dir / kBinary)), dir / "link");
         fs::rename(dir / "link", dir / kBinary);
       }});
  return edits;
}

struct Case {
  Edit edit;
  bool embed;
  bool foreign;  // true: no records and no seal, like a model that another tool wrote
};

void PrintTo(const Case& of, std::ostream* stream) { *stream << of.edit.name; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Edit& edit : Edits()) {
    for (const bool embed : {false, true}) {
      for (const bool foreign : {false, true}) {
        if (embed && edit.external_only) continue;  // the edit needs a file
        if (!foreign && edit.ambiguous) continue;   // this host writes no such model, so its payload has no record
        if (foreign && edit.recorded_only) continue;
        cases.push_back({edit, embed, foreign});
      }
    }
  }
  return cases;
}

class OneRule : public testing::TestWithParam<Case> {
 protected:
  bool embed() const { return GetParam().embed; }
  bool foreign() const { return GetParam().foreign; }
  const Edit& edit() const { return GetParam().edit; }

  void Compile(const std::string& name, std::string_view text, bool per_partition, const std::string& prefix = "") {
    dir_.Write(name + ".onnx", OnnxFromText(text));
    SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed() ? "1" : "0");
    options.Set("ep.context_node_name_prefix", prefix);
    if (per_partition) options.provider_options["recorder_a"]["payloads"] = "per_partition";
    Session session(*environment_, dir_ / (name + ".onnx"), options);
  }
  // Writes the model of the case: edits its context nodes, and seals it again or leaves it as another tool would.
  void MakeModel() {
    if (edit().ambiguous) {
      Compile("model", kModel, false);
      whole_ = embed() ? TextOf(ContextNodesOf(ParseProtoFile(dir_ / "model_ctx.onnx"))[0], "ep_cache_context").value()
                       : ReadFile(dir_ / "model_recorder_a.bin");
      for (const char* file : {"model_ctx.onnx", "model_recorder_a.bin"}) fs::remove(dir_ / file);
      if (!embed()) dir_.Write(kWhole, whole_);
    }
    Compile("model", kModel, edit().per_partition);
    onnx::ModelProto model = ParseProtoFile(dir_ / "model_ctx.onnx");
    if (foreign()) ForgetRecords(&model);
    Nodes nodes;
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
      if (node.op_type() == "EPContext") nodes.push_back(&node);
    }
    ASSERT_EQ(nodes.size(), 3u);
    edit().change(nodes);
    if (embed() && edit().ambiguous) SetText(nodes[2], "ep_cache_context", whole_);
    dir_.Write("model_ctx.onnx", model.SerializeAsString());
    if (!foreign()) core::Reseal(dir_ / "model_ctx.onnx");
    edit().damage(dir_, elsewhere_);
  }

  std::vector<float> Run(const std::string& name, std::vector<float> x) {
    Session session(*environment_, dir_ / name, OptionsFor({"recorder_a", "recorder_b"}));
    return RunOn(session, {3}, std::move(x));
  }
  std::vector<std::string> Problems(const std::string& name) {
    std::vector<std::string> texts;
    for (const auto& problem : core::VerifyContextModel(dir_ / name, environment_->catalog()).problems) {
      texts.push_back(problem.text);
    }
    return texts;
  }
  // Returns the errors about payloads that describing the nodes reports.
  std::vector<std::string> Described(const std::string& name) {
    core::Model model = core::ReadModelFile(dir_ / name, {});
    core::NodePayloads payloads({.model = dir_ / name}, model.metadata);
    const core::ContextBinding binding(core::FindContextNodes(*model.graph), core::OwnersIn(environment_->catalog()));
    std::vector<std::string> problems;
    for (const core::BoundNode& bound : binding.nodes()) {
      if (!bound.problem.empty()) problems.push_back(bound.problem);
      if (!bound.readable) continue;
      const std::string& problem = payloads.Open(*bound.node, bound.attributes).problem;
      if (!problem.empty()) problems.push_back(problem);
    }
    return problems;
  }
  core::ContextReport Check(const std::string& name) {
    core::Model model = core::ReadModelFile(dir_ / name, {});
    return core::CheckContexts(model, dir_ / name, environment_->catalog(), /*with_payloads=*/true);
  }
  void Merge(std::vector<std::string> names, const std::string& output) {
    core::MergeOptions merge;
    for (const std::string& name : names) merge.models.push_back(dir_ / name);
    merge.connections = {"A.y=B.x"};
    merge.output = dir_ / output;
    core::MergeContextModels(merge, environment_->catalog());
  }

  TempDir dir_;
  TempDir elsewhere_;
  std::string whole_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

INSTANTIATE_TEST_SUITE_P(Models, OneRule, testing::ValuesIn(Cases()), [](const auto& info) {
  return std::string(info.param.edit.name) + (info.param.embed ? "_Embedded" : "_External") +
         (info.param.foreign ? "_Foreign" : "_Sealed");
});

TEST_P(OneRule, OneVerdictForAll) {
  MakeModel();
  // The payloads of the other model hold graphs of the same names, except if the plugin must search by name.
  Compile("other", kOther, false, edit().ambiguous ? "other_" : "");
  const std::vector<float> x = {0.25, -1, 2};

  if (edit().refusal != nullptr) {
    const auto says = HasSubstr(edit().refusal);
    EXPECT_THAT(FailureOf([&] { Run("model_ctx.onnx", x); }), AllOf(StartsWith("INVALID_GRAPH"), says));
    EXPECT_THAT(Problems("model_ctx.onnx"), testing::Contains(says));
    EXPECT_THAT(Described("model_ctx.onnx"), testing::Contains(says));
    const core::ContextReport report = Check("model_ctx.onnx");
    EXPECT_EQ(report.verdict, core::ContextVerdict::kUnsupported);
    EXPECT_TRUE(std::any_of(report.nodes.begin(), report.nodes.end(), [&](const core::NodeCheck& node) {
      return node.reason.find(edit().refusal) != std::string::npos;
    }));
    for (const auto& order : {std::vector<std::string>{"model_ctx.onnx", "other_ctx.onnx"},
                              std::vector<std::string>{"other_ctx.onnx", "model_ctx.onnx"}}) {
      EXPECT_THAT(FailureOf([&] { Merge(order, "merged.onnx"); }), AllOf(StartsWith("INVALID_GRAPH"), says));
      EXPECT_FALSE(fs::exists(dir_ / "merged.onnx"));
    }
    return;
  }

  const std::vector<float> expected = Run("model.onnx", x);
  EXPECT_EQ(Run("model_ctx.onnx", x), expected);
  EXPECT_THAT(Problems("model_ctx.onnx"), IsEmpty());
  EXPECT_THAT(Described("model_ctx.onnx"), IsEmpty());
  EXPECT_EQ(Check("model_ctx.onnx").verdict, core::ContextVerdict::kOptimal) << Check("model_ctx.onnx").reason;
  Merge({"model_ctx.onnx", "other_ctx.onnx"}, "before.onnx");
  Merge({"other_ctx.onnx", "model_ctx.onnx"}, "after.onnx");
  for (const char* merged : {"before.onnx", "after.onnx"}) {
    EXPECT_THAT(Problems(merged), IsEmpty()) << merged;
    EXPECT_EQ(Check(merged).verdict, core::ContextVerdict::kOptimal) << Check(merged).reason;
  }
  EXPECT_EQ(Run("before.onnx", x), Run("other.onnx", expected));
  EXPECT_EQ(Run("after.onnx", x), Run("model.onnx", Run("other.onnx", x)));
}

// --- the rule itself

class Binding : public testing::Test {
 protected:
  // Adds a node given as "source main file"; file "-" means none.
  void Add(const std::string& source, int64_t main_context, const std::string& file, int64_t embed_mode = 0) {
    std::vector<core::Attribute> attributes;
    attributes.push_back(core::Attribute::String("source", source));
    attributes.push_back(core::Attribute::Int("main_context", main_context));
    attributes.push_back(core::Attribute::Int("embed_mode", embed_mode));
    if (!file.empty()) attributes.push_back(core::Attribute::String("ep_cache_context", file));
    nodes_.push_back(graph_.AddNode("EPContext", "com.microsoft", 1, {}, {}, std::move(attributes),
                                    "n" + std::to_string(nodes_.size())));
  }
  // Returns the payload_node of each node; -1 for none.
  std::vector<int> Carriers() {
    const core::ContextBinding binding(
        nodes_, [](const std::string& source) { return source.starts_with("a") ? std::string("a") : std::string(); });
    std::vector<int> payload_nodes;
    for (const core::BoundNode& bound : binding.nodes()) {
      payload_nodes.push_back(bound.payload_node == core::kNoPayloadNode ? -1 : static_cast<int>(bound.payload_node));
      problems_ += bound.problem.empty() ? 0 : 1;
    }
    return payload_nodes;
  }

  core::Graph graph_{"g"};
  std::vector<core::Node*> nodes_;
  int problems_ = 0;
};

TEST_F(Binding, SourcesOfOneProviderAreOneFamilyAndUnownedOnesEachTheirOwn) {
  Add("a1", 1, "a.bin");
  Add("a2", 0, "");
  Add("b1", 1, "b.bin");
  Add("b2", 0, "");
  Add("b1", 0, "");
  EXPECT_EQ(Carriers(), (std::vector<int>{0, 0, 2, -1, 2}));
  EXPECT_EQ(problems_, 1) << "of source b2 there is no primary";
}

TEST_F(Binding, PrimaryNodesOfOneFileShareAPayload) {
  Add("a", 0, "");
  Add("a", 1, "a.bin");
  Add("a", 1, "a.bin");
  EXPECT_EQ(Carriers(), (std::vector<int>{1, 1, 1}));
}

TEST_F(Binding, EmbeddedPayloadsWithEqualBytesAreShared) {
  const std::string first(5000, 'x');
  std::string second = first;
  second.back() = 'y';
  Add("a", 1, first, 1);
  Add("a", 1, second, 1);
  Add("a", 1, first, 1);
  Add("a", 0, "", 1);
  EXPECT_EQ(Carriers(), (std::vector<int>{0, 1, 0, -1}));
  EXPECT_EQ(problems_, 0) << "several fit, which is for the provider to say";
}

TEST_F(Binding, ANamedFileIsTheNodesOwnWhateverElseThereIs) {
  Add("a", 1, "one.bin");
  Add("a", 1, "two.bin");
  Add("a", 0, "two.bin");
  Add("a", 0, "three.bin");
  EXPECT_EQ(Carriers(), (std::vector<int>{0, 1, 1, 3}));
  EXPECT_EQ(problems_, 0);
}

TEST_F(Binding, AFileOfTwoProvidersIsCarriedByEachForItself) {
  Add("a", 1, "one.bin");
  Add("b", 1, "one.bin");
  Add("b", 0, "");
  EXPECT_EQ(Carriers(), (std::vector<int>{0, 1, 1}));
}

}  // namespace
}  // namespace epiphyte::test
