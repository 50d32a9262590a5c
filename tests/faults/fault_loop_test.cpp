// Every call that can fail fails once. The result is an error message or success. The folder holds the old files, the
// new ones, or something that is refused.
#include "tests/faults/fault_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

struct Fault {
  const char* name;
  uint32_t kinds;
  int error;
  bool persistent = false;
  uint64_t step = 1;
};

const Fault kReadFaults[] = {
    {"MapFails", kFaultMap, ENOMEM},
    {"OpenFailsOnTheDevice", kFaultOpen, EIO},
    {"OpenFindsNoDescriptor", kFaultOpen, EMFILE, true},
    {"LockFails", kFaultLock, ENOLCK},
    {"LockFailsForGood", kFaultLock, ENOLCK, true},
    {"MemoryIsShort", kFaultMemory, ENOMEM},
    {"MemoryIsShortForGood", kFaultMemory, ENOMEM, true, 5},
};
const Fault kWriteFaults[] = {
    {"WriteFindsTheDiskFull", kFaultWrite, ENOSPC},   {"WriteFindsTheDiskFullForGood", kFaultWrite, ENOSPC, true},
    {"WriteFailsOnTheDevice", kFaultWrite, EIO},      {"SyncFailsOnTheDevice", kFaultSync, EIO},
    {"SyncFindsTheDiskFull", kFaultSync, ENOSPC},     {"RenameFails", kFaultRename, EIO},
    {"RenameFindsTheDiskFull", kFaultRename, ENOSPC}, {"RenameFailsForGood", kFaultRename, EIO, true},
    {"OpenFindsTheDiskFull", kFaultOpen, ENOSPC},
};

void PrintTo(const Fault& fault, std::ostream* stream) { *stream << fault.name; }

class FaultTest : public testing::TestWithParam<Fault> {
 protected:
  FaultLoop Loop() const { return {GetParam().kinds, GetParam().error, GetParam().persistent, GetParam().step}; }
  // Prints one line to the log. Without it, a loop in which no call failed would go unnoticed.
  static void Print(const char* what, const FaultLoop::Figures& figures) {
    std::printf("%-18s %-29s %s\n", what, GetParam().name, figures.Summary().c_str());
    EXPECT_GE(figures.repetitions, 1u);
  }

  TempDir dir_;
};
class CompileFaultTest : public FaultTest {};
class LoadFaultTest : public FaultTest {};

std::string NameOf(const testing::TestParamInfo<Fault>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Writing, CompileFaultTest, testing::ValuesIn(kWriteFaults), NameOf);
INSTANTIATE_TEST_SUITE_P(Reading, CompileFaultTest, testing::ValuesIn(kReadFaults), NameOf);
INSTANTIATE_TEST_SUITE_P(Reading, LoadFaultTest, testing::ValuesIn(kReadFaults), NameOf);

struct Publication {
  bool embed;
  bool over_old;
};

void CompileLoop(const TempDir& dir, const FaultLoop& loop, const Publication& publication,
                 const std::function<void(const FaultLoop::Figures&)>& print) {
  const fs::path source = dir.Write("new.onnx", SmallModel(Weights::kNew));
  const fs::path old_source = dir.Write("old.onnx", SmallModel(Weights::kOld));
  fs::create_directories(dir / "out");
  fs::create_directories(dir / "kept");
  const auto options = [&](const char* folder) {
    return CompileOptions({{"ep.context_file_path", (dir / folder / "m_ctx.onnx").string()},
                           {"ep.context_embed_mode", publication.embed ? "1" : "0"},
                           {"epiphyte.context_overwrite", "1"}});
  };
  Compile(old_source, options("kept"));
  const auto prepare = [&] {
    fs::remove_all(dir / "out");
    fs::create_directories(dir / "out");
    if (publication.over_old) fs::copy(dir / "kept", dir / "out");
  };
  const SessionOptions compile = options("out");
  const FaultLoop::Figures figures = loop.Run(
      prepare,
      [&] {
        Compile(source, compile);
        return std::string("compiled");
      },
      [&](const Outcome& outcome, uint64_t at) {
        const std::string state = StateOf(dir / "out/m_ctx.onnx");
        const bool state_is_good =
            IsAllowedState(state, publication.over_old) && (!outcome.returned() || state == "new");
        EXPECT_TRUE(IsErrorOrSuccess(outcome)) << Describe(outcome, at);
        EXPECT_TRUE(state_is_good) << Describe(outcome, at) << ", then: " << state;
        EXPECT_THAT(Leftovers(dir / "out"), IsEmpty()) << Describe(outcome, at);
        return IsErrorOrSuccess(outcome) && state_is_good && Leftovers(dir / "out").empty();
      });
  print(figures);
  EXPECT_EQ(StateOf(dir / "out/m_ctx.onnx"), "new") << "the last repetition has no fault";
}

TEST_P(CompileFaultTest, CompilingOverNothing) {
  CompileLoop(dir_, Loop(), {false, false}, [](const auto& figures) { Print("compile", figures); });
}

TEST_P(CompileFaultTest, CompilingOverAnOlderSet) {
  CompileLoop(dir_, Loop(), {false, true}, [](const auto& figures) { Print("compile over old", figures); });
}

TEST_P(CompileFaultTest, CompilingAnEmbeddedContextOverAnOlderOne) {
  CompileLoop(dir_, Loop(), {true, true}, [](const auto& figures) { Print("compile embedded", figures); });
}

void LoadLoop(const FaultLoop& loop, const std::function<std::string()>& load,
              const std::function<void(const FaultLoop::Figures&)>& print) {
  print(loop.Run([] {}, load,
                 [&](const Outcome& outcome, uint64_t at) {
                   const bool good = IsErrorOrSuccess(outcome) && outcome.text != "wrong";
                   EXPECT_TRUE(good) << Describe(outcome, at);
                   return good;
                 }));
}

TEST_P(LoadFaultTest, LoadingAndRunningAContext) {
  for (const char* embed : {"0", "1"}) {
    const fs::path path = dir_ / (std::string("m") + embed + "_ctx.onnx");
    Compile(dir_.Write("m.onnx", SmallModel()),
            CompileOptions({{"ep.context_file_path", path.string()}, {"ep.context_embed_mode", embed}}));
    RunModel(path);  // the first run loads everything that is loaded only once
    LoadLoop(Loop(), LoadAndRun(path, Weights::kOld), [](const auto& figures) { Print("load", figures); });
  }
}

TEST_P(LoadFaultTest, FindingThePluginLoadingAndRunning) {
  Compile(dir_.Write("m.onnx", SmallModel()), CompileOptions());
  LoadLoop(Loop(), LoadAndRun(dir_ / "m_ctx.onnx", Weights::kOld, /*own_environment=*/true),
           [](const auto& figures) { Print("find and load", figures); });
}

}  // namespace
}  // namespace epiphyte::test
