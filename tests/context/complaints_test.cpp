// Complaints of ONNX Runtime users about EP contexts, and the specification's list of load errors. Each test shows that
// the problem does not occur, or that it ends in a message. The message names model, node, source and payload, and says
// what was found, what was expected and what to do. Complaints that other tests cover are not repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "core/base/error.h"
#include "core/cache/open_session.h"
#include "core/context/context_store.h"
#include "tests/context/context_proto.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/host/run_program.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A model with three partitions for a recording plugin. Tanh, and MatMul with a weight, are for the fallback.
constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 2] x) => (float[N, 2] y) {
    w = Constant <value = float[2] {2, -3}> ()
    m = Constant <value = float[2, 2] {1, 2, 3, 4}> ()
    a = Mul(x, w) b = Tanh(a) c = Abs(b) d = MatMul(c, m) y = Neg(d)
  })";

class Complaint : public testing::Test {
 protected:
  Complaint() {
    dir_.Write("model.onnx", OnnxFromText(kModel));
    expected_ = Run("model.onnx");
  }

  SessionOptions Options(std::vector<std::string> providers = {"recorder_a", "recorder_b"}) const {
    SessionOptions options = OptionsFor(std::move(providers));
    for (const auto& provider : options.providers) {
      options.provider_options[provider.name]["ledger"] = ledger_.path();
    }
    return options;
  }
  SessionOptions Compiling(bool embed = false) const {
    SessionOptions options = Options({"recorder_a"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed ? "1" : "0");
    return options;
  }
  void Compile(const SessionOptions& options) { Session session(*environment_, dir_ / "model.onnx", options); }
  std::vector<float> Run(const std::string& name) { return Run(name, Options()); }
  std::vector<float> Run(const std::string& name, const SessionOptions& options) {
    Session session(*environment_, dir_ / name, options);
    return RunOn(session, {2, 2}, {1, -2, 3, 0.25});
  }
  std::string Refusal(const std::string& name) { return Refusal(name, Options()); }
  std::string Refusal(const std::string& name, const SessionOptions& options) {
    return FailureOf([&] { Run(name, options); });
  }
  // Changes the compiled model as another tool would; `change` gets its context nodes.
  void Rewrite(const std::function<void(std::vector<onnx::NodeProto*>)>& change) {
    onnx::ModelProto model = ParseProtoFile(dir_ / "model_ctx.onnx");
    ForgetRecords(&model);
    std::vector<onnx::NodeProto*> nodes;
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
      if (node.op_type() == "EPContext") nodes.push_back(&node);
    }
    ASSERT_EQ(nodes.size(), 3u);
    change(nodes);
    dir_.Write("changed.onnx", model.SerializeAsString());
  }

  TempDir dir_;
  TempDir other_;
  Ledger ledger_{other_ / "ledger"};
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  std::vector<float> expected_;
};

// Every refusal of a context is one line with the model, the node, its source, and advice.
auto RefusesNode(const std::string& model, const std::string& node, const std::string& source) {
  return AllOf(StartsWith("INVALID_GRAPH: "), HasSubstr(model), HasSubstr("EPContext node '" + node + "'"),
               HasSubstr("source '" + source + "'"), Not(HasSubstr("\n")));
}

// --- the specification's list: driver version, SDK version, any other failure to load

