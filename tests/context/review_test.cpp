// Defects that a review found: groups that end while a session waits, order of destruction, and files that must not be
// lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/abi/handles.h"
#include "core/context/context_model.h"
#include "core/context/merge.h"
#include "core/context/reseal.h"
#include "core/context/seal.h"
#include "core/context/share_group.h"
#include "core/onnx/write/metadata_entry.h"
#include "core/onnx/write/model_writer.h"
#include "tests/context/context_proto.h"
#include "tests/framework/mappings.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using core::ContextStore;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Plain(const std::string& name) {
  return OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> " + name +
                      " (float[N] x) => (float[N] y) { a = Neg(x) y = Abs(a) }");
}

// A store that calls the test when a compiling session begins a file.
class CallbackStore : public ContextStore {
 public:
  explicit CallbackStore(std::function<void()> on_create) : on_create_(std::move(on_create)) {}
  bool Exists(const std::string&) override { return false; }
  std::unique_ptr<Writer> Create(const std::string&) override {
    struct Nowhere : Writer {
      void Write(const void*, uint64_t) override {}
      void Commit() override {}
    };
    if (auto call = std::exchange(on_create_, nullptr)) call();
    return std::make_unique<Nowhere>();
  }
  Bytes Open(const std::string&) override { return {}; }

 private:
  std::function<void()> on_create_;
};

class Review : public testing::Test {
 protected:
  // Writes a model with that name, and its context model beside it.
  void Compile(const std::string& file) {
    dir_.Write(file, Plain("a"));
    SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_enable", "1");
    const Session session(*environment_, dir_ / file, options);
  }
  SessionOptions Compiling(bool last) const {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.share_ep_contexts", "1");
    if (last) options.Set("ep.stop_share_ep_contexts", "1");
    return options;
  }
  TempDir dir_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
};

