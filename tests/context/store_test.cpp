// Contexts in an application's store: only the files that the application wants are on disk, damage is found as in
// files, and a store that fails leaves nothing incomplete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "core/base/error.h"
#include "core/context/compatibility.h"
#include "core/context/context_loader.h"
#include "core/context/context_model.h"
#include "core/context/context_store.h"
#include "core/context/merge.h"
#include "core/context/recorded_bytes.h"
#include "core/context/reseal.h"
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
using core::ContextStore;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A store that keeps everything in memory. A test can make its n-th call fail.
class MemoryStore : public ContextStore {
 public:
  explicit MemoryStore(bool stores_model = false) : stores_model_(stores_model) {}

  bool StoresModel() const override { return stores_model_; }
  // Returns the bytes that Open last returned for that name.
  std::weak_ptr<char> BytesOf(const std::string& name) const { return last_of_.at(name); }
  // Returns how often the file was opened.
  size_t OpenedCount(const std::string& name) const { return opened_.contains(name) ? opened_.at(name) : 0; }
  bool Exists(const std::string& name) override {
    Step("Exists");
    return files_.contains(name);
  }
  std::unique_ptr<Writer> Create(const std::string& name) override {
    Step("Create");
    return std::make_unique<MemoryWriter>(this, name);
  }
  Bytes Open(const std::string& name) override {
    Step("Open");
    ++opened_[name];
    auto found = files_.find(name);
    if (found == files_.end()) throw core::Error(core::StatusCode::kNoSuchFile, "the store has no '" + name + "'");
    // The bytes have the alignment that plugins require. With ShiftBy they have not, and the host must copy them.
    const std::string& bytes = found->second;
    std::shared_ptr<char> copy(static_cast<char*>(::operator new(bytes.size() + 64, std::align_val_t(64))),
                               [](char* memory) { ::operator delete(memory, std::align_val_t(64)); });
    std::copy(bytes.begin(), bytes.end(), copy.get() + shift_);
    handed_out_.push_back(copy);
    last_of_[name] = copy;
    return {copy.get() + shift_, bytes.size(), copy};
  }

  std::map<std::string, std::string>& files() { return files_; }
  const std::vector<std::string>& committed() const { return committed_; }
  size_t open_writers() const { return open_writers_; }
  size_t steps() const { return steps_; }
  // Sets the offset in bytes by which the results of Open are misaligned.
  void ShiftBy(size_t bytes) { shift_ = bytes; }
  // Makes the call with that number fail, once.
  void FailAt(size_t step) { fail_at_ = step, steps_ = 0; }
  // Number of byte buffers from Open that are still referenced.
  size_t held() const {
    return static_cast<size_t>(
        std::count_if(handed_out_.begin(), handed_out_.end(), [](const auto& bytes) { return !bytes.expired(); }));
  }

 private:
  class MemoryWriter : public Writer {
   public:
    MemoryWriter(MemoryStore* store, std::string name) : store_(store), name_(std::move(name)) {
      ++store_->open_writers_;
    }
    ~MemoryWriter() override { --store_->open_writers_; }
    void Write(const void* data, uint64_t size) override {
      store_->Step("Write");
      bytes_.append(static_cast<const char*>(data), size);
    }
    void Commit() override {
      store_->Step("Commit");
      store_->files_[name_] = bytes_;
      store_->committed_.push_back(name_);
    }

   private:
    MemoryStore* store_;
    std::string name_;
    std::string bytes_;
  };

  void Step(const char* call) {
    if (++steps_ == fail_at_) {
      throw core::Error(core::StatusCode::kFail, std::string("the store is out of order in ") + call);
    }
  }

  const bool stores_model_;
  std::map<std::string, std::string> files_;
  std::map<std::string, size_t> opened_;
  std::map<std::string, std::weak_ptr<char>> last_of_;
  std::vector<std::string> committed_;
  std::vector<std::weak_ptr<char>> handed_out_;
  size_t shift_ = 0;
  size_t open_writers_ = 0;
  size_t steps_ = 0;
  size_t fail_at_ = 0;
};

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 2] x) => (float[N, 2] y) {
    w = Constant <value = float[2] {2, -3}> ()
    m = Constant <value = float[2, 2] {1, 2, 3, 4}> ()
    a = Mul(x, w) b = MatMul(a, m) y = Abs(b)
  })";

