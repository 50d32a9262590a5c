// The context cache: compiled on first use, loaded ever after, never a wrong number, whatever happens to the folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "core/onnx/model_reader.h"
#include "core/onnx/model_writer.h"
#include "core/runtime/context_cache_folder.h"
#include "core/runtime/context_cache_lock.h"
#include "core/runtime/session.h"
#include "tests/framework/clerks.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::CacheFolder;
using core::Session;
using core::SessionOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 2] y)
  <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {0.5, -0.5}> {
    product = MatMul(x, w)
    biased = Add(product, b)
    y = Relu(biased)
  })";

const std::vector<float> kInput = {1, -2, 3, 0.25, 5, -6};

class ContextCacheTest : public testing::Test {
 protected:
  ContextCacheTest() : model_(dir_.Write("model.onnx", OnnxFromText(kModel))), cache_(dir_ / "cache") {}

  SessionOptions Options() const {
    SessionOptions options = OptionsFor({});
    options.Set("session.context_cache_dir", cache_.string());
    return options;
  }

  struct Use {
    bool cached = false;
    std::vector<float> numbers;
  };
  Use Run(Session& session) {
    EXPECT_EQ(session.context_output(), nullptr) << "what the cache writes is not the application's";
    return {session.has_context(), RunOn(session, {2, 3}, kInput)};
  }
  Use UseModel(const SessionOptions& options) {
    Session session(*environment_, model_, options);
    return Run(session);
  }
  Use UseModel() { return UseModel(Options()); }
  std::vector<float> Uncached() {
    Session session(*environment_, model_, OptionsFor({}));
    return RunOn(session, {2, 3}, kInput);
  }

  std::vector<CacheFolder::Entry> Entries(bool verify = true) const { return CacheFolder(cache_).List(verify); }
  CacheFolder::Entry OnlyEntry() const {
    auto entries = Entries();
    EXPECT_EQ(entries.size(), 1u);
    if (entries.empty()) return {};
    EXPECT_EQ(entries[0].problem, "");
    return entries[0];
  }
  // Whatever isn't an entry.
  std::vector<std::string> Leftovers() const {
    std::vector<std::string> names;
    for (const std::string& file : FilesIn(cache_)) {
      if (file.size() < 3 + 64 + 1 || file[2] != '/' || file[3 + 64] != '/') names.push_back(file);
    }
    for (const auto& item : fs::directory_iterator(cache_)) {
      if (item.path().filename().string().starts_with("tmp-")) names.push_back(item.path().filename());
    }
    return names;
  }

  // The model again, with its weights in `weights.bin` beside it.
  void MakeExternal() {
    core::Model model = core::ReadModelFile(model_, {});
    std::string onnx, weights;
    core::WriteOptions options;
    options.external_file_name = "weights.bin";
    options.external_sink = [&](const void* data, uint64_t size) {
      weights.append(static_cast<const char*>(data), size);
    };
    core::WriteModel(model, options,
                     [&](const void* data, uint64_t size) { onnx.append(static_cast<const char*>(data), size); });
    ASSERT_FALSE(weights.empty());
    dir_.Write("model.onnx", onnx);
    dir_.Write("weights.bin", weights);
  }

  TempDir dir_;
  fs::path model_;
  fs::path cache_;
  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

void SetAge(const fs::path& file, int hours) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST_F(ContextCacheTest, TheFirstUseCompilesTheSecondLoads) {
  const std::vector<float> expected = Uncached();
  const Use first = UseModel();
  EXPECT_FALSE(first.cached);
  EXPECT_EQ(first.numbers, expected);
  const Use second = UseModel();
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.numbers, expected);