TEST_F(Review, ASessionThatWaitsForAGroupThatEndsBeginsTheNext) {
  dir_.Write("a.onnx", Plain("a"));
  dir_.Write("b.onnx", Plain("b"));
  for (int round = 0; round < 5; ++round) {
    std::thread waiting;
    SessionOptions first = Compiling(true);
    first.Set("epiphyte.context_overwrite", "1");
    first.context_store = std::make_shared<CallbackStore>([&] {
      waiting = std::thread([&] {
        SessionOptions second = Compiling(true);
        second.Set("epiphyte.context_overwrite", "1");
        Session session(*environment_, dir_ / "b.onnx", second);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
    { Session session(*environment_, dir_ / "a.onnx", first); }
    waiting.join();
    EXPECT_TRUE(fs::exists(dir_ / "b_ctx.onnx"));
    fs::remove(dir_ / "b_ctx.onnx");
  }
}

TEST_F(Review, WorkspacesGoBeforeThePayloadsTheyMayView) {
  const fs::path file = dir_.Write("payload.bin", std::string(10000, 'p'));
  struct Probe {
    fs::path file;
    int mapped = -1;
  } probe{file};
  {
    core::ShareGroup group("g");
    group.OpenFile(file);
    ASSERT_EQ(MappingsOf(file), 1u);
    void* workspace = nullptr;
    ASSERT_EQ(
        group.workspaces()->Get(
            &probe,
            [](void* user, void** made) -> EpStatus* {
              *made = user;
              return nullptr;
            },
            &probe,
            [](void* made) { static_cast<Probe*>(made)->mapped = MappingsOf(static_cast<Probe*>(made)->file) != 0; },
            &workspace),
        nullptr);
  }
  EXPECT_EQ(probe.mapped, 1);
}

TEST_F(Review, APayloadOfStringsIsRefused) {
  dir_.Write("a.onnx", Plain("a"));
  SessionOptions compile = OptionsFor({"recorder_a"});
  compile.Set("ep.context_enable", "1");
  compile.Set("ep.context_embed_mode", "1");
  { Session session(*environment_, dir_ / "a.onnx", compile); }
  onnx::ModelProto model = ParseProtoFile(dir_ / "a_ctx.onnx");
  ForgetRecords(&model);
  onnx::NodeProto* node = model.mutable_graph()->mutable_node(0);
  RemoveAttribute(node, "ep_cache_context");
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name("ep_cache_context");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  attribute->mutable_t()->set_data_type(onnx::TensorProto::STRING);
  attribute->mutable_t()->add_dims(1);
  attribute->mutable_t()->add_string_data("recording plugin");
  const std::string failure = FailureOf([&] {
    Session session(*environment_, dir_.Write("bad.onnx", model.SerializeAsString()), OptionsFor({"recorder_a"}));
  });
  EXPECT_THAT(failure, AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("ep_cache_context"), HasSubstr("string")));
}

TEST_F(Review, MessagesAboutNodesArePrintable) {
  Compile("a.onnx");
  for (const char* attribute : {"source", "partition_name", "ep_cache_context", "node", "record"}) {
    SCOPED_TRACE(attribute);
    onnx::ModelProto model = ParseProtoFile(dir_ / "a_ctx.onnx");
    ForgetRecords(&model);
    const std::string evil = "x\033[2J\n\xff y";
    if (std::string(attribute) == "node") {
      model.mutable_graph()->mutable_node(0)->set_name(evil);
      SetText(model.mutable_graph()->mutable_node(0), "ep_cache_context", "missing.bin");
    } else if (std::string(attribute) == "record") {
      auto* entry = model.add_metadata_props();
      entry->set_key("epiphyte.context.payload.000000");
      entry->set_value(evil);
      auto* version = model.add_metadata_props();
      version->set_key("epiphyte.context.version");
      version->set_value("1");
    } else {
      SetText(model.mutable_graph()->mutable_node(0), attribute, evil);
    }
    const std::string bad = dir_.Write("bad.onnx", "").string();
    dir_.Write("bad.onnx", model.SerializeAsString());
    const std::string failure = FailureOf([&] { Session session(*environment_, bad, OptionsFor({"recorder_a"})); });
    EXPECT_THAT(failure, testing::StartsWith("INVALID_GRAPH"));
    EXPECT_TRUE(std::none_of(failure.begin(), failure.end(), [](char c) { return c >= 0 && c < ' '; })) << failure;
    EXPECT_EQ(failure.find('\xff'), std::string::npos);
  }
}

TEST_F(Review, PlacementOfTheLastModelOfAGroupCanBeAskedFor) {
  const fs::path model = dir_.Write("a.onnx", Plain("a"));
  EXPECT_EQ(FailureOf([&] { core::PlaceModel(*environment_, model, Compiling(true)); }), "OK");
}

TEST_F(Review, APayloadWhoseWritingFailedCanNotBeEnded) {
  struct Once : core::PayloadWriter {
    void Write(const void*, uint64_t) override {
      if (!std::exchange(failed, true)) throw core::Error(core::StatusCode::kFail, "disk full");
    }
    void End() override {}
    bool failed = false;
  };
  EpContextSink sink;
  sink.new_writer = [] { return std::make_unique<Once>(); };
  EpContextWriter* writer = nullptr;
  const auto failure = [](EpStatus* status) { return FailureOf([&] { core::ThrowIfFailed(status, "provider"); }); };
  EXPECT_EQ(failure(core::kContextApi.BeginPayload(sink.open.handle(), &writer)), "OK");
  EXPECT_THAT(failure(core::kContextApi.Write(writer, "abc", 3)), HasSubstr("disk full"));
  EXPECT_EQ(failure(core::kContextApi.Write(writer, "def", 3)), "OK");
  EXPECT_THAT(failure(core::kContextApi.EndPayload(writer)), HasSubstr("had failed"));
}

TEST_F(Review, ASessionOfTheGroupCreatedByACallbackIsRefused) {
  dir_.Write("a.onnx", Plain("a"));
  dir_.Write("b.onnx", Plain("b"));
  std::string inner;
  SessionOptions options = Compiling(true);
  options.context_store = std::make_shared<CallbackStore>(
      [&] { inner = FailureOf([&] { Session session(*environment_, dir_ / "b.onnx", Compiling(false)); }); });
  Session session(*environment_, dir_ / "a.onnx", options);
  EXPECT_THAT(inner, AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("callback")));
  EXPECT_NE(session.context_output(), nullptr) << "the group of the first goes on";
}

TEST_F(Review, MergingReplacesNoModelThatItReads) {
  for (const char* name : {"a", "b"}) {
    dir_.Write(std::string(name) + ".onnx", Plain(name));
    SessionOptions compile = OptionsFor({"recorder_a"});
    compile.Set("ep.context_enable", "1");
    Session session(*environment_, dir_ / (std::string(name) + ".onnx"), compile);
  }
  core::MergeOptions merge;
  merge.models = {dir_ / "a_ctx.onnx", dir_ / "b_ctx.onnx"};
  merge.output = dir_ / "b_ctx.onnx";
  merge.overwrite = true;
  const std::string before = ReadFile(dir_ / "b_ctx.onnx");
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(merge, environment_->catalog()); }),
              testing::StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(ReadFile(dir_ / "b_ctx.onnx"), before);
}