class StoreTest : public testing::Test {
 protected:
  StoreTest() : bytes_(OnnxFromText(kModel)) {
    Session session(*environment_, bytes_.data(), bytes_.size(), OptionsFor({"recorder_a"}));
    expected_ = Run(session);
  }

  SessionOptions Options(std::shared_ptr<ContextStore> store) const {
    SessionOptions options = OptionsFor({"recorder_a"});
    options.context_store = std::move(store);
    return options;
  }
  SessionOptions Compiling(std::shared_ptr<ContextStore> store) const {
    SessionOptions options = Options(std::move(store));
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_file_path", (dir_ / "model_ctx.onnx").string());
    options.Set("ep.context_model_external_initializers_file_name", "plain.data");
    return options;
  }
  void Compile(const SessionOptions& options) { Session session(*environment_, bytes_.data(), bytes_.size(), options); }
  static std::vector<float> Run(Session& session) { return RunOn(session, {2, 2}, {1, -2, 3, 0.25}); }
  std::vector<float> LoadFile(const SessionOptions& options) {
    Session session(*environment_, dir_ / "model_ctx.onnx", options);
    return Run(session);
  }
  std::vector<float> LoadBytes(std::string bytes, const SessionOptions& options) {
    Session session(*environment_, bytes.data(), bytes.size(), options);
    bytes.assign(bytes.size(), '?');
    return Run(session);
  }

  TempDir dir_;
  TempDir other_;
  std::unique_ptr<core::Environment> environment_ = RecordingEnvironment();
  std::string bytes_;
  std::vector<float> expected_;
};

TEST_F(StoreTest, PayloadAndInitializersGoThroughTheStore) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre("model_ctx.onnx"));
  EXPECT_THAT(store->committed(), ElementsAre("model_recorder_a.bin", "plain.data"));
  EXPECT_EQ(store->open_writers(), 0u);
  EXPECT_TRUE(store->files()["model_recorder_a.bin"].starts_with("RecorderA\n"));
  EXPECT_EQ(LoadFile(Options(store)), expected_);
  EXPECT_EQ(store->held(), 0u) << "released with the session";
}

TEST_F(StoreTest, WithoutTheStoreTheFilesAreMissed) {
  Compile(Compiling(std::make_shared<MemoryStore>()));
  EXPECT_NE(FailureOf([&] { LoadFile(OptionsFor({"recorder_a"})); }), "OK");
  auto empty = std::make_shared<MemoryStore>();
  EXPECT_THAT(FailureOf([&] { LoadFile(Options(empty)); }), HasSubstr("the store has no"));
}

TEST_F(StoreTest, TheModelTooWhenTheStoreTakesIt) {
  auto store = std::make_shared<MemoryStore>(true);
  Compile(Compiling(store));
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre());
  EXPECT_THAT(store->committed(), ElementsAre("model_recorder_a.bin", "plain.data", "model_ctx.onnx"));
  std::string context = store->files()["model_ctx.onnx"];
  EXPECT_EQ(LoadBytes(context, Options(store)), expected_);
}

TEST_F(StoreTest, WhatIsInTheStoreIsVerifiedAndJudgedThere) {
  for (const bool stores_model : {false, true}) {
    auto store = std::make_shared<MemoryStore>(stores_model);
    Compile(Compiling(store));
    const fs::path model = dir_ / "model_ctx.onnx";
    const auto verify = [&] { return core::VerifyContextModel(model, environment_->catalog(), store); };
    const core::VerifyReport sound = verify();
    for (const core::VerifyProblem& problem : sound.problems) ADD_FAILURE() << problem.text;
    EXPECT_EQ(sound.seal, core::SealState::kIntact);
    EXPECT_EQ(sound.payloads.size(), 2u) << "the payload and the initializers";
    for (const char* name : {"model_recorder_a.bin", "plain.data"}) {
      std::string& bytes = store->files()[name];
      bytes.back() ^= 1;
      std::string problems;
      for (const core::VerifyProblem& problem : verify().problems) problems += problem.text + "\n";
      EXPECT_THAT(problems, AllOf(HasSubstr(name), HasSubstr("it was replaced or damaged")));
      bytes.back() ^= 1;
    }
    if (!stores_model) {
      core::ReadOptions options = core::CheckedReading({.what = "the model", .store = store});
      options.infer = false;
      core::Model read = core::ReadModelFile(model, options);
      const auto judge = [&](const std::shared_ptr<ContextStore>& where) {
        return core::CheckContexts(read, model, environment_->catalog(), /*with_payloads=*/true, where).verdict;
      };
      EXPECT_EQ(judge(store), core::ContextVerdict::kOptimal);
      EXPECT_EQ(judge(nullptr), core::ContextVerdict::kUnsupported) << "there is no such file";
    }
    fs::remove(model);
  }
}