  const CacheFolder::Entry entry = OnlyEntry();
  EXPECT_EQ(entry.record.model, "model.onnx");
  EXPECT_THAT(entry.record.providers, ElementsAre(testing::StartsWith("cpu ")));
  EXPECT_GT(entry.size, 0u);
  EXPECT_THAT(FilesIn(entry.path), testing::IsSupersetOf({"entry.json", "model_ctx.onnx", "model_cpu.bin", "used"}));
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(ContextCacheTest, WithoutTheOptionNothingIsWritten) {
  Uncached();
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(ContextCacheTest, AMovedAndRenamedModelIsFound) {
  UseModel();
  fs::create_directory(dir_ / "elsewhere");
  fs::rename(model_, dir_ / "elsewhere/other.onnx");
  model_ = dir_ / "elsewhere/other.onnx";
  EXPECT_TRUE(UseModel().cached);
}

TEST_F(ContextCacheTest, AModelFromMemoryIsFoundLikeTheFile) {
  const std::string bytes = ReadFile(model_);
  auto use = [&] {
    Session session(*environment_, bytes.data(), bytes.size(), Options());
    return Run(session);
  };
  EXPECT_FALSE(use().cached);
  EXPECT_TRUE(use().cached);
  EXPECT_EQ(use().numbers, Uncached());
  EXPECT_TRUE(UseModel().cached) << "the same bytes are the same model";
  EXPECT_EQ(OnlyEntry().record.model, "");
}

TEST_F(ContextCacheTest, AChangedByteOfTheModelIsAnotherModel) {
  UseModel();
  std::string bytes = ReadFile(model_);
  const float old = 6, changed = 7;
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&old), sizeof old));
  ASSERT_NE(at, std::string::npos);
  const auto time = fs::last_write_time(model_);
  std::copy_n(reinterpret_cast<const char*>(&changed), sizeof changed, bytes.begin() + static_cast<ptrdiff_t>(at));
  dir_.Write("model.onnx", bytes);
  fs::last_write_time(model_, time);
  const Use use = UseModel();
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, Uncached());
  EXPECT_EQ(Entries().size(), 2u);
}

TEST_F(ContextCacheTest, AChangedByteOfExternalDataIsSeenWithTheSameSizeAndTime) {
  MakeExternal();
  const std::vector<float> before = UseModel().numbers;
  EXPECT_TRUE(UseModel().cached);
  const auto time = fs::last_write_time(dir_ / "weights.bin");
  std::string weights = ReadFile(dir_ / "weights.bin");
  weights[3] = static_cast<char>(weights[3] ^ 0x40);
  dir_.Write("weights.bin", weights);
  fs::last_write_time(dir_ / "weights.bin", time);
  const Use use = UseModel();
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, Uncached());
  EXPECT_NE(use.numbers, before);
}

TEST_F(ContextCacheTest, ExternalDataInAnotherFolderAndAModelFromMemory) {
  MakeExternal();
  const std::vector<float> expected = Uncached();
  fs::create_directory(dir_ / "weights");
  fs::rename(dir_ / "weights.bin", dir_ / "weights/weights.bin");
  const std::string bytes = ReadFile(model_);
  SessionOptions options = Options();
  options.Set("session.model_external_initializers_file_folder_path", (dir_ / "weights").string());
  for (bool cached : {false, true}) {
    Session session(*environment_, bytes.data(), bytes.size(), options);
    const Use use = Run(session);
    EXPECT_EQ(use.cached, cached);
    EXPECT_EQ(use.numbers, expected);
  }
}

TEST_F(ContextCacheTest, WhatInfluencesCompilingMakesAnotherEntry) {
  const std::vector<float> expected = Uncached();
  std::vector<SessionOptions> variants(5, Options());
  variants[1].Set("epiphyte.graph_optimization_level", "0");
  variants[2].providers = {{"cpu", {}}};
  variants[3].providers = {{"cpu", {{"precision", "f32"}}}};
  variants[4].thread_count = 2;
  for (size_t i = 0; i < variants.size(); ++i) {
    EXPECT_FALSE(UseModel(variants[i]).cached) << i;
    EXPECT_EQ(Entries().size(), i + 1);
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    const Use use = UseModel(variants[i]);
    EXPECT_TRUE(use.cached) << i;
    EXPECT_EQ(use.numbers, expected) << i;
  }
}

TEST_F(ContextCacheTest, WhatDoesNotInfluenceCompilingDoesNot) {
  UseModel();
  SessionOptions options = Options();
  options.Set("session.disable_model_compile", "1");
  options.Set("ep.context_verify", "header");
  options.Set("session.context_cache_max_mb", "100");
  EXPECT_TRUE(UseModel(options).cached);
  EXPECT_EQ(Entries().size(), 1u);
}