// "Detect mismatches between the driver version and the version required by the EP context binary" and "between the
// runtime SDK version and the version used to generate the EP context binary". A plugin records both versions in
// ep_compatibility_info. The attribute says which SDK wrote the node.
TEST_F(Complaint, AnotherDriverOrSdkVersionIsNamedOnBothSides) {
  Compile(Compiling());
  onnx::ModelProto model = ParseProtoFile(dir_ / "model_ctx.onnx");
  ForgetRecords(&model);
  for (auto& entry : *model.mutable_metadata_props()) {
    if (entry.key() == "ep_compatibility_info.recorder_a") entry.set_value("recorder_a/2 driver 17");
  }
  dir_.Write("old.onnx", model.SerializeAsString());
  const size_t parsed = ledger_.Count("parse");
  EXPECT_THAT(Refusal("old.onnx"),
              AllOf(RefusesNode("old.onnx", "g_recorder_a_0", "RecorderA"), HasSubstr("file 'model_recorder_a.bin'"),
                    HasSubstr("written with SDK 'RecorderA SDK 3.1' for 'paper'"),
                    HasSubstr("provider 'recorder_a' 1.0.0"), HasSubstr("'recorder_a/2 driver 17'"),
                    HasSubstr("'recorder_a/3 '"), HasSubstr("; compile the model again")));
  EXPECT_EQ(ledger_.Count("parse"), parsed) << "the plugin saw a payload that isn't its version's";
}

// "Return an error if loading the EP context binary fails for any reason"; microsoft/onnxruntime#22131: loading fails
// without saying what failed or where.
TEST_F(Complaint, PluginFailureIsReportedWithModelNodeAndProvider) {
  for (bool embed : {false, true}) {
    SessionOptions compiling = Compiling(embed);
    compiling.Set("epiphyte.context_overwrite", "1");
    Compile(compiling);
    SessionOptions options = Options();
    options.provider_options["recorder_a"]["fail"] = "load";
    const std::string refusal = Refusal("model_ctx.onnx", options);
    EXPECT_THAT(refusal,
                AllOf(RefusesNode("model_ctx.onnx", "g_recorder_a_0", "RecorderA"), HasSubstr("and 2 more"),
                      HasSubstr("written with SDK 'RecorderA SDK 3.1'"), HasSubstr("provider 'recorder_a' 1.0.0"),
                      HasSubstr("load fails as asked"), HasSubstr("compile the model again")));
    EXPECT_EQ(refusal.find("file 'model_recorder_a.bin'") != std::string::npos, !embed);
  }
}

// --- generation

// microsoft/onnxruntime#31977: with embed_mode=1 and several partitions, the written model can't be loaded, and the
// error shows an empty path.
TEST_F(Complaint, SeveralEmbeddedPartitionsAreLoadable) {
  Compile(Compiling(/*embed=*/true));
  EXPECT_EQ(Run("model_ctx.onnx"), expected_);
}

TEST_F(Complaint, AMissingPayloadIsAnErrorOfItsOwnAndShowsNoEmptyPath) {
  Compile(Compiling(/*embed=*/true));
  Rewrite([](auto nodes) { RemoveAttribute(nodes[0], "ep_cache_context"); });
  EXPECT_THAT(Refusal("changed.onnx"),
              AllOf(RefusesNode("changed.onnx", "g_recorder_a_0", "RecorderA"),
                    HasSubstr("ep_cache_context is missing"), HasSubstr("expected the payload (embed_mode 1)"),
                    HasSubstr("compile the source model again"), Not(HasSubstr("''"))));
  Rewrite([](auto nodes) { SetInt(nodes[0], "main_context", 0); });
  EXPECT_THAT(Refusal("changed.onnx"), AllOf(RefusesNode("changed.onnx", "g_recorder_a_0", "RecorderA"),
                                             HasSubstr("has main_context 0"), HasSubstr("no node with main_context 1"),
                                             HasSubstr("compile the model again"), Not(HasSubstr("''"))));
}

// ONNX Runtime inserts context nodes by name, so a node of the source model that has the same name is lost. Epiphyte
// gives context nodes names that no other node has.
TEST_F(Complaint, ANodeThatIsCalledLikeAPartitionStays) {
  onnx::ModelProto model = ParseProtoFile(dir_ / "model.onnx");
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Tanh") node.set_name("g_recorder_a_0");
  }
  dir_.Write("model.onnx", model.SerializeAsString());
  Compile(Compiling());
  EXPECT_EQ(Run("model_ctx.onnx"), expected_);
  std::multiset<std::string> names;
  const onnx::ModelProto written = ParseProtoFile(dir_ / "model_ctx.onnx");
  for (const onnx::NodeProto& node : written.graph().node()) names.insert(node.name());
  EXPECT_EQ(names.count("g_recorder_a_0"), 1u);
  EXPECT_EQ(names.count("g_recorder_a_1"), 1u);
}