TEST_F(StoreTest, AStoredModelNeedsAName) {
  auto store = std::make_shared<MemoryStore>(true);
  SessionOptions options = Compiling(store);
  options.Set("ep.context_file_path", "");
  EXPECT_THAT(FailureOf([&] { Compile(options); }),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("ep.context_file_path")));
  // The folder of the path need not exist if no file is written to it.
  options.Set("ep.context_file_path", "no/such/folder/model_ctx.onnx");
  Compile(options);
  EXPECT_TRUE(store->files().contains("model_ctx.onnx"));
}

TEST_F(StoreTest, EmbeddedPayloadsStayInTheModel) {
  auto store = std::make_shared<MemoryStore>();
  SessionOptions options = Compiling(store);
  options.Set("ep.context_embed_mode", "1");
  Compile(options);
  EXPECT_THAT(store->committed(), ElementsAre("plain.data"));
  EXPECT_EQ(LoadFile(Options(store)), expected_);
}

TEST_F(StoreTest, BytesThatAreNotAlignedAreCopiedForPluginsAndLetGo) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  store->ShiftBy(1);
  Session session(*environment_, dir_ / "model_ctx.onnx", Options(store));
  EXPECT_LT(store->held(), store->committed().size()) << "the payload was copied";
  EXPECT_EQ(Run(session), expected_);
}

TEST_F(StoreTest, PayloadsWithinTheModelAreAlignedForPlugins) {
  auto store = std::make_shared<MemoryStore>();
  SessionOptions options = Compiling(store);
  options.Set("ep.context_embed_mode", "1");
  options.Set("ep.context_model_external_initializers_file_name", "");
  Compile(options);
  core::Model model = core::ReadModelFile(dir_ / "model_ctx.onnx", {});
  core::PayloadAccess access;
  access.model = dir_ / "model_ctx.onnx";
  access.digests = core::PayloadAccess::kNone;
  const core::ContextBinding binding(core::FindContextNodes(*model.graph), core::OwnersIn(environment_->catalog()));
  ASSERT_FALSE(binding.nodes().empty());
  const core::ContextBatch batch = core::LoadPayloads(binding, binding.nodes()[0].owner, access, model.metadata);
  ASSERT_EQ(batch.blobs.size(), 1u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.blobs[0].data) % 64, 0u);
  const core::ContextBlob within = binding.nodes()[0].attributes.embedded;
  ASSERT_EQ(within.size, batch.blobs[0].size);
  EXPECT_EQ(std::memcmp(within.data, batch.blobs[0].data, within.size), 0);
}

TEST_F(StoreTest, TheBytesAreKeptAsLongAsTheSession) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  {
    Session session(*environment_, dir_ / "model_ctx.onnx", Options(store));
    EXPECT_GE(store->held(), 1u);
    store->files().clear();
    EXPECT_EQ(Run(session), expected_);
  }
  EXPECT_EQ(store->held(), 0u);
}

TEST_F(StoreTest, TheStoreLivesAsLongAsItsBytesAreUsed) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  std::optional<SessionOptions> options = Options(std::move(store));
  Session session(*environment_, dir_ / "model_ctx.onnx", *options);
  options.reset();
  EXPECT_EQ(Run(session), expected_);
}