TEST_F(ContextCacheTest, TheOrderOfProvidersMakesAnotherEntry) {
  environment_ = ClerkEnvironment();
  model_ = dir_.Write("chain.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { a = Neg(x) y = Abs(a) })"));
  SessionOptions one = Options(), other = Options();
  one.providers = {{"notary", {}}, {"scribe", {}}};
  other.providers = {{"scribe", {}}, {"notary", {}}};
  EXPECT_FALSE(UseModel(one).cached);
  EXPECT_FALSE(UseModel(other).cached);
  EXPECT_EQ(Entries().size(), 2u);
  EXPECT_TRUE(UseModel(one).cached);
  EXPECT_TRUE(UseModel(other).cached);
  EXPECT_EQ(UseModel(one).numbers, UseModel(other).numbers);
}

TEST_F(ContextCacheTest, TheFallbackProvidersPartIsCachedToo) {
  environment_ = ClerkEnvironment();
  const std::vector<float> expected = Uncached();
  SessionOptions options = Options();
  options.providers = {{"notary", {}}};  // takes Add and Relu, not MatMul
  EXPECT_FALSE(UseModel(options).cached);
  const Use use = UseModel(options);
  EXPECT_TRUE(use.cached);
  EXPECT_EQ(use.numbers, expected);
  EXPECT_THAT(FilesIn(OnlyEntry().path), testing::IsSupersetOf({"model_cpu.bin", "model_notary.bin"}));
}

// Each file of an entry, each kind of damage.
TEST_F(ContextCacheTest, ADamagedEntryIsCompiledAgainAndReplaced) {
  MakeExternal();
  const std::vector<float> expected = UseModel().numbers;
  const CacheFolder::Entry entry = OnlyEntry();
  size_t cases = 0;
  auto damage = [&](const std::string& what, const std::function<void()>& apply) {
    apply();
    const Use broken = UseModel();
    EXPECT_FALSE(broken.cached) << what;
    EXPECT_EQ(broken.numbers, expected) << what;
    const Use repaired = UseModel();
    EXPECT_TRUE(repaired.cached) << what;
    EXPECT_EQ(repaired.numbers, expected) << what;
    EXPECT_EQ(OnlyEntry().key, entry.key) << what;
    EXPECT_THAT(Leftovers(), IsEmpty()) << what;
    ++cases;
  };
  for (const std::string& name : FilesIn(entry.path)) {
    if (name == "used") continue;
    const fs::path file = entry.path / name;
    const std::string whole = ReadFile(file);
    damage(name + " deleted", [&] { fs::remove(file); });
    damage(name + " empty", [&] { fs::resize_file(file, 0); });
    damage(name + " truncated", [&] { fs::resize_file(file, whole.size() - 1); });
    for (const size_t at : {size_t{0}, whole.size() / 3, whole.size() / 2, whole.size() - 1}) {
      damage(name + " flipped at " + std::to_string(at), [&] {
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ 1);
        std::ofstream(file, std::ios::binary).write(flipped.data(), static_cast<std::streamsize>(flipped.size()));
      });
    }
  }
  EXPECT_GE(cases, 3 * 7u);
  damage("a file in its place", [&] {
    fs::remove_all(entry.path);
    std::ofstream(entry.path) << "no folder";
  });
  damage("an empty folder", [&] {
    fs::remove_all(entry.path);
    fs::create_directory(entry.path);
  });
}

TEST_F(ContextCacheTest, TheEntryOfAnotherModelInItsPlaceIsNotBelieved) {
  UseModel();
  const fs::path first = OnlyEntry().path;
  model_ = dir_.Write("other.onnx", OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) })"));
  const std::vector<float> expected = UseModel().numbers;
  for (const auto& entry : Entries()) {
    if (entry.path == first) continue;
    fs::remove_all(entry.path);
    fs::copy(first, entry.path);
  }
  const Use use = UseModel();
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, expected);
}