TEST_F(Review, MergingReplacesNoWeightsThatItReads) {
  for (const char* name : {"a", "b"}) {
    onnx::ModelProto model = ParseProto(OnnxFromText(
        "<ir_version: 8, opset_import: [\"\" : 17]> " + std::string(name) +
        " (float[2] x) => (float[2] y) { w = Constant <value = float[2] {2, -3}> () a = Neg(x) y = Mul(a, w) }"));
    ConstantsToInitializers(model.mutable_graph());
    std::string bytes;
    MakeExternal(model.mutable_graph(), std::string(name) + ".weights", &bytes);
    dir_.Write(std::string(name) + ".weights", bytes);
    dir_.Write(std::string(name) + ".onnx", model.SerializeAsString());
  }
  core::MergeOptions merge;
  merge.models = {dir_ / "a.onnx", dir_ / "b.onnx"};
  merge.output = dir_ / "c_ctx.onnx";
  merge.external_initializers = "a.weights";
  merge.overwrite = true;
  const std::string before = ReadFile(dir_ / "a.weights");
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(merge, environment_->catalog()); }),
              testing::StartsWith("INVALID_ARGUMENT"));
  EXPECT_EQ(ReadFile(dir_ / "a.weights"), before);
}

TEST_F(Review, ExternalDataOfFunctionsIsProtectedToo) {
  onnx::ModelProto model = ParseProto(OnnxFromText(R"(
    <ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (float[2] x) => (float[2] y) { y = my.Scale(x) }
    <opset_import: ["" : 17], domain: "my">
    Scale (x) => (y) { w = Constant <value = float[2] {2, -3}> () a = Neg(x) y = Mul(a, w) })"));
  onnx::TensorProto* tensor = model.mutable_functions(0)->mutable_node(0)->mutable_attribute(0)->mutable_t();
  float values[] = {2, -3};
  tensor->clear_float_data();
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (auto [key, value] : {std::pair{"location", "a_recorder_a.bin"}, {"offset", "0"}, {"length", "8"}}) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  const std::string bytes(reinterpret_cast<const char*>(values), sizeof values);
  dir_.Write("a_recorder_a.bin", bytes);
  dir_.Write("a.onnx", model.SerializeAsString());
  SessionOptions options = OptionsFor({"recorder_a"});
  options.Set("ep.context_enable", "1");
  options.Set("epiphyte.context_overwrite", "1");
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, dir_ / "a.onnx", options); }),
              AllOf(testing::StartsWith("INVALID_ARGUMENT"), HasSubstr("a_recorder_a.bin")));
  EXPECT_EQ(ReadFile(dir_ / "a_recorder_a.bin"), bytes);
}