TEST_F(StoreTest, DamageIsFoundAsInFiles) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  const auto good = store->files();
  for (const char* name : {"model_recorder_a.bin", "plain.data"}) {
    SCOPED_TRACE(name);
    std::string& bytes = store->files()[name];
    for (size_t at = 0; at < bytes.size(); at += std::max<size_t>(1, bytes.size() / 23)) {
      bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
      EXPECT_THAT(FailureOf([&] { LoadFile(Options(store)); }),
                  AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr(name), HasSubstr("digest")))
          << at;
      bytes = good.at(name);
    }
    SessionOptions header = Options(store);
    header.Set("ep.context_verify", "header");
    for (std::string other : {good.at(name).substr(1), good.at(name) + "x", std::string()}) {
      bytes = other;
      EXPECT_THAT(FailureOf([&] { LoadFile(Options(store)); }), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr(name)));
      EXPECT_THAT(FailureOf([&] { LoadFile(header); }), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr(name)));
    }
    bytes = good.at(name);
  }
  EXPECT_EQ(LoadFile(Options(store)), expected_);
  std::swap(store->files()["model_recorder_a.bin"], store->files()["plain.data"]);
  EXPECT_THAT(FailureOf([&] { LoadFile(Options(store)); }), HasSubstr("INVALID_GRAPH"));
}

// Each call of the store fails once. Whatever has been committed by then, no model refers to a missing file.
TEST_F(StoreTest, AStoreThatFailsWhileWritingLeavesNoModel) {
  for (bool stores_model : {false, true}) {
    SCOPED_TRACE(stores_model);
    size_t failures = 0;
    for (size_t step = 1;; ++step) {
      auto store = std::make_shared<MemoryStore>(stores_model);
      store->FailAt(step);
      std::string failure = FailureOf([&] { Compile(Compiling(store)); });
      EXPECT_EQ(store->open_writers(), 0u) << step;
      if (failure == "OK") {
        EXPECT_LT(store->steps(), step);
        EXPECT_EQ(store->files().contains("model_ctx.onnx"), stores_model);
        break;
      }
      ++failures;
      EXPECT_THAT(failure, HasSubstr("the store is out of order")) << step;
      EXPECT_FALSE(store->files().contains("model_ctx.onnx")) << step;
      EXPECT_THAT(FilesIn(dir_.path()), ElementsAre()) << step;
      // Files of a failed attempt do not prevent another attempt.
      store->FailAt(0);
      EXPECT_EQ(FailureOf([&] { Compile(Compiling(store)); }), "OK") << step;
      fs::remove(dir_ / "model_ctx.onnx");
    }
    EXPECT_GE(failures, 6u);
    fs::remove(dir_ / "model_ctx.onnx");
  }
}

TEST_F(StoreTest, AStoreThatFailsWhileReadingGivesItsReason) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  for (size_t step = 1;; ++step) {
    store->FailAt(step);
    std::string failure = FailureOf([&] { LoadFile(Options(store)); });
    if (failure == "OK") {
      EXPECT_GT(step, 2u);
      break;
    }
    EXPECT_THAT(failure, AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("the store is out of order in Open"))) << step;
    EXPECT_EQ(store->held(), 0u);
  }
}

TEST_F(StoreTest, WhatExistsIsReplacedOnlyOnRequest) {
  for (const char* name : {"model_recorder_a.bin", "plain.data", "model_ctx.onnx"}) {
    SCOPED_TRACE(name);
    auto store = std::make_shared<MemoryStore>(true);
    store->files()[name] = "somebody's";
    SessionOptions options = Compiling(store);
    EXPECT_THAT(FailureOf([&] { Compile(options); }),
                AllOf(testing::StartsWith("FAIL"), HasSubstr(name), HasSubstr("exists already")));
    EXPECT_THAT(store->files(), ElementsAre(testing::Pair(name, "somebody's")));
    options.Set("epiphyte.context_overwrite", "1");
    Compile(options);
    EXPECT_EQ(LoadBytes(store->files()["model_ctx.onnx"], Options(store)), expected_);
  }
}

