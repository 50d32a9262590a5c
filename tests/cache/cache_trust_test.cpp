// A session trusts only cache entries that belong to root or to the user, and that a session has written.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "core/base/thread_pool.h"
#include "core/cache/cache_trust.h"
#include "core/cache/context_cache.h"
#include "tests/cache/cache_fixture.h"

namespace epiphyte::test {
namespace {

using core::CacheFolder;
using core::CacheRecord;
using core::CacheTrust;
using core::Session;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

// A model with the same inputs and outputs as kCachedModel, but other weights.
constexpr std::string_view kForeignModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 2] y)
  <float[3, 2] w = {60, 50, 40, 30, 20, 10}, float[2] b = {5, -5}> {
    product = MatMul(x, w)
    biased = Add(product, b)
    y = Relu(biased)
  })";

class CacheTrustTest : public ContextCacheTest {
 protected:
  struct Logged {
    Use use;
    std::string log;
  };
  Logged UseAndListen() {
    testing::internal::CaptureStderr();
    Logged logged;
    logged.use = UseModel();
    logged.log = testing::internal::GetCapturedStderr();
    return logged;
  }
  // Expects that the entry is not used, that a log message of one line says why, and that a good entry replaces it.
  void ExpectCompiledAgain(const std::string& reason) {
    const Logged refused = UseAndListen();
    EXPECT_FALSE(refused.use.cached) << reason;
    EXPECT_EQ(refused.use.numbers, expected_) << reason;
    EXPECT_THAT(refused.log, AllOf(HasSubstr("is compiled again"), HasSubstr(reason)));
    EXPECT_EQ(std::count(refused.log.begin(), refused.log.end(), '\n'), 1) << refused.log;
    EXPECT_TRUE(UseModel().cached) << reason;
    EXPECT_EQ(OnlyEntry().problem, "") << reason;
  }
  // Expects that the session works without the cache and leaves the folder unchanged.
  void ExpectUncached(const std::string& reason) {
    const auto before = ContentOf(cache_);
    const Logged refused = UseAndListen();
    EXPECT_FALSE(refused.use.cached) << reason;
    EXPECT_EQ(refused.use.numbers, expected_) << reason;
    EXPECT_THAT(refused.log, AllOf(HasSubstr("works without the context cache"), HasSubstr(reason)));
    EXPECT_EQ(std::count(refused.log.begin(), refused.log.end(), '\n'), 1) << refused.log;
    EXPECT_EQ(ContentOf(cache_), before) << reason;
    EXPECT_THAT(CacheTrust(cache_).problem(), HasSubstr(reason));
  }

  std::string OnlyEntryProblem() const { return Entries().at(0).problem; }

  const std::vector<float> expected_ = Uncached();
};

// A forged entry by an author who knows the format: the model's key and correct digests, but other weights.
TEST_F(CacheTrustTest, AnEntryWhoseDigestsFitIsRefusedUnlessASessionHasPutItThere) {
  UseModel();
  const CacheFolder::Entry mine = OnlyEntry();
  const fs::path cache = cache_;
  cache_ = dir_ / "attacker";
  model_ = dir_.Write("foreign.onnx", OnnxFromText(kForeignModel));
  ASSERT_NE(UseModel().numbers, expected_);
  const fs::path foreign = OnlyEntry().path;
  CacheRecord record = mine.record;
  fs::remove(foreign / "entry.json");
  CacheTrust attacker(cache_);
  core::ThreadPool pool(1);
  core::WriteCacheRecord(foreign, record, &attacker, &pool);
  EXPECT_EQ(core::VerifyCacheEntry(foreign, mine.key, attacker, &pool).key, mine.key) << "all digests fit";

  cache_ = cache;
  model_ = dir_ / "model.onnx";
  fs::remove_all(mine.path);
  fs::copy(foreign, mine.path, fs::copy_options::recursive);
  EXPECT_THAT(Entries(/*verify=*/false).at(0).problem, HasSubstr("keyed digest"));
  EXPECT_THAT(Entries(/*verify=*/true).at(0).problem, HasSubstr("keyed digest"));
  ExpectCompiledAgain("no session wrote it");
}

