// Context models that Epiphyte did not write in this form: models of other tools, edited models, and models of the
// specification's first version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/context/merge.h"
#include "core/context/verify.h"
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

// A model with three partitions for a recording plugin, separated by Tanh.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[3] x) => (float[3] y) {
    w = Constant <value = float[3] {2, -3, 0.5}> ()
    a = Mul(x, w) b = Tanh(a) c = Abs(b) d = Tanh(c) y = Neg(d)
  })";

class LoadContext : public testing::Test {
 protected:
  LoadContext() {
    dir_.Write("model.onnx", OnnxFromText(kModel));
    expected_ = Run("model.onnx");
  }

  void Compile(bool embed, bool per_partition = false) {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed ? "1" : "0");
    if (per_partition) options.provider_options["recorder_a"]["payloads"] = "per_partition";
    Session session(*environment_, dir_ / "model.onnx", options);
  }
  std::vector<float> Run(const std::string& name) {
    Session session(*environment_, dir_ / name, OptionsFor({"recorder_a", "recorder_b"}));
    return RunOn(session, {3}, {0.25, -1, 2});
  }
  std::string FailureOfRun(const std::string& name) {
    return FailureOf([&] { Run(name); });
  }
  // Changes the model and removes Epiphyte's records, as another tool would.
  template <typename Change>
  void Rewrite(const std::string& name, Change change) {
    onnx::ModelProto model = ParseProtoFile(dir_ / "model_ctx.onnx");
    ForgetRecords(&model);
    change(&model);
    dir_.Write(name, model.SerializeAsString());
  }
  // Returns the n-th context node of the model's main graph.
  static onnx::NodeProto* Node(onnx::ModelProto* model, int n) {
    for (onnx::NodeProto& node : *model->mutable_graph()->mutable_node()) {
      if (node.op_type() == "EPContext" && n-- == 0) return &node;
    }
    throw std::runtime_error("there are fewer context nodes");
  }

  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  std::vector<float> expected_;
};

TEST_F(LoadContext, AttributesLeftOutHaveTheSchemasDefaults) {
  Compile(true);
  Rewrite("defaults.onnx", [](onnx::ModelProto* model) {
    for (int i = 0; i < 3; ++i) RemoveAttribute(Node(model, i), "embed_mode");
    RemoveAttribute(Node(model, 0), "main_context");
    for (const char* optional :
         {"ep_sdk_version", "hardware_architecture", "notes", "onnx_model_filename", "partition_name"}) {
      for (int i = 0; i < 3; ++i) RemoveAttribute(Node(model, i), optional);
    }
  });
  EXPECT_EQ(Run("defaults.onnx"), expected_);
}

// The specification makes partition_name optional. Without it, the node's name is the partition's name, as other tools
// write it.
TEST_F(LoadContext, WithoutPartitionNameANodesNameIsTheKey) {
  for (bool embed : {false, true}) {
    for (bool per_partition : {false, true}) {
      SCOPED_TRACE(testing::Message() << (embed ? "embedded" : "external") << (per_partition ? ", several" : ", one"));
      Compile(embed, per_partition);
      Rewrite("nameless.onnx", [](onnx::ModelProto* model) {
        for (int i = 0; i < 3; ++i) RemoveAttribute(Node(model, i), "partition_name");
      });
      EXPECT_EQ(Run("nameless.onnx"), expected_);
      EXPECT_THAT(core::VerifyContextModel(dir_ / "nameless.onnx", environment_->catalog()).problems, IsEmpty());
      // An empty partition_name counts as missing.
      Rewrite("nameless.onnx", [](onnx::ModelProto* model) {
        for (int i = 0; i < 3; ++i) SetText(Node(model, i), "partition_name", "");
      });
      EXPECT_EQ(Run("nameless.onnx"), expected_);
      for (const std::string& name : FilesIn(dir_.path())) {
        if (name != "model.onnx") fs::remove(dir_ / name);
      }
    }
  }
}

TEST_F(LoadContext, WithoutAnyNameThePayloadsOnlyGraphIsMeant) {
  Compile(true, /*per_partition=*/true);
  const auto forget_names = [](onnx::ModelProto* model) {
    for (int i = 0; i < 3; ++i) {
      RemoveAttribute(Node(model, i), "partition_name");
      Node(model, i)->clear_name();
    }
  };
  Rewrite("nameless.onnx", forget_names);
  EXPECT_EQ(Run("nameless.onnx"), expected_);
  fs::remove(dir_ / "model_ctx.onnx");
  Compile(true);
  Rewrite("nameless.onnx", forget_names);
  EXPECT_THAT(FailureOfRun("nameless.onnx"), AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("holds graph ''")));
}