// A name that the file system refuses is no valid name for a store either.
TEST_F(StoreTest, NamesFromAModelAreCheckedBeforeTheStoreSeesThem) {
  auto store = std::make_shared<MemoryStore>(true);
  SessionOptions options = Compiling(store);
  options.Set("ep.context_model_external_initializers_file_name", "");
  Compile(options);
  const std::string payload = store->files()["model_recorder_a.bin"];
  for (const char* name : {"../model_recorder_a.bin", "/etc/model_recorder_a.bin", "a/../../b.bin", ""}) {
    onnx::ModelProto model = ParseProto(store->files()["model_ctx.onnx"]);
    ForgetRecords(&model);
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
      if (node.op_type() == "EPContext") SetText(&node, "ep_cache_context", name);
    }
    store->files()[name] = payload;
    store->FailAt(0);
    EXPECT_THAT(FailureOf([&] { LoadBytes(model.SerializeAsString(), Options(store)); }), HasSubstr("INVALID_GRAPH"))
        << name;
    EXPECT_EQ(store->steps(), 0u) << name;
  }
}

TEST_F(StoreTest, AShareGroupInAStore) {
  auto store = std::make_shared<MemoryStore>(true);
  for (int n : {1, 2}) {
    SessionOptions options = Compiling(store);
    options.Set("ep.share_ep_contexts", "1");
    if (n == 2) options.Set("ep.stop_share_ep_contexts", "1");
    options.Set("ep.context_file_path", "m" + std::to_string(n) + "_ctx.onnx");
    options.Set("ep.context_node_name_prefix", "m" + std::to_string(n) + "_");
    options.Set("ep.context_model_external_initializers_file_name", "m" + std::to_string(n) + ".data");
    Compile(options);
    if (n == 1) {
      EXPECT_THAT(store->committed(), ElementsAre());
    }
  }
  EXPECT_THAT(store->committed(), ElementsAre("m1_recorder_a.bin", "m1.data", "m2.data", "m1_ctx.onnx", "m2_ctx.onnx"));
  SessionOptions loading = Options(store);
  loading.Set("ep.share_ep_contexts", "1");
  for (int n : {1, 2}) EXPECT_EQ(LoadBytes(store->files()["m" + std::to_string(n) + "_ctx.onnx"], loading), expected_);
  EXPECT_EQ(store->held(), 0u);
}

TEST_F(StoreTest, AShareGroupOpensAStoredPayloadOnce) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  Ledger ledger(other_ / "ledger");
  for (const size_t shift : {0, 4}) {
    for (const bool verified : {true, false}) {
      SCOPED_TRACE(fmt::format("shifted by {}, {}", shift, verified ? "verified" : "not verified"));
      store->ShiftBy(shift);
      SessionOptions loading = Options(store);
      loading.provider_options["recorder_a"]["ledger"] = ledger.path();
      loading.Set("ep.share_ep_contexts", "1");
      loading.Set("ep.context_verify", verified ? "full" : "header");
      const size_t opened = store->OpenedCount("model_recorder_a.bin");
      const size_t parsed = ledger.Count("parse");
      std::vector<std::unique_ptr<Session>> sessions;
      for (int i = 0; i < 3; ++i) {
        sessions.push_back(std::make_unique<Session>(*environment_, dir_ / "model_ctx.onnx", loading));
        EXPECT_EQ(Run(*sessions.back()), expected_);
      }
      EXPECT_EQ(store->OpenedCount("model_recorder_a.bin"), opened + 1);
      EXPECT_EQ(ledger.Count("parse"), parsed + 1);
      sessions.erase(sessions.begin());
      for (const auto& session : sessions) EXPECT_EQ(Run(*session), expected_);
      sessions.clear();
      EXPECT_EQ(store->held(), 0u);
    }
  }
}

