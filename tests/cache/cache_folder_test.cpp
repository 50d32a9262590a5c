// The context cache's folder: damage to it never causes a wrong number, and no file stays there forever.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "core/cache/cache_lock.h"
#include "tests/cache/cache_fixture.h"

namespace epiphyte::test {
namespace {

using core::CacheFolder;
using core::OpenSession;
using core::Session;
using core::SessionOptions;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

void SetAge(const fs::path& file, int hours) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

// The core itself executes the Loop. The node's inputs stay initializers of the context model.
constexpr std::string_view kLoopModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 3] y) <int64 count = {3}, bool go = {1}> {
    y = Loop <body = body (int64 i, bool again, float[2, 3] v) => (bool still, float[2, 3] next) {
      still = Identity(again)
      next = Add(v, v)
    }> (count, go, x)
  })";

class DamagedCacheTest : public ContextCacheTest, public testing::WithParamInterface<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Models, DamagedCacheTest, testing::Values(kCachedModel, kLoopModel),
                         [](const auto& info) { return info.param == kCachedModel ? "External" : "PlainNodes"; });

// Damages each file of an entry in each way.
TEST_P(DamagedCacheTest, ADamagedEntryIsCompiledAgainAndReplaced) {
  dir_.Write("model.onnx", OnnxFromText(GetParam()));
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
  EXPECT_GE(cases, GetParam() == kLoopModel ? 4 * 7u : 3 * 7u);
  damage("a file in its place", [&] {
    fs::remove_all(entry.path);
    std::ofstream(entry.path) << "no folder";
  });
  damage("an empty folder", [&] {
    fs::remove_all(entry.path);
    fs::create_directory(entry.path);
  });
}

TEST_F(ContextCacheTest, EntryOfAnotherModelUnderThisKeyIsRefused) {
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

// A regular file in place of the folder stands for every folder that can't be written: it stops even root.
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

// Takes from the process the right to write the cache, until the destructor restores it.
class ReadOnly {
 public:
  ReadOnly(const fs::path& above, const fs::path& cache) : cache_(cache) {
    fs::permissions(above, fs::perms{0755});
    // The files become readable for all users, whatever the umask is.
    for (const auto& item : fs::recursive_directory_iterator(above)) {
      const bool shown = item.is_regular_file() && item.path().filename() != core::kCacheSecretName;
      if (shown) fs::permissions(item.path(), fs::perms{0644});
    }
    Change(fs::perms{0555});
    if (geteuid() == 0) changed_user_ = seteuid(65534) == 0;
  }
  ~ReadOnly() {
    if (changed_user_ && seteuid(0) != 0) std::abort();
    Change(fs::perms{0755});
  }

 private:
  void Change(fs::perms rights) {
    fs::permissions(cache_, rights);
    for (const auto& item : fs::recursive_directory_iterator(cache_)) {
      if (item.is_directory()) fs::permissions(item.path(), rights);
    }
  }
  fs::path cache_;
  bool changed_user_ = false;
};

TEST_F(ContextCacheTest, AReadOnlyCacheServesWhatItHas) {
  const std::vector<float> expected = UseModel().numbers;
  SessionOptions other = Options();
  other.Set("ep.context_node_name_prefix", "other");
  testing::internal::CaptureStderr();
  Use use, missing;
  {
    const ReadOnly read_only(dir_.path(), cache_);
    use = UseModel();
    missing = UseModel(other);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(use.cached);
  EXPECT_EQ(use.numbers, expected);
  EXPECT_FALSE(missing.cached);
  EXPECT_EQ(missing.numbers, expected);
  EXPECT_THAT(log, HasSubstr("Permission denied"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  OnlyEntry();
}

// A limit on the size of files stands for a full disk.
TEST_F(ContextCacheTest, WhereWritingFailsTheSessionWorksUncached) {
  const std::vector<float> expected = Uncached();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  int failures = 0;
  for (rlim_t limit = 0; Entries().empty(); limit = limit * 5 / 4 + 25) {
    ASSERT_LT(limit, 1 << 20);
    const rlimit narrow = {limit, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
    Use use;
    const std::string failure = FailureOf([&] { use = UseModel(); });
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(failure, "OK") << limit;
    EXPECT_FALSE(use.cached) << limit;
    EXPECT_EQ(use.numbers, expected) << limit;
    EXPECT_THAT(Leftovers(), IsEmpty()) << limit;
    ++failures;
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_GT(failures, 5);
  OnlyEntry();
  EXPECT_TRUE(UseModel().cached);
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
  std::string weights = "1.1";  // not exact in 16 bits, or the plugin would keep the weights in 16 bits
  for (int i = 1; i < 300000; ++i) weights += ",1.1";
  model_ = dir_.Write("big.onnx", OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                               "g (float[2, 3] x) => (float[2, 100000] y)\n"
                                               "<float[3, 100000] w = {" +
                                               weights + "}> { y = MatMul(x, w) }"));
  SessionOptions options = Options();
  options.Set("session.context_cache_max_mb", "1");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(UseModel(options).cached);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("session.context_cache_max_mb allows 1;"));
  EXPECT_THAT(Entries(), IsEmpty()) << "one that is larger than the limit is not kept";
  options.Set("session.context_cache_max_mb", "10");  // room for one entry of 7 MB
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

TEST_F(ContextCacheTest, EntryRemovedDuringASessionDoesNotAffectIt) {
  const std::vector<float> expected = UseModel().numbers;
  Session session = OpenSession(*environment_, {model_}, Options());
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
  options.progress = [](const core::SessionProgress& at) { return at.phase == core::SessionPhase::kWait; };
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
  std::atomic<int> running = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        const core::CacheLock mine(file, [] {});
        most = std::max<int>(most, ++running);
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