TEST_F(LoadContext, WithoutAnyNameInAFunctionThePayloadsOnlyGraphIsMeant) {
  Compile(true, /*per_partition=*/true);
  Rewrite("function.onnx", [](onnx::ModelProto* model) {
    onnx::FunctionProto& function = *model->add_functions();
    function.set_domain("my");
    function.set_name("F");
    onnx::NodeProto& node = *Node(model, 0);
    RemoveAttribute(&node, "partition_name");
    node.clear_name();
    for (const std::string& input : node.input()) function.add_input(input);
    for (const std::string& output : node.output()) function.add_output(output);
    *function.add_node() = node;
    for (const onnx::OperatorSetIdProto& opset : model->opset_import()) *function.add_opset_import() = opset;
    node.clear_attribute();
    node.set_op_type("F");
    node.set_domain("my");
    onnx::OperatorSetIdProto& opset = *model->add_opset_import();
    opset.set_domain("my");
    opset.set_version(1);
  });
  EXPECT_EQ(Run("function.onnx"), expected_);
}

TEST_F(LoadContext, WithoutPartitionNameMergingKeepsTheKey) {
  Compile(false);
  Rewrite("nameless.onnx", [](onnx::ModelProto* model) {
    for (int i = 0; i < 3; ++i) RemoveAttribute(Node(model, i), "partition_name");
  });
  core::MergeOptions merge;
  merge.models = {dir_ / "model_ctx.onnx", dir_ / "nameless.onnx"};  // the nodes of the second model are renamed
  merge.connections = {"A.y=B.x"};
  merge.output = dir_ / "merged.onnx";
  core::MergeContextModels(merge, environment_->catalog());
  Session source(*environment_, dir_ / "model.onnx", OptionsFor({"recorder_a"}));
  EXPECT_EQ(Run("merged.onnx"), RunOn(source, {3}, expected_));
}

// The bundled CPU provider follows the same rule.
TEST_F(LoadContext, WithoutPartitionNameTheCpuProviderLoadsToo) {
  SessionOptions options = OptionsFor({"cpu"});
  options.Set("ep.context_enable", "1");
  { Session session(*environment_, dir_ / "model.onnx", options); }
  for (bool named : {true, false}) {
    SCOPED_TRACE(named ? "by the node's name" : "the only graph");
    Rewrite("nameless.onnx", [&](onnx::ModelProto* model) {
      RemoveAttribute(Node(model, 0), "partition_name");
      if (!named) Node(model, 0)->clear_name();
    });
    EXPECT_EQ(Run("nameless.onnx"), expected_);
  }
}

TEST_F(LoadContext, UnknownAttributesAreLegal) {
  Compile(false);
  Rewrite("more.onnx", [](onnx::ModelProto* model) {
    SetText(Node(model, 1), "vendor_mood", "sunny");
    SetInt(Node(model, 1), "vendor_level", 7);
  });
  EXPECT_EQ(Run("more.onnx"), expected_);
}

// The first version has no max_size, the old default name, an embedded payload, and a payload of its own in every node.
TEST_F(LoadContext, AModelOfTheSpecificationsFirstVersion) {
  Compile(true, true);
  Rewrite("model.onnx_ctx.onnx", [](onnx::ModelProto* model) {
    model->clear_metadata_props();
    for (int i = 0; i < 3; ++i) {
      onnx::NodeProto* node = Node(model, i);
      onnx::NodeProto old;
      *old.mutable_input() = node->input();
      *old.mutable_output() = node->output();
      old.set_op_type("EPContext");
      old.set_domain("com.microsoft");
      old.set_name(node->name());
      for (const char* text : {"ep_cache_context", "ep_sdk_version", "onnx_model_filename", "hardware_architecture",
                               "partition_name", "source"}) {
        SetText(&old, text, TextOf(*node, text).value());
      }
      *node = old;
    }
  });
  EXPECT_EQ(Run("model.onnx_ctx.onnx"), expected_);
}

// A vendor's own tool made the binary, and a model was written around it by hand.
TEST_F(LoadContext, AVendorsPayloadInAHandmadeModel) {
  Compile(false);
  std::string payload = ReadFile(dir_ / "model_recorder_a.bin");
  fs::remove(dir_ / "model_recorder_a.bin");
  dir_.Write("blobs/from the vendor.bin", payload);
  dir_.Write("handmade.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    anything (float[3] x) => (float[3] y) {
      a = com.microsoft.EPContext <embed_mode = 0, source = "RecorderA", partition_name = "g_recorder_a_0",
                                   ep_cache_context = "blobs/from the vendor.bin"> (x)
      b = Tanh(a)
      c = com.microsoft.EPContext <main_context = 0, source = "RecorderAV1", partition_name = "g_recorder_a_1"> (b)
      d = Tanh(c)
      y = com.microsoft.EPContext <main_context = 0, embed_mode = 0, source = "RecorderA", partition_name = "g_recorder_a_2",
                                   ep_cache_context = "blobs/from the vendor.bin"> (d) })"));
  EXPECT_EQ(Run("handmade.onnx"), expected_);
  EXPECT_THAT(core::VerifyContextModel(dir_ / "handmade.onnx", environment_->catalog()).problems, IsEmpty());
  dir_.Write("blobs/from the vendor.bin", "QNN binary, not what is expected here");
  EXPECT_THAT(FailureOfRun("handmade.onnx"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("compile again")));
}

