#include "core/base/staged_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::ReadFile;
using test::TempDir;
using testing::HasSubstr;

size_t FilesIn(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(StagedFile, NothingIsVisibleUnderTheTargetBeforeCommit) {
  const TempDir folder;
  StagedFile file(folder / "model.bin");
  file.Write("abc", 3);
  EXPECT_FALSE(fs::exists(folder / "model.bin"));
  EXPECT_EQ(file.staged_path().parent_path(), folder.path());
  EXPECT_EQ(file.staged_path().filename().string()[0], '.');
  file.Write("def", 3);
  file.Commit(false);
  EXPECT_EQ(ReadFile(folder / "model.bin"), "abcdef");
  EXPECT_EQ(file.size(), 6u);
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(StagedFile, WithoutCommitNothingIsLeft) {
  const TempDir folder;
  { StagedFile(folder / "model.bin").Write("abc", 3); }
  EXPECT_EQ(FilesIn(folder.path()), 0u);
}

TEST(StagedFile, AnExistingTargetIsAnErrorUnlessOverwritingIsAskedFor) {
  const TempDir folder;
  folder.Write("model.bin", "old");
  {
    StagedFile file(folder / "model.bin");
    file.Write("new", 3);
    const std::string message = ErrorOf(StatusCode::kFail, [&] { file.Commit(false); });
    EXPECT_THAT(message, HasSubstr("exists already"));
    EXPECT_THAT(message, HasSubstr((folder / "model.bin").string()));
  }
  EXPECT_EQ(ReadFile(folder / "model.bin"), "old");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
  StagedFile file(folder / "model.bin");
  file.Write("new", 3);
  file.Commit(true);
  EXPECT_EQ(ReadFile(folder / "model.bin"), "new");
}

TEST(StagedFile, ATargetThatAppearsMeanwhileIsNotOverwritten) {
  const TempDir folder;
  StagedFile file(folder / "model.bin");
  file.Write("mine", 4);
  folder.Write("model.bin", "theirs");
  ErrorOf(StatusCode::kFail, [&] { file.Commit(false); });
  EXPECT_EQ(ReadFile(folder / "model.bin"), "theirs");
}

TEST(StagedFile, TwoWritersOfOneTargetDontDisturbEachOther) {
  const TempDir folder;
  StagedFile first(folder / "model.bin");
  StagedFile second(folder / "model.bin");
  first.Write("first", 5);
  second.Write("second", 6);
  second.Commit(true);
  EXPECT_EQ(ReadFile(folder / "model.bin"), "second");
  first.Commit(true);
  EXPECT_EQ(ReadFile(folder / "model.bin"), "first");
}

TEST(StagedFile, AlignsWithZeros) {
  const TempDir folder;
  StagedFile file(folder / "a");
  file.Align(4096);
  EXPECT_EQ(file.size(), 0u);
  file.Write("x", 1);
  file.Align(8);
  EXPECT_EQ(file.size(), 8u);
  file.Align(8);
  EXPECT_EQ(file.size(), 8u);
  file.Align(10'000);
  file.Commit(false);
  std::string expected(10'000, '\0');
  expected[0] = 'x';
  EXPECT_EQ(ReadFile(folder / "a"), expected);
}

TEST(StagedFile, AcceptsANameOfTheGreatestLength) {
  const TempDir folder;
  const std::string name(255, 'n');
  StagedFile file(folder / name);
  file.Commit(false);
  EXPECT_TRUE(fs::exists(folder / name));
}

TEST(StagedFile, NamesAFolderThatCantBeWritten) {
  EXPECT_THAT(ErrorOf(StatusCode::kFail, [] { StagedFile("/nonexistent/folder/a"); }),
              HasSubstr("/nonexistent/folder"));
  const TempDir folder;
  ErrorOf(StatusCode::kInvalidArgument, [&] { StagedFile(folder.path() / ""); });
}

TEST(StagedFile, ATargetThatIsAFolderIsAnErrorEvenWhenOverwriting) {
  const TempDir folder;
  fs::create_directory(folder / "taken");
  StagedFile file(folder / "taken");
  ErrorOf(StatusCode::kFail, [&] { file.Commit(true); });
  EXPECT_TRUE(fs::is_directory(folder / "taken"));
}

// A file size limit stands for a full disk: write() fails in the middle of the data.
TEST(StagedFile, AWriteThatFailsLeavesTheTargetAlone) {
  const TempDir folder;
  folder.Write("model.bin", "old");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    StagedFile file(folder / "model.bin");
    const std::string data(10'000, 'x');
    EXPECT_THAT(ErrorOf(StatusCode::kFail, [&] { file.Write(data.data(), data.size()); }), HasSubstr("model.bin"));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(ReadFile(folder / "model.bin"), "old");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

// As after kill -9: the file is there, nobody holds its lock.
TEST(StagedFile, WhatADeadProcessLeftIsRemovedAndNothingElse) {
  const TempDir folder;
  folder.Write(".epiphyte-1-2-0badcafe.staged", "abandoned");
  folder.Write(".epiphyte-1.staged.txt", "somebody's");
  folder.Write("epiphyte-1.staged", "somebody's");
  fs::create_directory(folder / ".epiphyte-folder.staged");
  StagedFile living(folder / "model.bin");
  living.Write("new", 3);
  StagedFile::RemoveAbandoned(folder.path());
  EXPECT_FALSE(fs::exists(folder / ".epiphyte-1-2-0badcafe.staged"));
  EXPECT_TRUE(fs::exists(living.staged_path()));
  living.Commit(false);
  EXPECT_EQ(ReadFile(folder / "model.bin"), "new");
  EXPECT_EQ(FilesIn(folder.path()), 4u);
  StagedFile::RemoveAbandoned(folder / "missing");
}

// Sweeping at any moment never takes a file from who is writing it.
TEST(StagedFile, SweepingNeverDisturbsWriters) {
  const TempDir folder;
  std::atomic<bool> done{false};
  std::thread sweeper([&] {
    while (!done) StagedFile::RemoveAbandoned(folder.path());
  });
  for (int i = 0; i < 300; ++i) {
    StagedFile file(folder / "model.bin");
    file.Write(&i, sizeof(i));
    file.Commit(true);
  }
  done = true;
  sweeper.join();
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

}  // namespace
}  // namespace epiphyte::core