TEST_F(CacheTrustTest, AKeyThatTheEntrysFactsDoNotMakeIsRefused) {
  UseModel();
  CacheFolder::Entry entry = OnlyEntry();
  ASSERT_GT(entry.record.facts.size(), 10u);
  entry.record.facts[0].digest[0] = entry.record.facts[0].digest[0] == '0' ? '1' : '0';
  fs::remove(entry.path / "entry.json");
  CacheTrust trust(cache_);
  core::ThreadPool pool(1);
  core::WriteCacheRecord(entry.path, entry.record, &trust, &pool);
  EXPECT_THAT(Entries().at(0).problem, HasSubstr("a key that its facts don't make"));
  ExpectCompiledAgain("a key that its facts don't make");
}

TEST_F(CacheTrustTest, EntryThatOthersCanWriteIsCompiledAgain) {
  UseModel();
  const fs::path entry = OnlyEntry().path;
  std::vector<fs::path> paths = {entry};
  for (const std::string& name : FilesIn(entry)) paths.push_back(entry / name);
  ASSERT_GE(paths.size(), 5u);
  for (const fs::path& path : paths) {
    for (const fs::perms right : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(path, right, fs::perm_options::add);
      EXPECT_THAT(Entries(/*verify=*/false).at(0).problem, HasSubstr("can be written by"));
      ExpectCompiledAgain(path.string());
    }
  }
}

TEST_F(CacheTrustTest, AFolderThatOthersCanWriteIsNotUsed) {
  UseModel();
  for (const fs::path& folder : {cache_, dir_.path()}) {
    for (const fs::perms right : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(folder, right, fs::perm_options::add);
      ExpectUncached("folder '" + folder.string() + "' can be written by");
      fs::permissions(folder, right, fs::perm_options::remove);
      EXPECT_TRUE(UseModel().cached) << "what is in it was put there by sessions all the same";
    }
  }
  fs::permissions(dir_.path(), fs::perms{01777});
  EXPECT_TRUE(UseModel().cached) << "as in /tmp";
}

// Only root can give files to another user. Any other user has only its own files here.
TEST_F(CacheTrustTest, EntryOfAnotherUserIsNotTrusted) {
  UseModel();
  const fs::path entry = OnlyEntry().path;
  const auto give = [](const fs::path& path) {
    const uid_t other = geteuid() == 0 ? kNobody : geteuid() + 1;
    return lchown(path.c_str(), other, static_cast<gid_t>(-1));
  };
  if (geteuid() != 0) {
    EXPECT_NE(give(entry), 0);
    EXPECT_TRUE(UseModel().cached);
    return;
  }
  for (const fs::path& path : {entry, entry / "entry.json", entry / "model_ctx.onnx", entry / "model_cpu.bin"}) {
    ASSERT_EQ(give(path), 0);
    EXPECT_THAT(Entries().at(0).problem, HasSubstr("belongs to user 65534"));
    ExpectCompiledAgain("belongs to user 65534");
  }
  ASSERT_EQ(give(cache_ / "secret"), 0);
  ExpectUncached("'" + (cache_ / "secret").string() + "' belongs to user 65534");
  ASSERT_EQ(give(cache_), 0);
  ExpectUncached("'" + cache_.string() + "' belongs to user 65534");
}

TEST_F(CacheTrustTest, ALinkInAnEntryIsNotFollowed) {
  UseModel();
  const fs::path payload = OnlyEntry().path / "model_cpu.bin";
  fs::rename(payload, dir_ / "elsewhere.bin");
  fs::create_symlink(dir_ / "elsewhere.bin", payload);
  ExpectCompiledAgain("symbolic link");
}