// The record distinguishes successive payloads of one name. A payload that was refused is opened again.
TEST_F(StoreTest, AShareGroupOpensAReplacedOrRepairedPayloadAgain) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  const std::string good = store->files()["model_recorder_a.bin"];
  SessionOptions loading = Options(store);
  loading.Set("ep.share_ep_contexts", "1");
  // A session without a context keeps the group alive.
  Session keeper(*environment_, bytes_.data(), bytes_.size(), loading);
  store->files()["model_recorder_a.bin"].back() ^= 1;
  EXPECT_THAT(FailureOf([&] { LoadFile(loading); }), HasSubstr("has digest"));
  store->files()["model_recorder_a.bin"] = good;
  Session first(*environment_, dir_ / "model_ctx.onnx", loading);
  EXPECT_EQ(Run(first), expected_);

  std::string other_model = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 2] x) => (float[N, 2] y) { a = Neg(x) y = Abs(a) })");
  SessionOptions compiling = Compiling(store);
  compiling.Set("ep.context_file_path", (other_ / "model_ctx.onnx").string());
  compiling.Set("epiphyte.context_overwrite", "1");
  { Session session(*environment_, other_model.data(), other_model.size(), compiling); }
  ASSERT_NE(store->files()["model_recorder_a.bin"], good);
  Session second(*environment_, other_ / "model_ctx.onnx", loading);
  EXPECT_EQ(Run(second), (std::vector<float>{1, 2, 3, 0.25}));
  EXPECT_EQ(Run(first), expected_);
}

// An entry of one application's store says nothing about the entry of that name in another store.
TEST_F(StoreTest, TwoStoresInAShareGroupHaveNothingInCommon) {
  std::shared_ptr<MemoryStore> stores[] = {std::make_shared<MemoryStore>(), std::make_shared<MemoryStore>()};
  Compile(Compiling(stores[0]));
  stores[1]->files() = stores[0]->files();
  stores[1]->files()["model_recorder_a.bin"].back() ^= 1;
  SessionOptions loading = Options(stores[0]);
  loading.Set("ep.share_ep_contexts", "1");
  Session first(*environment_, dir_ / "model_ctx.onnx", loading);
  loading.context_store = stores[1];
  EXPECT_THAT(FailureOf([&] { LoadFile(loading); }), HasSubstr("has digest"));
}

TEST_F(StoreTest, APayloadIsKeptUntilTheLastProviderOfItsShareGroupHasGone) {
  auto store = std::make_shared<MemoryStore>();
  Compile(Compiling(store));
  SessionOptions other = Compiling(store);
  other.Set("ep.context_file_path", (other_ / "other_ctx.onnx").string());
  other.Set("ep.context_model_external_initializers_file_name", "other.data");
  Compile(other);
  SessionOptions loading = Options(store);
  loading.Set("ep.share_ep_contexts", "1");
  auto first = std::make_unique<Session>(*environment_, dir_ / "model_ctx.onnx", loading);
  auto second = std::make_unique<Session>(*environment_, other_ / "other_ctx.onnx", loading);
  const std::weak_ptr<char> payload = store->BytesOf("model_recorder_a.bin");
  first.reset();
  EXPECT_FALSE(payload.expired()) << "the workspace of the group may view it";
  EXPECT_EQ(Run(*second), expected_);
  second.reset();
  EXPECT_TRUE(payload.expired());
  EXPECT_EQ(store->held(), 0u);
}

TEST_F(StoreTest, AShareGroupKeepsAnEmbeddedPayloadOnce) {
  SessionOptions compiling = Compiling(nullptr);
  compiling.Set("ep.context_embed_mode", "1");
  compiling.Set("ep.context_model_external_initializers_file_name", "");
  Compile(compiling);
  const std::string model = ReadFile(dir_ / "model_ctx.onnx");
  Ledger ledger(other_ / "ledger");
  SessionOptions loading = Options(nullptr);
  loading.provider_options["recorder_a"]["ledger"] = ledger.path();
  loading.Set("ep.share_ep_contexts", "1");
  loading.Set("ep.context_file_path", (dir_ / "model_ctx.onnx").string());
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i) {
    // The model comes from the file, or from memory that is gone afterwards.
    std::string bytes = std::string(static_cast<size_t>(i), ' ') + model;
    sessions.push_back(i % 2 == 0 ? std::make_unique<Session>(*environment_, dir_ / "model_ctx.onnx", loading)
                                  : std::make_unique<Session>(*environment_, bytes.data() + i, model.size(), loading));
    bytes.assign(bytes.size(), '?');
    EXPECT_EQ(Run(*sessions.back()), expected_);
  }
  EXPECT_EQ(ledger.Count("parse"), 1u);
  EXPECT_EQ(ledger.Count("hand over"), 3u);
  while (!sessions.empty()) {
    for (const auto& session : sessions) EXPECT_EQ(Run(*session), expected_);
    sessions.erase(sessions.begin());
  }
}