TEST_F(LoadContext, BinariesMayLieInSubfolders) {
  Compile(false);
  fs::create_directories(dir_ / "deep/er");
  fs::rename(dir_ / "model_recorder_a.bin", dir_ / "deep/er/model_recorder_a.bin");
  Rewrite("sub.onnx", [](onnx::ModelProto* model) {
    for (int i = 0; i < 3; ++i) SetText(Node(model, i), "ep_cache_context", "deep/er/model_recorder_a.bin");
  });
  EXPECT_EQ(Run("sub.onnx"), expected_);
  std::string bytes = ReadFile(dir_ / "sub.onnx");
  SessionOptions options = OptionsFor({"recorder_a"});
  options.Set("ep.context_file_path", (dir_ / "not_there.onnx").string());
  Session session(*environment_, bytes.data(), bytes.size(), options);
  EXPECT_EQ(RunOn(session, {3}, {0.25, -1, 2}), expected_);
}

TEST_F(LoadContext, ASecondaryMayStandBeforeItsPrimary) {
  for (bool embed : {false, true}) {
    SCOPED_TRACE(embed);
    Compile(embed);
    Rewrite("late.onnx", [&](onnx::ModelProto* model) {
      std::string payload = TextOf(*Node(model, 0), "ep_cache_context").value();
      for (int i = 0; i < 2; ++i) {
        RemoveAttribute(Node(model, i), "ep_cache_context");
        SetInt(Node(model, i), "main_context", 0);
      }
      SetInt(Node(model, 2), "main_context", 1);
      SetText(Node(model, 2), "ep_cache_context", payload);
    });
    EXPECT_EQ(Run("late.onnx"), expected_);
    fs::remove(dir_ / "model_ctx.onnx");
    fs::remove(dir_ / "model_recorder_a.bin");
  }
}

// One payload has two graphs and the other has the third. The secondary names its payload, or doesn't.
TEST_F(LoadContext, ASecondaryFindsItsGraphAmongSeveralPrimaries) {
  for (bool embed : {false, true}) {
    for (bool names_it : {false, true}) {
      if (embed && names_it) continue;
      SCOPED_TRACE(testing::Message() << (embed ? "embedded " : "external ") << (names_it ? "named" : "not named"));
      Compile(embed);
      std::string whole =
          embed ? TextOf(ContextNodesOf(ParseProtoFile(dir_ / "model_ctx.onnx"))[0], "ep_cache_context").value()
                : ReadFile(dir_ / "model_recorder_a.bin");
      for (const char* file : {"model_ctx.onnx", "model_recorder_a.bin"}) fs::remove(dir_ / file);
      Compile(embed, true);
      Rewrite("several.onnx", [&](onnx::ModelProto* model) {
        if (!embed) dir_.Write("whole.bin", whole);
        SetText(Node(model, 2), "ep_cache_context", embed ? whole : "whole.bin");
        SetInt(Node(model, 1), "main_context", 0);
        RemoveAttribute(Node(model, 1), "ep_cache_context");
        if (names_it) SetText(Node(model, 1), "ep_cache_context", "whole.bin");
      });
      EXPECT_EQ(Run("several.onnx"), expected_);
      for (const std::string& name : FilesIn(dir_.path())) {
        if (name != "model.onnx") fs::remove(dir_ / name);
      }
    }
  }
}

TEST_F(LoadContext, OneModelMayHoldBothFormsOfPayload) {
  Compile(false, true);
  Rewrite("both.onnx", [&](onnx::ModelProto* model) {
    SetInt(Node(model, 1), "embed_mode", 1);
    SetText(Node(model, 1), "ep_cache_context", ReadFile(dir_ / TextOf(*Node(model, 1), "ep_cache_context").value()));
  });
  EXPECT_EQ(Run("both.onnx"), expected_);
}