TEST_F(ContextCacheTest, AContextModelGoesPastTheCache) {
  SessionOptions compile = OptionsFor({"cpu"});
  compile.Set("ep.context_enable", "1");
  { Session session(*environment_, model_, compile); }
  model_ = dir_ / "model_ctx.onnx";
  EXPECT_TRUE(UseModel().cached);
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(ContextCacheTest, WhatExcludesTheCacheIsSaid) {
  for (const char* key : {"ep.context_enable", "ep.share_ep_contexts"}) {
    SessionOptions options = Options();
    options.Set(key, "1");
    EXPECT_THAT(FailureOf([&] { Session session(*environment_, model_, options); }),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("session.context_cache_dir"), HasSubstr(key)));
  }
}

TEST_F(ContextCacheTest, ModelsThatCanNotBeReadFailAsWithoutTheCache) {
  for (const std::string& bytes : {std::string(), std::string("no model"), ReadFile(model_).substr(0, 40)}) {
    dir_.Write("model.onnx", bytes);
    const std::string failure = FailureOf([&] { Uncached(); });
    EXPECT_NE(failure, "OK");
    EXPECT_EQ(FailureOf([&] { UseModel(); }), failure);
  }
  fs::remove(model_);
  EXPECT_THAT(FailureOf([&] { UseModel(); }), HasSubstr("NO_SUCHFILE"));
  EXPECT_THAT(Entries(), IsEmpty());
}