// ONNX Runtime takes the last '.' of the whole path: `dir.v1/model` becomes `dir_ctx.onnx`.
TEST_F(Complaint, ADotInAFoldersNameIsNoExtension) {
  dir_.Write("dir.v1/model", OnnxFromText(kModel));
  { Session session(*environment_, dir_ / "dir.v1/model", Compiling()); }
  EXPECT_THAT(FilesIn(dir_.path()), testing::ElementsAre("dir.v1/model", "dir.v1/model_ctx.onnx",
                                                         "dir.v1/model_recorder_a.bin", "model.onnx"));
  EXPECT_EQ(Run("dir.v1/model_ctx.onnx"), expected_);
}

// winml-cli#1081: the compile failed, and the context of an earlier compile passed for the new one.
TEST_F(Complaint, FailedCompileDoesNotReuseAnOlderContext) {
  Compile(Compiling());
  const auto before = ContentOf(dir_.path());
  for (const char* call : {"compile", "save"}) {
    SessionOptions options = Compiling();
    options.Set("epiphyte.context_overwrite", "1");
    options.provider_options["recorder_a"]["fail"] = call;
    EXPECT_THAT(FailureOf([&] { Compile(options); }), AllOf(StartsWith("EP_FAIL"), HasSubstr("recorder_a")));
    EXPECT_EQ(ContentOf(dir_.path()), before) << call;
  }
}

// microsoft/onnxruntime#23358: the context model still needs the source model's large file of weights.
TEST_F(Complaint, TheSourceModelAndItsDataMayBeDeleted) {
  onnx::ModelProto model = ParseProtoFile(dir_ / "model.onnx");
  ConstantsToInitializers(model.mutable_graph());
  std::string bytes;
  MakeExternal(model.mutable_graph(), "weights.data", &bytes);
  for (const char* file_name : {"", "plain.data"}) {
    SCOPED_TRACE(file_name);
    dir_.Write("source/model.onnx", model.SerializeAsString());
    dir_.Write("source/weights.data", bytes);
    fs::create_directories(dir_ / "target");
    SessionOptions options = Compiling();
    options.Set("ep.context_file_path", (dir_ / "target/model_ctx.onnx").string());
    options.Set("ep.context_model_external_initializers_file_name", file_name);
    { Session session(*environment_, dir_ / "source/model.onnx", options); }
    fs::remove_all(dir_ / "source");
    EXPECT_EQ(Run("target/model_ctx.onnx"), expected_);
    fs::remove_all(dir_ / "target");
  }
}

// microsoft/onnxruntime#25188: all sessions share a temporary file `./model_ext_ini.bin` in the working directory.
TEST_F(Complaint, CompilingWritesNothingOutsideTheTargetFolder) {
  fs::create_directories(other_ / "here");
  fs::create_directories(other_ / "temporary");
  const ProgramResult result = RunEpiphyte(
      {"compile", (dir_ / "model.onnx").string(), "--ep", "recorder_a", "--option",
       "ep.context_model_external_initializers_file_name=plain.data"},
      other_ / "here",
      {{"EPIPHYTE_PLUGIN_PATH", RecordingPluginFolder().string()}, {"TMPDIR", (other_ / "temporary").string()}});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(FilesIn(dir_.path()),
              testing::ElementsAre("model.onnx", "model_ctx.onnx", "model_recorder_a.bin", "plain.data"));
  EXPECT_THAT(FilesIn(other_ / "here"), testing::IsEmpty());
  EXPECT_THAT(FilesIn(other_ / "temporary"), testing::IsEmpty());
}