TEST_F(CacheTrustTest, SecretIsReadableByItsOwnerOnly) {
  UseModel();
  struct stat info = {};
  ASSERT_EQ(stat((cache_ / "secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_uid, geteuid());
  const std::string secret = ReadFile(cache_ / "secret");
  EXPECT_EQ(secret.size(), 64u);
  const fs::path first = cache_;
  cache_ = dir_ / "other";
  UseModel();
  EXPECT_NE(ReadFile(cache_ / "secret"), secret) << "each cache has its own";
  cache_ = first;

  fs::permissions(cache_ / "secret", fs::perms{0640});
  ExpectUncached("can be read by others");
  fs::permissions(cache_ / "secret", fs::perms{0600});
  std::ofstream(cache_ / "secret", std::ios::trunc) << secret.substr(1);
  ExpectUncached("is damaged");
  fs::remove(cache_ / "secret");
  fs::create_symlink("/dev/null", cache_ / "secret");
  ExpectUncached("is no regular file");
  fs::remove(cache_ / "secret");
  EXPECT_THAT(OnlyEntryProblem(), HasSubstr("no secret"));
  ExpectCompiledAgain("no secret");
}

TEST_F(CacheTrustTest, WhateverTheUmaskWhatSessionsWriteIsTheUsersAlone) {
  const mode_t before = umask(0);
  UseModel();
  const bool cached = UseModel().cached;
  umask(before);
  EXPECT_TRUE(cached);
  size_t count = 0;
  for (const auto& item : fs::recursive_directory_iterator(cache_)) {
    struct stat info = {};
    ASSERT_EQ(lstat(item.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & (S_IWGRP | S_IWOTH), 0u) << item.path();
    ++count;
  }
  EXPECT_GE(count, 7u);
}

// The cache's folder is missing when the session looks for it, and exists when the session tries to create it.
TEST_F(CacheTrustTest, FolderCreatedByAnotherUserIsNotUsed) {
  const fs::path elsewhere = dir_ / "elsewhere";
  fs::create_directory(elsewhere);
  fs::permissions(elsewhere, fs::perms{0700});
  struct Trap {
    std::string reason;
    std::function<void()> set;
  };
  const std::vector<Trap> traps = {
      {"can be written by others",
       [&] {
         fs::create_directory(cache_);
         fs::permissions(cache_, fs::perms{0777});
       }},
      {"is a symbolic link", [&] { fs::create_directory_symlink(elsewhere, cache_); }},
  };
  for (const Trap& trap : traps) {
    core::ThreadPool pool(1);
    const core::SessionOptions options = Options();
    const core::SessionConfig config = options;
    core::ContextCache cache(environment_->catalog(), config, &pool);
    trap.set();
    std::vector<std::string> asked;
    testing::internal::CaptureStderr();
    cache.Open({.path = model_}, [&](const core::ModelSource& source, const core::SessionConfig& with) {
      asked.push_back(with.context.enable || with.context.for_cache ? "for the cache" : "uncached");
      return Session(*environment_, source, with, core::SessionTools(with));
    });
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("works without the context cache"), HasSubstr(trap.reason)));
    EXPECT_THAT(asked, testing::ElementsAre("uncached")) << trap.reason;
    EXPECT_THAT(FilesIn(elsewhere), IsEmpty());
    fs::remove_all(cache_);
  }
  UseModel();
  EXPECT_TRUE(UseModel().cached);
}

TEST_F(CacheTrustTest, ALinkToACacheLeadsToIt) {
  fs::create_directory_symlink("cache", dir_ / "link");
  fs::create_directory(cache_);
  fs::permissions(cache_, fs::perms{0700});
  core::SessionOptions options = Options();
  options.Set("session.context_cache_dir", (dir_ / "link").string());
  EXPECT_FALSE(UseModel(options).cached);
  EXPECT_TRUE(UseModel(options).cached);
  EXPECT_TRUE(UseModel().cached);
}

}  // namespace
}  // namespace epiphyte::test
