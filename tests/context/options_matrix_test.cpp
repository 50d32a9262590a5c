// Every option of EP contexts × {model from file, from memory} × {embedded, external} × {one, several partitions} ×
// {one, two providers}. Checks the files, the attributes of the nodes, and that the numbers equal those of the source
// model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "core/base/error.h"
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
using core::ValuePtr;
using testing::HasSubstr;

using Numbers = std::vector<std::vector<float>>;

struct Shape {
  bool memory = false;  // the source and the context model are both read from memory
  bool embed = false;
  bool several = false;  // several partitions for each provider
  bool two = false;      // two providers instead of one
};

// A model with two inputs and two outputs, neither in alphabetical order. Each provider gets weights.
std::string ModelText(const Shape& shape) {
  std::string body;
  if (shape.two && shape.several) {
    body =
        "p = Mul(later, w) q = Neg(p) r = MatMul(q, m) s = Sub(r, earlier) t = Mul(s, b) zulu = Abs(t) alpha = "
        "Neg(zulu)";
  } else if (shape.two) {
    body = "p = Mul(later, w) q = Sub(p, earlier) r = Neg(q) zulu = Abs(r) alpha = Neg(zulu)";
  } else if (shape.several) {
    body = "p = Mul(later, w) q = MatMul(p, m) r = Abs(q) s = Tanh(r) zulu = Sub(s, b) alpha = Mul(zulu, earlier)";
  } else {
    body = "p = Mul(later, w) q = Sub(p, b) zulu = Abs(q) alpha = Mul(zulu, earlier)";
  }
  return R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[rows, 3] later, float[rows, 3] earlier) => (float[rows, 3] zulu, float[rows, 3] alpha) {
      w = Constant <value = float[3] {2, -3, 0.5}> ()
      m = Constant <value = float[3, 3] {1, 2, 3, 4, 5, 6, 7, 8, 10}> ()
      b = Constant <value = float[1, 3] {0.5, -0.5, 7}> () )" +
         body + "}";
}

class Scene {
 public:
  explicit Scene(const Shape& shape, bool external_weights = false) : shape_(shape) {
    onnx::ModelProto model = ParseProto(OnnxFromText(ModelText(shape)));
    ConstantsToInitializers(model.mutable_graph());
    // An initializer that the model does not use would not count as one of its weights.
    auto* initializers = model.mutable_graph()->mutable_initializer();
    for (int i = initializers->size(); i-- > 0;) {
      bool used = false;
      for (const onnx::NodeProto& node : model.graph().node()) {
        used = used || std::count(node.input().begin(), node.input().end(), initializers->Get(i).name()) > 0;
      }
      if (!used) initializers->DeleteSubrange(i, 1);
    }
    if (external_weights) {
      std::string bytes;
      MakeExternal(model.mutable_graph(), "source.weights", &bytes);
      dir_.Write("weights_folder/source.weights", bytes);
    }
    source_ = model;
    bytes_ = model.SerializeAsString();
    dir_.Write("in/model.onnx", bytes_);
    fs::create_directories(dir_ / "out");
  }

  const Shape& shape() const { return shape_; }
  fs::path in() const { return dir_ / "in"; }
  fs::path out() const { return dir_ / "out"; }
  fs::path weights_folder() const { return dir_ / "weights_folder"; }
  const onnx::ModelProto& source() const { return source_; }

  // These options load without the providers' own options.
  SessionOptions Providers() const {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.provider_options["recorder_a"]["claim"] = shape_.two ? "Mul,Sub" : "Mul,Sub,Abs";
    if (shape_.two) {
      options.providers.push_back({"recorder_b", {}});
      options.provider_options["recorder_b"]["claim"] = "Neg,Abs";
    }
    return options;
  }

  Numbers RunSource(const SessionOptions& options) {
    Session session(*environment_, bytes_.data(), bytes_.size(), options);
    return Run(session);
  }
  // Compiles the model, and returns the results that the compiling session computes.
  Numbers Compile(SessionOptions options) {
    options.Set("ep.context_enable", "1");
    if (shape_.embed) options.Set("ep.context_embed_mode", "1");
    if (!shape_.memory) {
      Session session(*environment_, in() / "model.onnx", options);
      return Run(session);
    }
    std::string copy = bytes_;
    Session session(*environment_, copy.data(), copy.size(), options);
    copy.assign(copy.size(), '?');
    return Run(session);
  }
  Numbers Load(const fs::path& model, SessionOptions options) {
    if (!shape_.memory) {
      Session session(*environment_, model, options);
      EXPECT_TRUE(session.has_context());
      return Run(session);
    }
    std::string bytes = ReadFile(model);
    options.Set("ep.context_file_path", model.string());
    Session session(*environment_, bytes.data(), bytes.size(), options);
    EXPECT_TRUE(session.has_context());
    bytes.assign(bytes.size(), '?');
    return Run(session);
  }
  // Removes everything but the written files, because the context model must not depend on anything else.
  void ForgetSource() {
    fs::remove(in() / "model.onnx");
    fs::remove_all(weights_folder());
  }