// microsoft/onnxruntime#23294: the engine was rebuilt at run time for another shape, and the file on disk no longer
// fitted. An Epiphyte context is immutable: other shapes run from the compiled context, and no file changes.
TEST_F(Complaint, RunningOtherShapesChangesNoFile) {
  Compile(Compiling());
  const auto before = ContentOf(dir_.path());
  const size_t compiled = ledger_.Count("compile");
  {
    Session session(*environment_, dir_ / "model_ctx.onnx", Options());
    const std::vector<float> two = RunOn(session, {2, 2}, {1, -2, 3, 0.25});
    const std::vector<float> three = RunOn(session, {3, 2}, {1, -2, 3, 0.25, 1, -2});
    EXPECT_EQ(two, expected_);
    EXPECT_EQ(std::vector<float>(three.begin(), three.begin() + 4), expected_);
    EXPECT_EQ(std::vector<float>(three.begin() + 4, three.end()), std::vector<float>(two.begin(), two.begin() + 2));
  }
  EXPECT_EQ(ledger_.Count("compile"), compiled);
  EXPECT_EQ(ContentOf(dir_.path()), before);
}

// --- contexts of different vendors

// microsoft/onnxruntime#27622: one vendor's plugin was handed another vendor's EPContext node and crashed on it.
TEST_F(Complaint, APluginIsNeverHandedAnotherPluginsNode) {
  Compile(Compiling());
  // The owner is installed but not in the session's list. The listed plugin gets nothing.
  EXPECT_THAT(
      Refusal("model_ctx.onnx", Options({"recorder_b"})),
      AllOf(RefusesNode("model_ctx.onnx", "g_recorder_a_0", "RecorderA"), HasSubstr("file 'model_recorder_a.bin'"),
            HasSubstr("provider 'recorder_a'"), HasSubstr("(recorder_b, cpu)"), HasSubstr("add it")));
  EXPECT_EQ(ledger_.Count("parse"), 0u);
}

// A node with a false source reaches the plugin of that source, which must refuse it.
TEST_F(Complaint, APayloadUnderAnotherSourceIsRefusedByThePluginThatGetsIt) {
  Compile(Compiling());
  Rewrite([](auto nodes) {
    for (onnx::NodeProto* node : nodes) SetText(node, "source", "RecorderB");
  });
  EXPECT_THAT(Refusal("changed.onnx"),
              AllOf(RefusesNode("changed.onnx", "g_recorder_a_0", "RecorderB"),
                    HasSubstr("file 'model_recorder_a.bin'"), HasSubstr("written with SDK 'RecorderA SDK 3.1'"),
                    HasSubstr("provider 'recorder_b' 1.0.0"), HasSubstr("compile the model again")));
}

// microsoft/onnxruntime#27474: the message was only "Could not find an implementation for EPContext(1)".
TEST_F(Complaint, NodeWithoutPluginNamesSourceFileAndInstalledSources) {
  Compile(Compiling());
  Rewrite(
      [](auto nodes) { SetText(nodes[1], "source", "QNN"), SetText(nodes[1], "ep_cache_context", "model_QNN.bin"); });
  EXPECT_THAT(
      Refusal("changed.onnx"),
      AllOf(RefusesNode("changed.onnx", "g_recorder_a_1", "QNN"), HasSubstr("file 'model_QNN.bin'"),
            HasSubstr("no installed plugin owns"),
            HasSubstr("EpiphyteCPU, EpiphyteNPU, EpiphyteVulkan, RecorderA, RecorderAV1, RecorderB, RecorderBV1"),
            HasSubstr("install the plugin"), HasSubstr("run the source model")));
  Rewrite([](auto nodes) { RemoveAttribute(nodes[1], "source"); });
  EXPECT_THAT(Refusal("changed.onnx"),
              AllOf(HasSubstr("EPContext node 'g_recorder_a_1' (no source"), HasSubstr("no installed plugin owns")));
}