TEST_F(LoadContext, NodesThatCannotBeRightAreRefusedByName) {
  Compile(false);
  struct {
    const char* what;
    std::function<void(onnx::NodeProto*)> change;
    const char* says;
  } rows[] = {
      {"no source", [](onnx::NodeProto* node) { RemoveAttribute(node, "source"); }, "source"},
      {"empty source", [](onnx::NodeProto* node) { SetText(node, "source", ""); }, "source"},
      {"source in other letters", [](onnx::NodeProto* node) { SetText(node, "source", "NOTARY"); }, "'NOTARY'"},
      {"source is a number", [](onnx::NodeProto* node) { SetInt(node, "source", 1); }, "source"},
      {"main_context 2", [](onnx::NodeProto* node) { SetInt(node, "main_context", 2); }, "main_context"},
      {"main_context is text", [](onnx::NodeProto* node) { SetText(node, "main_context", "1"); }, "main_context"},
      {"embed_mode -1", [](onnx::NodeProto* node) { SetInt(node, "embed_mode", -1); }, "embed_mode"},
      {"no payload", [](onnx::NodeProto* node) { RemoveAttribute(node, "ep_cache_context"); }, "ep_cache_context"},
      {"empty payload", [](onnx::NodeProto* node) { SetText(node, "ep_cache_context", ""); }, "ep_cache_context"},
      {"payload is a number", [](onnx::NodeProto* node) { SetInt(node, "ep_cache_context", 5); }, "ep_cache_context"},
      {"a path as embedded payload", [](onnx::NodeProto* node) { SetInt(node, "embed_mode", 1); }, "RecorderA"},
      {"no such binary", [](onnx::NodeProto* node) { SetText(node, "ep_cache_context", "gone.bin"); }, "gone.bin"},
      {"no such graph in it", [](onnx::NodeProto* node) { SetText(node, "partition_name", "h"); }, "'h'"},
  };
  for (const auto& row : rows) {
    Rewrite("bad.onnx", [&](onnx::ModelProto* model) { row.change(Node(model, 0)); });
    EXPECT_THAT(FailureOfRun("bad.onnx"), AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr(row.says))) << row.what;
  }
}

// A kernel gets the inputs and outputs of its node, even if the payload was compiled for others.
TEST_F(LoadContext, ANodeWithAnotherNumberOfInputsOrOutputsGivesAnErrorAndNoCrash) {
  Compile(false);
  Rewrite("fewer.onnx", [](onnx::ModelProto* model) { Node(model, 0)->clear_input(); });
  EXPECT_THAT(FailureOfRun("fewer.onnx"), AllOf(HasSubstr("'recorder_a'"), HasSubstr("input 0 is absent")));
  Rewrite("more.onnx", [](onnx::ModelProto* model) { Node(model, 0)->add_output("extra"); });
  EXPECT_THAT(FailureOfRun("more.onnx"),
              AllOf(testing::StartsWith("EP_FAIL"), HasSubstr("'recorder_a'"), HasSubstr("output 1")));
}

TEST_F(LoadContext, AnEditedModelSaysHowToBeSealedAgain) {
  Compile(false);
  onnx::ModelProto model = ParseProtoFile(dir_ / "model_ctx.onnx");
  model.mutable_graph()->mutable_node(0)->set_doc_string("edited");
  dir_.Write("model_ctx.onnx", model.SerializeAsString());
  EXPECT_THAT(FailureOfRun("model_ctx.onnx"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("ResealContext")));
}

// A model cut off at the beginning of its metadata is still valid ONNX. It must not count as the model of another tool,
// because the host reads such models without a digest of the payload.
TEST_F(LoadContext, ATruncatedModelIsNeverTakenForAnotherTools) {
  Compile(false);
  const std::string whole = ReadFile(dir_ / "model_ctx.onnx");
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string bytes = whole.substr(0, size);
    SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_file_path", (dir_ / "model_ctx.onnx").string());
    EXPECT_THAT(FailureOf([&] { Session session(*environment_, bytes.data(), bytes.size(), options); }),
                testing::AnyOf(testing::StartsWith("INVALID_GRAPH"), testing::StartsWith("INVALID_PROTOBUF")))
        << size << " of " << whole.size();
  }
}

TEST_F(LoadContext, AnotherModelsBinaryIsRefusedThoughItHasTheRightNameAndSize) {
  Compile(false);
  std::string text(kModel);
  text.replace(text.find("{2, -3, 0.5}"), 12, "{2, -4, 0.5}");
  dir_.Write("other/model.onnx", OnnxFromText(text));
  SessionOptions options = OptionsFor({"recorder_a"});
  options.Set("ep.context_enable", "1");
  { Session session(*environment_, dir_ / "other/model.onnx", options); }
  ASSERT_EQ(fs::file_size(dir_ / "other/model_recorder_a.bin"), fs::file_size(dir_ / "model_recorder_a.bin"));
  fs::rename(dir_ / "other/model_recorder_a.bin", dir_ / "model_recorder_a.bin");
  EXPECT_THAT(FailureOfRun("model_ctx.onnx"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("model_recorder_a.bin"), HasSubstr("g_recorder_a_0"),
                    HasSubstr("'RecorderA'"), HasSubstr("compile the model again")));
}

}  // namespace
}  // namespace epiphyte::test