 private:
  static Numbers Run(Session& session) {
    std::vector<ValuePtr> inputs = {Floats({2, 3}, {1, -2, 3, 0.25, 5, -6}), Floats({2, 3}, {0, 1, 0, 1, 0, 1})};
    Numbers results;
    for (const ValuePtr& output : session.Run(inputs)) results.push_back(FloatsOf(*output));
    return results;
  }

  Shape shape_;
  TempDir dir_;
  onnx::ModelProto source_;
  std::string bytes_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

// One row of the table: the options that are set, and the differences that they cause.
struct Row {
  const char* name;
  std::function<void(const Scene&, SessionOptions*)> compile = [](const Scene&, SessionOptions*) {};
  std::function<void(SessionOptions*)> load = [](SessionOptions*) {};
  // True: the context model is at the default path. False: at the given path, relative to the parent of in/ and out/.
  bool default_path = false;
  std::string stem = "given";  // stem of the context model, without "_ctx"
  std::string suffix = "";     // "_ctx" if the file name has it
  std::string prefix = "";
  std::string external_initializers = "";
  std::string notes = "";
  int64_t max_size = 0;
  std::string source_of_recorder_a = "RecorderA";
  bool external_weights = false;
  bool per_partition = false;
  bool external_only = false;  // true for sharing, which contradicts embedding (tested in sharing_rules_test)
};

void PrintTo(const Row& row, std::ostream* stream) { *stream << row.name; }

std::vector<Row> Rows() {
  std::vector<Row> rows;
  rows.push_back({.name = "DefaultPath", .default_path = true, .stem = "model", .suffix = "_ctx"});
  rows.push_back({.name = "GivenPath"});
  rows.push_back({.name = "GivenPathEndingInCtx", .suffix = "_ctx"});
  rows.push_back({.name = "NonAsciiPath", .stem = "mod\xc3\xa8le"});
  rows.push_back(
      {.name = "Prefix",
       .compile = [](const Scene&, SessionOptions* options) { options->Set("ep.context_node_name_prefix", "left_"); },
       .prefix = "left_"});
  rows.push_back({.name = "ExternalInitializers",
                  .compile =
                      [](const Scene&, SessionOptions* options) {
                        options->Set("ep.context_model_external_initializers_file_name", "plain.weights");
                      },
                  .external_initializers = "plain.weights"});
  rows.push_back({.name = "SourceWeightsInAnotherFolder",
                  .compile =
                      [](const Scene& scene, SessionOptions* options) {
                        options->Set("session.model_external_initializers_file_folder_path",
                                     scene.weights_folder().string());
                      },
                  .external_weights = true});
  rows.push_back({.name = "SourceWeightsMoveToOneNewFile",
                  .compile =
                      [](const Scene& scene, SessionOptions* options) {
                        options->Set("session.model_external_initializers_file_folder_path",
                                     scene.weights_folder().string());
                        options->Set("ep.context_model_external_initializers_file_name", "plain.weights");
                      },
                  .external_initializers = "plain.weights",
                  .external_weights = true});
  rows.push_back(
      {.name = "VerifyHeader", .load = [](SessionOptions* options) { options->Set("ep.context_verify", "header"); }});
  rows.push_back(
      {.name = "VerifyFull", .load = [](SessionOptions* options) { options->Set("ep.context_verify", "full"); }});
  rows.push_back({.name = "NothingIsCompiledAtLoading",
                  .load = [](SessionOptions* options) { options->Set("session.disable_model_compile", "1"); }});
  rows.push_back({.name = "FailOnSuboptimal", .load = [](SessionOptions* options) {
                    options->Set("session.fail_on_suboptimal_compiled_model", "1");
                  }});
  rows.push_back({.name = "NoOptimization", .compile = [](const Scene&, SessionOptions* options) {
                    options->Set("epiphyte.graph_optimization_level", "0");
                  }});
  rows.push_back({.name = "SharingWithOneModel",
                  .compile =
                      [](const Scene&, SessionOptions* options) {
                        options->Set("ep.share_ep_contexts", "1");
                        options->Set("ep.stop_share_ep_contexts", "1");
                      },
                  .load = [](SessionOptions* options) { options->Set("ep.share_ep_contexts", "1"); },
                  .external_only = true});
  rows.push_back({.name = "LoadedWithSharing",
                  .load = [](SessionOptions* options) { options->Set("ep.share_ep_contexts", "1"); }});
  rows.push_back({.name = "NotesAndMaxSize",
                  .compile =
                      [](const Scene&, SessionOptions* options) {
                        options->provider_options["recorder_a"]["notes"] = "kept, as is";
                        options->provider_options["recorder_a"]["max_size"] = "4294967296";
                      },
                  .notes = "kept, as is",
                  .max_size = int64_t{1} << 32});
  rows.push_back(
      {.name = "SecondSourceOfThePlugin",
       .compile = [](const Scene&,
                     SessionOptions* options) { options->provider_options["recorder_a"]["source"] = "RecorderAV1"; },
       .source_of_recorder_a = "RecorderAV1"});
  rows.push_back({.name = "SeveralPrimaries",
                  .compile =
                      [](const Scene&, SessionOptions* options) {
                        options->provider_options["recorder_a"]["payloads"] = "per_partition";
                      },
                  .per_partition = true});
  return rows;
}

// A row of the table applied to one shape.
class Case {
 public:
  Case(const Row& row, const Shape& shape) : row_(row), scene_(shape, row.external_weights) {}
  void Check();