// A regular file where the folder should be stands for every folder that can't be written: it stops even root.
TEST_F(ContextCacheTest, AFolderThatCanNotBeWrittenIsNoFailure) {
  const std::vector<float> expected = Uncached();
  std::ofstream(cache_) << "in the way";
  testing::internal::CaptureStderr();
  const Use use = UseModel();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(use.cached);
  EXPECT_EQ(use.numbers, expected);
  EXPECT_THAT(log, HasSubstr("works without the context cache"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_F(ContextCacheTest, AReadOnlyCacheServesWhatItHas) {
  const std::vector<float> expected = UseModel().numbers;
  const fs::path entry = OnlyEntry().path;
  for (const fs::path& folder : {entry, entry.parent_path(), cache_}) fs::permissions(folder, fs::perms{0555});
  testing::internal::CaptureStderr();
  const Use use = UseModel();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (const fs::path& folder : {cache_, entry.parent_path(), entry}) fs::permissions(folder, fs::perms{0755});
  EXPECT_TRUE(use.cached);
  EXPECT_EQ(use.numbers, expected);
}

TEST_F(ContextCacheTest, TheLeastRecentlyUsedEntriesGoFirst) {
  std::vector<fs::path> paths;
  std::vector<SessionOptions> variants(3, Options());
  uint64_t size = 0;
  for (size_t i = 0; i < variants.size(); ++i) {
    variants[i].Set("ep.context_node_name_prefix", "p" + std::to_string(i));
    UseModel(variants[i]);
    for (const auto& entry : Entries()) {
      if (std::find(paths.begin(), paths.end(), entry.path) == paths.end()) paths.push_back(entry.path);
      size = std::max(size, entry.size);
    }
  }
  ASSERT_EQ(paths.size(), 3u);
  for (const fs::path& path : paths) {
    for (const std::string& file : FilesIn(path)) SetAge(path / file, 10);
  }
  EXPECT_TRUE(UseModel(variants[0]).cached) << "which makes it the newest";
  SetAge(paths[1] / "used", 3);

  EXPECT_THAT(CacheFolder(cache_).Collect(0).evicted, IsEmpty()) << "no limit";
  const auto removed = CacheFolder(cache_).Collect(2 * size + 64);
  ASSERT_EQ(removed.evicted.size(), 1u);
  EXPECT_EQ(removed.evicted[0].path, paths[2]);
  EXPECT_FALSE(fs::exists(paths[2]));
  EXPECT_EQ(CacheFolder(cache_).Collect(size + 64).evicted.at(0).path, paths[1]);
  EXPECT_TRUE(UseModel(variants[0]).cached);
}

TEST_F(ContextCacheTest, ASessionKeepsTheLimit) {
  std::string weights = "1";
  for (int i = 1; i < 300000; ++i) weights += ",1";
  model_ = dir_.Write("big.onnx", OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                               "g (float[2, 3] x) => (float[2, 100000] y)\n"
                                               "<float[3, 100000] w = {" + weights + "}> { y = MatMul(x, w) }"));
  SessionOptions options = Options();
  options.Set("session.context_cache_max_mb", "1");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(UseModel(options).cached);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("session.context_cache_max_mb is 1"));
  EXPECT_THAT(Entries(), IsEmpty()) << "one that is larger than the limit is not kept";
  options.Set("session.context_cache_max_mb", "2");
  for (const char* prefix : {"a", "b", "c"}) {
    options.Set("ep.context_node_name_prefix", prefix);
    EXPECT_FALSE(UseModel(options).cached);
    EXPECT_TRUE(UseModel(options).cached);
    OnlyEntry();
  }
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(ContextCacheTest, GarbageIsCollectedAndNothingElseTouched) {
  UseModel();
  const fs::path entry = OnlyEntry().path;
  const fs::path dead = cache_ / "tmp-1-0123456789abcdef";
  fs::create_directories(dead / "entry");
  std::ofstream(dead / "entry/model_ctx.onnx") << "half";
  std::ofstream(entry.string() + ".lock");
  const std::string zeros(64, '0');
  fs::create_directories(cache_ / "00" / zeros);
  std::ofstream(cache_ / "README") << "mine";
  fs::create_directories(cache_ / "tmp-mine");
  fs::create_directories(cache_ / "zz");
  fs::create_directories(cache_ / "11" / zeros);
  const CacheFolder::Staging alive(cache_);

  const auto removed = CacheFolder(cache_).Collect(0);
  EXPECT_EQ(removed.leftovers, 2u);
  ASSERT_EQ(removed.broken.size(), 1u);
  EXPECT_EQ(removed.broken[0].key, zeros);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(entry.string() + ".lock"));
  EXPECT_TRUE(fs::exists(alive.entry()));
  for (const char* name : {"README", "tmp-mine", "zz"}) EXPECT_TRUE(fs::exists(cache_ / name)) << name;
  EXPECT_TRUE(fs::exists(cache_ / "11" / zeros)) << "an entry is below the first two digits of its key";
  EXPECT_TRUE(UseModel().cached);
}

TEST_F(ContextCacheTest, AnEntryThatGoesWhileASessionHasItIsNoHarm) {
  const std::vector<float> expected = UseModel().numbers;
  Session session(*environment_, model_, Options());
  fs::remove_all(cache_);
  EXPECT_TRUE(session.has_context());
  EXPECT_EQ(RunOn(session, {2, 3}, kInput), expected);
}

TEST_F(ContextCacheTest, ThreadsThatWantTheSameCompileOnce) {
  const std::vector<float> expected = Uncached();
  std::vector<Use> uses(8);
  std::vector<std::thread> threads;
  for (Use& use : uses) threads.emplace_back([&] { use = UseModel(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count_if(uses.begin(), uses.end(), [](const Use& use) { return !use.cached; }), 1);
  for (const Use& use : uses) EXPECT_EQ(use.numbers, expected);
  OnlyEntry();
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(ContextCacheTest, WaitingForAnotherCanBeCancelled) {
  UseModel();
  const CacheFolder folder(cache_);
  const std::string key = OnlyEntry().key;
  fs::remove_all(folder.EntryPath(key));
  const auto lock = core::CacheLock::Try(folder.LockPath(key));
  ASSERT_NE(lock, nullptr);
  SessionOptions options = Options();
  options.progress = [](uint64_t, uint64_t, const std::string& text) { return text.starts_with("waiting"); };
  EXPECT_THAT(FailureOf([&] { UseModel(options); }), HasSubstr("MODEL_LOAD_CANCELED"));
}

TEST(CacheLockTest, OneHolderAndNoFileAfterwards) {
  TempDir dir;
  const fs::path file = dir / "key.lock";
  auto lock = core::CacheLock::Try(file);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(core::CacheLock::Try(file), nullptr);
  lock.reset();
  EXPECT_FALSE(fs::exists(file));
  int running = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        const core::CacheLock mine(file, [] {});
        most = std::max(most, ++running);
        ++done;
        --running;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(done, 160);
  EXPECT_FALSE(fs::exists(file));
}

}  // namespace
}  // namespace epiphyte::test