// Covers models in files with payloads in the store, and models in the store.
TEST_F(StoreTest, AModelIsSealedAgainWhereItIs) {
  for (const bool stores_model : {false, true}) {
    SCOPED_TRACE(stores_model);
    auto store = std::make_shared<MemoryStore>(stores_model);
    Compile(Compiling(store));
    const fs::path path = dir_ / "model_ctx.onnx";
    onnx::ModelProto model = ParseProto(stores_model ? store->files().at("model_ctx.onnx") : ReadFile(path));
    model.mutable_graph()->set_doc_string("changed by hand");
    auto* entries = model.mutable_metadata_props();
    for (int i = entries->size(); i-- > 0;) {
      if (core::IsSealKey(entries->Get(i).key())) entries->DeleteSubrange(i, 1);
    }
    const std::string changed = model.SerializeAsString();
    if (stores_model) {
      store->files()["model_ctx.onnx"] = changed;
    } else {
      dir_.Write("model_ctx.onnx", changed);
    }
    const auto load = [&] {
      return stores_model ? LoadBytes(store->files().at("model_ctx.onnx"), Options(store)) : LoadFile(Options(store));
    };
    EXPECT_THAT(FailureOf(load), AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("epiphyte verify --reseal")));
    EXPECT_EQ(core::ResealContextModel(path, environment_->catalog(), store), core::SealState::kNone);
    EXPECT_EQ(load(), expected_);
    fs::remove(path);
  }
}

// Merging publishes into the store, too.
TEST_F(StoreTest, ModelsInAStoreAreMergedThere) {
  auto store = std::make_shared<MemoryStore>(true);
  for (const char* name : {"one", "two"}) {
    SessionOptions options = Compiling(store);
    options.Set("ep.context_file_path", fmt::format("{}_ctx.onnx", name));
    options.Set("ep.context_model_external_initializers_file_name", fmt::format("{}.data", name));
    Compile(options);
  }
  core::MergeOptions merge;
  merge.models = {"one_ctx.onnx", "two_ctx.onnx"};
  merge.connections = {"one.y=two.x"};
  merge.output = "both_ctx.onnx";
  merge.external_initializers = "both.data";
  merge.store = store;
  const size_t before = store->committed().size();
  const core::MergeResult result = core::MergeContextModels(merge, environment_->catalog());
  EXPECT_THAT(std::vector(store->committed().begin() + static_cast<ptrdiff_t>(before), store->committed().end()),
              ElementsAre("both.data", "both_ctx.onnx"));
  EXPECT_THAT(result.referenced, testing::UnorderedElementsAre("one_recorder_a.bin", "two_recorder_a.bin"));
  EXPECT_THAT(FilesIn(dir_.path()), ElementsAre());

  const std::string one = store->files()["one_ctx.onnx"];
  Session first(*environment_, one.data(), one.size(), Options(store));
  const std::string both = store->files()["both_ctx.onnx"];
  Session session(*environment_, both.data(), both.size(), Options(store));
  EXPECT_EQ(Run(session), RunOn(first, {2, 2}, Run(first)));

  EXPECT_EQ(FailureOf([&] { core::MergeContextModels(merge, environment_->catalog()); }), "OK")
      << "the same bytes count as done";
  store->files()["both.data"] = "somebody's";
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(merge, environment_->catalog()); }),
              AllOf(testing::StartsWith("FAIL"), HasSubstr("both.data"), HasSubstr("exists already")));
  store->files()["one_recorder_a.bin"].back() ^= 1;
  EXPECT_THAT(FailureOf([&] { core::MergeContextModels(merge, environment_->catalog()); }),
              AllOf(testing::StartsWith("INVALID_GRAPH"), HasSubstr("one_recorder_a.bin"), HasSubstr("has digest")));
}

}  // namespace
}  // namespace epiphyte::test