 private:
  const Row& row() const { return row_; }
  const Shape& shape() const { return scene_.shape(); }

  fs::path Model() const {
    return (row().default_path && !shape().memory ? scene_.in() : scene_.out()) / (row().stem + row().suffix + ".onnx");
  }
  SessionOptions CompileOptions() const {
    SessionOptions options = scene_.Providers();
    if (!row().default_path || shape().memory) options.Set("ep.context_file_path", Model().string());
    row().compile(scene_, &options);
    return options;
  }
  SessionOptions LoadOptions() const {
    SessionOptions options = OptionsFor({"recorder_a"});
    if (shape().two) options.providers.push_back({"recorder_b", {}});
    if (shape().memory && !row().external_initializers.empty()) {
      options.Set("session.model_external_initializers_file_folder_path", Model().parent_path().string());
    }
    row().load(&options);
    return options;
  }
  std::vector<std::string> Binaries() const {
    std::vector<std::string> names;
    if (shape().embed) return names;
    size_t of_recorder_a = row().per_partition ? NodesOf(row().source_of_recorder_a).size() : 1;
    for (size_t i = 0; i < of_recorder_a; ++i) {
      names.push_back(row().stem + "_recorder_a" + (i == 0 ? "" : "_" + std::to_string(i)) + ".bin");
    }
    if (shape().two) names.push_back(row().stem + "_recorder_b.bin");
    return names;
  }
  std::vector<onnx::NodeProto> NodesOf(const std::string& source) const {
    return ContextNodesOf(ParseProtoFile(Model()), source);
  }
  bool HasPlainNodes() const { return shape().several; }

  void ExpectNodes(const std::string& provider, const std::string& source, bool primaries, const std::string& notes,
                   int64_t max_size) {
    std::vector<onnx::NodeProto> nodes = NodesOf(source);
    EXPECT_EQ(nodes.size() > 1, shape().several) << source;
    EXPECT_GE(nodes.size(), 1u) << source;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const onnx::NodeProto& node = nodes[i];
      SCOPED_TRACE(node.name());
      std::string name = row().prefix + "g_" + provider + "_" + std::to_string(i);
      const bool primary = i == 0 || primaries;
      EXPECT_EQ(node.name(), name);
      EXPECT_EQ(TextOf(node, "partition_name"), name);
      EXPECT_EQ(IntOf(node, "main_context"), primary ? 1 : 0);
      EXPECT_EQ(IntOf(node, "embed_mode"), shape().embed ? 1 : 0);
      EXPECT_EQ(TextOf(node, "ep_sdk_version"),
                (provider == "recorder_a" ? "RecorderA" : "RecorderB") + std::string(" SDK 3.1"));
      EXPECT_EQ(TextOf(node, "hardware_architecture"), "paper");
      EXPECT_EQ(TextOf(node, "onnx_model_filename"),
                shape().memory ? std::nullopt : std::optional<std::string>("model.onnx"));
      EXPECT_EQ(TextOf(node, "notes"), notes.empty() ? std::nullopt : std::optional(notes));
      EXPECT_EQ(IntOf(node, "max_size"), max_size == 0 ? std::nullopt : std::optional(max_size));
      std::string payload;
      if (shape().embed) {
        payload = TextOf(node, "ep_cache_context").value_or("");
      } else if (primary) {
        std::string number = primaries && i > 0 ? "_" + std::to_string(i) : "";
        ASSERT_EQ(TextOf(node, "ep_cache_context"), row().stem + "_" + provider + number + ".bin");
        payload = ReadFile(Model().parent_path() / *TextOf(node, "ep_cache_context"));
      }
      EXPECT_EQ(payload.starts_with(provider == "recorder_a" ? "RecorderA\n" : "RecorderB\n"), primary);
      // The graph inside the payload has the same name, prefix included.
      if (primary) {
        EXPECT_THAT(payload, HasSubstr(name));
      }
    }
  }