TEST_F(Review, ResealingKeepsTheFilesMode) {
  Compile("a.onnx");
  ASSERT_EQ(chmod((dir_ / "a_ctx.onnx").c_str(), 0600), 0);
  core::Reseal(dir_ / "a_ctx.onnx");
  struct stat info = {};
  ASSERT_EQ(stat((dir_ / "a_ctx.onnx").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// Model and payload are links into one folder, as in a content-addressed cache.
TEST_F(Review, ResealingThroughALinkLeavesALoadableModel) {
  fs::create_directories(dir_ / "blobs");
  fs::create_directories(dir_ / "snapshot");
  Compile("blobs/m.onnx");
  for (const char* name : {"m_ctx.onnx", "m_recorder_a.bin"})
    fs::create_symlink(fs::path("../blobs") / name, dir_ / "snapshot" / name);
  core::Reseal(dir_ / "snapshot/m_ctx.onnx");
  EXPECT_TRUE(fs::is_symlink(dir_ / "snapshot/m_ctx.onnx"));
  EXPECT_EQ(
      FailureOf([&] { Session session(*environment_, dir_ / "snapshot/m_ctx.onnx", OptionsFor({"recorder_a"})); }),
      "OK");
}

// A record under another name counts as missing. Without a record, nothing would be compared.
TEST_F(Review, APayloadWithoutARecordAmongRecordsIsRefused) {
  Compile("a.onnx");
  onnx::ModelProto model = ParseProtoFile(dir_ / "a_ctx.onnx");
  fs::copy_file(dir_ / "a_recorder_a.bin", dir_ / "other.bin");
  SetText(model.mutable_graph()->mutable_node(0), "ep_cache_context", "other.bin");
  dir_.Write("a_ctx.onnx", model.SerializeAsString());
  core::Reseal(dir_ / "a_ctx.onnx");
  EXPECT_THAT(FailureOf([&] { Session session(*environment_, dir_ / "a_ctx.onnx", OptionsFor({"recorder_a"})); }),
              AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("other.bin"), HasSubstr("records")));
  SessionOptions header = OptionsFor({"recorder_a"});
  header.Set("ep.context_verify", "header");
  EXPECT_EQ(FailureOf([&] { Session session(*environment_, dir_ / "a_ctx.onnx", header); }), "OK");
}

TEST_F(Review, AModelWithTheSameEntryTwiceIsRefusedOrKeepsTheFirst) {
  Compile("a.onnx");
  std::string bytes = ReadFile(dir_ / "a_ctx.onnx");
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"epiphyte.context.version", "1"},
                                   {"epiphyte.context.seal", std::string(32, '0')},
                                   {"epiphyte.context.seal", ""}}) {
    dir_.Write("a_ctx.onnx", bytes + core::MetadataEntry(key, value));
    EXPECT_THAT(FailureOf([&] { Session session(*environment_, dir_ / "a_ctx.onnx", OptionsFor({"recorder_a"})); }),
                AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("seal")));
  }
}

TEST_F(Review, CutAnywhereAModelIsRefused) {
  Compile("a.onnx");
  const std::string bytes = ReadFile(dir_ / "a_ctx.onnx");
  for (size_t size = 0; size < bytes.size(); ++size) {
    dir_.Write("a_ctx.onnx", bytes.substr(0, size));
    EXPECT_THAT(FailureOf([&] { Session session(*environment_, dir_ / "a_ctx.onnx", OptionsFor({"recorder_a"})); }),
                testing::AnyOf(testing::StartsWith("INVALID_GRAPH"), testing::StartsWith("INVALID_PROTOBUF")))
        << size;
  }
}

TEST_F(Review, RelativePathsWithoutAFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(dir_.path());
  dir_.Write("mødel ⚡.onnx", Plain("a"));
  SessionOptions compile = OptionsFor({"recorder_a"});
  compile.Set("ep.context_enable", "1");
  const std::string failure = FailureOf([&] {
    { Session session(*environment_, "mødel ⚡.onnx", compile); }
    Session loaded(*environment_, "mødel ⚡_ctx.onnx", OptionsFor({"recorder_a"}));
    core::MergeOptions merge;
    merge.models = {"mødel ⚡_ctx.onnx", "mødel ⚡.onnx"};
    merge.output = "merged.onnx";
    core::MergeContextModels(merge, environment_->catalog());
    Session merged(*environment_, "merged.onnx", OptionsFor({"recorder_a"}));
    core::Reseal("merged.onnx");
  });
  fs::current_path(before);
  EXPECT_EQ(failure, "OK");
  EXPECT_THAT(FilesIn(dir_.path()), testing::SizeIs(4));
}

TEST_F(Review, RecordsAreReadAsTheyWereWritten) {
  for (const char* version : {"1.0", "1.0 beta  2", " ", ""}) {
    SCOPED_TRACE(version);
    core::PayloadRecord record{{91, std::string(32, 'a'), "my file.bin"}, "npu", version};
    std::map<std::string, std::string> metadata;
    core::WritePayloadRecords({record}, &metadata);
    const std::vector<core::PayloadRecord> read = core::ReadPayloadRecords(metadata);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].size, record.size);
    EXPECT_EQ(read[0].xxh128, record.xxh128);
    EXPECT_EQ(read[0].provider, record.provider);
    EXPECT_EQ(read[0].file, record.file);
  }
}

}  // namespace
}  // namespace epiphyte::test