// The plugin is installed but can't be used: the message names its state, library and manifest.
TEST_F(Complaint, ANodeWhosePluginIsBrokenNamesItsManifestAndWhatIsMissing) {
  TempDir plugins;
  const fs::path manifest = plugins.Write("qnn.yaml", R"(manifest_version: 1
name: qnn
vendor: Nobody
version: 1.0.0
license: none
description: a plugin without its library
library: libqnn_ep.so
abi: "0.2"
sources: [QNN]
devices: [npu]
)");
  core::CatalogOptions catalog;
  catalog.use_environment = catalog.use_user_folder = false;
  catalog.paths = {RecordingPluginFolder(), plugins.path()};
  Compile(Compiling());
  Rewrite([](auto nodes) { SetText(nodes[1], "source", "QNN"); });
  environment_ = std::make_unique<core::Environment>(catalog);
  EXPECT_THAT(Refusal("changed.onnx"), AllOf(RefusesNode("changed.onnx", "g_recorder_a_1", "QNN"),
                                             HasSubstr("provider 'qnn'"), HasSubstr("LibraryMissing"),
                                             HasSubstr("libqnn_ep.so"), HasSubstr(fs::canonical(manifest).string())));
}

// --- payloads

// microsoft/onnxruntime#28605, #28725, #19174: several checks found paths that leave the folder, each with another
// code.
TEST_F(Complaint, BadPathsShareOneCodeAndMessageForm) {
  Compile(Compiling());
  other_.Write("secret.bin", "secret");
  fs::create_symlink(other_ / "secret.bin", dir_ / "link.bin");
  for (auto [path, found] : std::vector<std::pair<const char*, const char*>>{{"../secret.bin", "'..'"},
                                                                             {"/etc/passwd", "absolute"},
                                                                             {"C:/secret.bin", "absolute"},
                                                                             {"sub\\secret.bin", "backslash"},
                                                                             {"link.bin", "symbolic link"},
                                                                             {".", "no regular file"},
                                                                             {"gone.bin", "does not exist"}}) {
    Rewrite([&, path = path](auto nodes) { SetText(nodes[0], "ep_cache_context", path); });
    EXPECT_THAT(Refusal("changed.onnx"), AllOf(RefusesNode("changed.onnx", "g_recorder_a_0", "RecorderA"),
                                               HasSubstr(std::string("file '") + path), HasSubstr(found),
                                               HasSubstr("put the file in its place or compile the model again")));
  }
}

TEST_F(Complaint, AGitLfsPointerInPlaceOfAPayloadIsRecognised) {
  Compile(Compiling());
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 16\n";
  dir_.Write("pointer.bin", pointer);
  Rewrite([](auto nodes) { SetText(nodes[0], "ep_cache_context", "pointer.bin"); });
  EXPECT_THAT(Refusal("changed.onnx"),
              AllOf(RefusesNode("changed.onnx", "g_recorder_a_0", "RecorderA"),
                    HasSubstr("file 'pointer.bin' is a Git LFS pointer"), HasSubstr("git lfs pull")));
}

// onnxruntime-qnn#647: sessions that share a backend overwrite each other's callbacks. The last session's callbacks are
// called after it is destroyed.
class OneFile : public core::ContextStore {
 public:
  explicit OneFile(std::string bytes) : bytes_(std::move(bytes)) {}
  bool StoresModel() const override { return false; }
  bool Exists(const std::string&) override { return true; }
  std::unique_ptr<Writer> Create(const std::string& name) override {
    throw core::Error(core::StatusCode::kFail, "'" + name + "' is read only");
  }
  Bytes Open(const std::string&) override {
    ++opened;
    auto copy = std::make_shared<const std::string>(bytes_);
    return {copy->data(), copy->size(), copy};
  }
  int opened = 0;

 private:
  std::string bytes_;
};