  void ExpectSignatureOfSource() {
    onnx::ModelProto written = ParseProtoFile(Model());
    auto compare = [](const auto& found, const auto& expected) {
      ASSERT_EQ(found.size(), expected.size());
      for (int i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].name(), expected[i].name());
        EXPECT_EQ(found[i].type().DebugString(), expected[i].type().DebugString()) << expected[i].name();
      }
    };
    compare(written.graph().input(), scene_.source().graph().input());
    compare(written.graph().output(), scene_.source().graph().output());
  }

  Row row_;
  Scene scene_;
};

void Case::Check() {
  SessionOptions plain = scene_.Providers();
  if (row().external_weights) {
    plain.Set("session.model_external_initializers_file_folder_path", scene_.weights_folder().string());
  }
  const Numbers expected = scene_.RunSource(plain);
  EXPECT_EQ(scene_.Compile(CompileOptions()), expected);

  std::vector<std::string> files = Binaries();
  const bool external = !row().external_initializers.empty() && HasPlainNodes();
  files.push_back(Model().filename());
  if (external) files.push_back(row().external_initializers);
  std::vector<std::string> found;
  for (const std::string& name : FilesIn(Model().parent_path())) {
    if (name != "model.onnx") found.push_back(name);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(files));
  EXPECT_EQ(FilesIn(scene_.in()).size() + FilesIn(scene_.out()).size(), files.size() + 1);

  ExpectNodes("recorder_a", row().source_of_recorder_a, row().per_partition, row().notes, row().max_size);
  if (shape().two) ExpectNodes("recorder_b", "RecorderB", false, "", 0);
  ExpectSignatureOfSource();
  onnx::ModelProto written = ParseProtoFile(Model());
  EXPECT_EQ(ContextNodesOf(written).size() < static_cast<size_t>(written.graph().node_size()), HasPlainNodes());
  // Weights of compiled nodes are in the payload only.
  EXPECT_EQ(written.graph().initializer_size(), HasPlainNodes() ? 1 : 0);
  for (const onnx::TensorProto& weight : written.graph().initializer()) {
    EXPECT_EQ(weight.name(), "m");
    EXPECT_EQ(weight.data_location() == onnx::TensorProto::EXTERNAL, external) << weight.name();
    if (external) {
      EXPECT_EQ(weight.external_data(0).value(), row().external_initializers);
    }
  }
  std::string path = Model().string();
  EXPECT_NO_THROW(onnx::checker::check_model(path));

  scene_.ForgetSource();
  EXPECT_EQ(scene_.Load(Model(), LoadOptions()), expected);
}

class OptionsMatrix : public testing::TestWithParam<std::pair<Row, bool>> {};

std::vector<std::pair<Row, bool>> RowsInBothForms() {
  std::vector<std::pair<Row, bool>> rows;
  for (const Row& row : Rows()) {
    rows.emplace_back(row, false);
    if (!row.external_only) rows.emplace_back(row, true);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Options, OptionsMatrix, testing::ValuesIn(RowsInBothForms()), [](const auto& info) {
  return std::string(info.param.first.name) + (info.param.second ? "_Embedded" : "_External");
});

TEST_P(OptionsMatrix, FilesNodesAndNumbersAreRight) {
  auto [row, embed] = GetParam();
  for (bool memory : {false, true}) {
    for (bool several : {false, true}) {
      for (bool two : {false, true}) {
        SCOPED_TRACE(testing::Message() << (memory ? "from memory" : "from a file") << ", "
                                        << (several ? "several partitions" : "one partition") << ", "
                                        << (two ? "two providers" : "one provider"));
        try {
          Case(row, {memory, embed, several, two}).Check();
        } catch (const core::Error& error) {
          ADD_FAILURE() << core::StatusCodeName(error.code()) << ": " << error.message();
        }
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
