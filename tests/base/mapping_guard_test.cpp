// Death tests run in a process of their own from the start, so that each decides when the guard is installed.
#include "core/base/mapping_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/base/staged_file.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

using test::ErrorOf;
using test::TempDir;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kBytes = 100000;

class MappingGuardTest : public testing::Test {
 protected:
  MappingGuardTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  std::shared_ptr<const MappedFile> Map() {
    return MappedFile::Open(dir_.Write("weights.bin", std::string(kBytes, 'x')));
  }
  void CutTo(uintmax_t size) const { std::filesystem::resize_file(dir_ / "weights.bin", size); }
  static std::string BytesOf(const MappedFile& file) {
    return std::string(reinterpret_cast<const char*>(file.data()), file.size());
  }

  TempDir dir_;
};

// An unhandled fault ends the process, either by its signal or by a sanitizer's report.
bool Died(int status) { return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0); }

TEST_F(MappingGuardTest, TruncatedPagesReadAsZerosAndTheFileIsNamed) {
  InstallMappingGuard();
  const auto file = Map();
  CutTo(8192);
  const std::string bytes = BytesOf(*file);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'x'), 8192);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), '\0'), static_cast<ptrdiff_t>(kBytes - 8192));
  EXPECT_TRUE(AnyMappingLost());
  EXPECT_THAT(ErrorOf(StatusCode::kFail, [&] { file->RequireIntact(); }),
              AllOf(HasSubstr((dir_ / "weights.bin").string()), HasSubstr("changed while in use")));
}

TEST_F(MappingGuardTest, AMappingStaysMarkedWhenItsFileIsRestored) {
  InstallMappingGuard();
  const auto file = Map();
  CutTo(0);
  BytesOf(*file);
  CutTo(kBytes);
  ErrorOf(StatusCode::kFail, [&] { file->RequireIntact(); });
}

TEST_F(MappingGuardTest, ADigestOfBytesThatAreGoneIsRefused) {
  InstallMappingGuard();
  const auto file = Map();
  EXPECT_EQ(file->Digest(nullptr).size(), 32u);
  CutTo(0);
  ErrorOf(StatusCode::kFail, [&] { file->Digest(nullptr); });
}

TEST_F(MappingGuardTest, AFileThatLostLessThanItsLastPageIsSeenToo) {
  InstallMappingGuard();
  const auto file = Map();
  CutTo(kBytes - 1);
  BytesOf(*file);
  EXPECT_THAT(ErrorOf(StatusCode::kFail, [&] { file->RequireIntact(); }), HasSubstr("has 99999 now"));
}

TEST_F(MappingGuardTest, AFileReplacedByRenamingIsStillWhatItWas) {
  InstallMappingGuard();
  const auto file = Map();
  std::filesystem::rename(dir_.Write("new", "short"), dir_ / "weights.bin");
  EXPECT_EQ(BytesOf(*file), std::string(kBytes, 'x'));
  file->RequireIntact();
}

TEST_F(MappingGuardTest, AThreadThatKnowsNothingOfTheGuardGoesOnToo) {
  InstallMappingGuard();
  const auto file = Map();
  UsedFiles used;
  used.Add(*file);
  CutTo(0);
  std::thread([&] { BytesOf(*file); }).join();
  ErrorOf(StatusCode::kFail, [&] { used.RequireNothingLost(); });
}

TEST_F(MappingGuardTest, UsedFilesKnowWhatWasLostWhenTheMappingIsGone) {
  InstallMappingGuard();
  UsedFiles used;
  {
    const auto file = Map();
    used.Add(*file);
    CutTo(0);
    BytesOf(*file);
  }
  ErrorOf(StatusCode::kFail, [&] { used.RequireIntact(); });
}

TEST_F(MappingGuardTest, OnlyTheMappingOfThatFileIsMarked) {
  InstallMappingGuard();
  std::vector<std::shared_ptr<const MappedFile>> others;
  for (int i = 0; i < 600; ++i) {  // more than one block of the guard's table
    others.push_back(MappedFile::Open(dir_.Write("other" + std::to_string(i), "still here")));
  }
  const auto file = Map();
  CutTo(0);
  BytesOf(*file);
  for (const auto& other : others) other->RequireIntact();
  ErrorOf(StatusCode::kFail, [&] { file->RequireIntact(); });
}

TEST_F(MappingGuardTest, CopyingAFileThatIsCutOffEndsAndIsFoundOut) {
  InstallMappingGuard();
  const auto file = Map();
  CutTo(4096);
  StagedFile copy(dir_ / "copy");
  copy.Write(file->data(), file->size());  // the system call fails on the mapping, which raises no signal
  EXPECT_EQ(copy.size(), kBytes);
  ErrorOf(StatusCode::kFail, [&] { file->RequireIntact(); });
}

// A mapping that is not registered with the core.
void ReadOwnMappingOfATruncatedFile(const TempDir& dir) {
  const auto path = dir.Write("own", std::string(kBytes, 'x'));
  FILE* stream = std::fopen(path.c_str(), "r");
  void* data = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fileno(stream), 0);
  std::filesystem::resize_file(path, 0);
  static_cast<void>(*static_cast<const volatile char*>(data));
}

TEST_F(MappingGuardTest, OtherFaultsStillEndTheProcess) {
  EXPECT_EXIT(
      {
        InstallMappingGuard();
        const auto file = Map();
        ReadOwnMappingOfATruncatedFile(dir_);
        _exit(0);
      },
      Died, "");
}

TEST_F(MappingGuardTest, OtherFaultsGoToTheHandlerOfTheApplication) {
  EXPECT_EXIT(
      {
        struct sigaction action = {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_addr != nullptr ? 42 : 43); };
        sigaction(SIGBUS, &action, nullptr);
        InstallMappingGuard();
        const auto file = Map();
        CutTo(0);
        BytesOf(*file);  // the core's handler gets this fault, not the application's
        ReadOwnMappingOfATruncatedFile(dir_);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(MappingGuardTest, ASignalThatWasSentGoesToTheApplicationsHandler) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(42); });
        InstallMappingGuard();
        raise(SIGBUS);
        _exit(0);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(MappingGuardTest, ASignalThatWasSentEndsAProcessWithoutAHandler) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL);
        InstallMappingGuard();
        raise(SIGBUS);
        _exit(0);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MappingGuardTest, ASignalThatWasSentIsIgnoredWhereTheApplicationIgnoresIt) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_IGN);
        InstallMappingGuard();
        raise(SIGBUS);
        _exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(MappingGuardTest, MappingAFileAloneDoesNotTakeOverTheSignal) {
  EXPECT_EXIT(
      {
        const auto file = Map();
        CutTo(0);
        BytesOf(*file);
        _exit(0);
      },
      Died, "");
}

}  // namespace
}  // namespace epiphyte::core
