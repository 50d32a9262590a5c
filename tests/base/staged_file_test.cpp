#include "core/base/staged_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "core/base/remove_on_exit.h"
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
  StagedFile file(folder / "taken");
  fs::create_directory(folder / "taken");
  ErrorOf(StatusCode::kInvalidArgument, [&] { file.Commit(true); });
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { StagedFile another(folder / "taken"); }),
              HasSubstr("is a folder"));
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

// This is the state after kill -9: the file exists, and no process holds its lock.
TEST(StagedFile, OnlyFilesOfDeadProcessesAreRemoved) {
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

// Sweeping at any moment never removes a file that a process is still writing.
TEST(StagedFile, CleanupDoesNotDisturbWriters) {
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

// --- targets that may be replaced

// Opening a pipe would block, so replacing must not open the target.
TEST(StagedFile, OnlyRegularFilesAreReplaced) {
  const TempDir folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder / "folder");
  fs::create_symlink("pipe", folder / "link_to_pipe");
  fs::create_symlink("/dev/null", folder / "link_to_device");
  fs::create_symlink("/proc/self/fd/1", folder / "link_to_output");
  const std::pair<fs::path, const char*> kTargets[] = {{folder / "pipe", "is a named pipe"},
                                                       {folder / "folder", "is a folder"},
                                                       {"/dev/null", "is a device"},
                                                       {folder / "link_to_pipe", "leads to a named pipe"},
                                                       {folder / "link_to_device", "leads to a device"},
                                                       {folder / "link_to_output", "an open file of a process"}};
  for (const auto& each : kTargets) {
    const auto& target = each.first;
    for (const auto& attempt : {std::function<void()>([&] { StagedFile file(target); }),
                                std::function<void()>([&] { StagedFile::CheckTarget(target); })}) {
      const std::string message = ErrorOf(StatusCode::kInvalidArgument, attempt);
      EXPECT_THAT(message, HasSubstr(each.second)) << target;
      EXPECT_THAT(message, HasSubstr(target.string()));
    }
  }
  EXPECT_EQ(FilesIn(folder.path()), 5u) << "all of them stay, and nothing is staged";
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
}

TEST(StagedFile, WhatBecomesAPipeMeanwhileStaysOne) {
  const TempDir folder;
  StagedFile file(folder / "model.bin");
  file.Write("new", 3);
  ASSERT_EQ(mkfifo((folder / "model.bin").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { file.Commit(true); }), HasSubstr("is a named pipe"));
  EXPECT_TRUE(fs::is_fifo(folder / "model.bin"));
}

TEST(StagedFile, ALinkIsReplacedAndNeverFollowed) {
  const TempDir folder;
  folder.Write("precious", "precious");
  fs::create_symlink("precious", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  for (const char* name : {"link", "dangling"}) {
    StagedFile file(folder / name);
    file.Write("new", 3);
    file.Commit(true);
    EXPECT_FALSE(fs::is_symlink(folder / name)) << name;
    EXPECT_EQ(ReadFile(folder / name), "new");
  }
  EXPECT_EQ(ReadFile(folder / "precious"), "precious");
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
}

TEST(StagedFile, CheckTargetFindsWhatWouldFail) {
  const TempDir folder;
  folder.Write("file", "old");
  StagedFile::CheckTarget(folder / "file");
  StagedFile::CheckTarget(folder / "new");
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { StagedFile::CheckTarget(folder / "absent/new"); }),
              testing::AllOf(HasSubstr("absent"), HasSubstr("create it first")));
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { StagedFile::CheckTarget(folder / "file/new"); }),
              HasSubstr("is no folder"));
  EXPECT_EQ(ReadFile(folder / "file"), "old");
  EXPECT_EQ(FilesIn(folder.path()), 1u) << "checking makes nothing";
}

// --- The end of a process

// The test runs in a process of its own, because nothing can be staged afterwards.
TEST(StagedFile, AllThatIsStagedIsRemovedWhenTheProcessEnds) {
  const TempDir folder;
  fs::create_directory(folder / "entry");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    StagedFile first(folder / "first"), second(folder / "second"), committed(folder / "committed");
    first.Write("abc", 3);
    committed.Commit(false);
    RemoveOnExit entry;
    entry.Make(folder / "entry/new", [&] { fs::create_directory(folder / "entry/new"); });
    StagedFile inside(folder / "entry/new/file");
    RemoveOnExit::RemoveAll();
    const std::string refused = ErrorOf(StatusCode::kFail, [&] { StagedFile late(folder / "late"); });
    _exit(refused.find("the program is ending") == std::string::npos ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(FilesIn(folder / "entry"), 0u);
  EXPECT_EQ(FilesIn(folder.path()), 2u) << "what was in place already, and the folder";
  EXPECT_TRUE(fs::exists(folder / "committed"));
}

}  // namespace
}  // namespace epiphyte::core