TEST_F(Complaint, EachSessionCallsItsOwnStore) {
  Compile(Compiling());
  const std::string good = ReadFile(dir_ / "model_recorder_a.bin");
  fs::remove(dir_ / "model_recorder_a.bin");
  auto first = std::make_shared<OneFile>(good);
  auto second = std::make_shared<OneFile>(good.substr(1));
  SessionOptions with_first = Options(), with_second = Options();
  with_first.context_store = first;
  with_second.context_store = second;
  Session session(*environment_, dir_ / "model_ctx.onnx", with_first);
  EXPECT_THAT(Refusal("model_ctx.onnx", with_second),
              AllOf(RefusesNode("model_ctx.onnx", "g_recorder_a_0", "RecorderA"), HasSubstr("model_recorder_a.bin"),
                    HasSubstr(std::to_string(good.size()))));
  EXPECT_EQ(first->opened, 1);
  EXPECT_EQ(second->opened, 1);
  // A session without a store doesn't call the store of an earlier session.
  EXPECT_THAT(Refusal("model_ctx.onnx"), AllOf(HasSubstr("model_recorder_a.bin"), HasSubstr("does not exist")));
  EXPECT_EQ(RunOn(session, {2, 2}, {1, -2, 3, 0.25}), expected_);
  EXPECT_EQ(first->opened, 1);
}

// --- plugins and caches over time

fs::path CopyOfRecorderA(const TempDir& dir, const std::string& name, const std::string& tail) {
  dir.Write(name + "/recorder_a.yaml", ReadFile(RecordingPluginFolder() / "recorder_a.yaml"));
  return dir.Write(name + "/recorder_a.so", ReadFile(RecordingPluginFolder() / "recorder_a.so") + tail).parent_path();
}

// microsoft/onnxruntime#27487, #27660, winml-cli#1224: a cache that only compares the model's time is used by the next
// version of the runtime or plugin, and crashes it.
TEST_F(Complaint, ACachedContextIsNotUsedByAnotherBuildOfItsPlugin) {
  TempDir plugins;
  const fs::path same = CopyOfRecorderA(plugins, "same", "");
  const fs::path updated = CopyOfRecorderA(plugins, "updated", "another build");
  const auto compiles_with = [&](const fs::path& folder) {
    core::CatalogOptions catalog;
    catalog.use_environment = catalog.use_user_folder = false;
    catalog.paths = {folder};
    core::Environment environment(catalog);
    SessionOptions options = Options({"recorder_a"});
    options.Set("session.context_cache_dir", (dir_ / "cache").string());
    const size_t before = ledger_.Count("compile");
    Session session = core::OpenSession(environment, {dir_ / "model.onnx"}, options);
    EXPECT_EQ(RunOn(session, {2, 2}, {1, -2, 3, 0.25}), expected_);
    return ledger_.Count("compile") > before;
  };
  EXPECT_TRUE(compiles_with(same));
  EXPECT_FALSE(compiles_with(same));
  EXPECT_TRUE(compiles_with(updated));
  EXPECT_FALSE(compiles_with(updated));
}

// microsoft/onnxruntime#28395, #29634: each registration leaves a handle of the library open.
TEST_F(Complaint, EnvironmentsThatComeAndGoOpenThePluginOnce) {
  Compile(Compiling());
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto mappings = [] {
    const std::string maps = ReadFile("/proc/self/maps");
    return std::count(maps.begin(), maps.end(), '\n');
  };
  const auto once = [&] {
    environment_ = RecordingEnvironment();
    EXPECT_EQ(Run("model_ctx.onnx"), expected_);
    environment_.reset();
  };
  once();
  const auto files = open_files();
  const auto maps = mappings();
  for (int i = 0; i < 50; ++i) once();
  EXPECT_EQ(open_files(), files);
  EXPECT_LT(mappings(), maps + 25) << "memory of the allocator comes and goes, a mapping for each of 50 would stay";
}

}  // namespace
}  // namespace epiphyte::test
