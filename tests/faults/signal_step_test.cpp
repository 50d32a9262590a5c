// A signal at every step of writing: before the Nth open, write, sync, rename, unlink or lock, for every N. The program
// ends with 128 + the signal. The folder holds the old files, the new ones or something that is refused, and no staged
// file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

#include "tests/faults/fault_loop.h"
#include "tests/faults/program.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr uint32_t kSteps = kFaultOpen | kFaultWrite | kFaultSync | kFaultRename | kFaultUnlink | kFaultLock;

class SignalStepTest : public testing::Test {
 protected:
  SignalStepTest() {
    new_model_ = dir_.Write("new.onnx", SmallModel(Weights::kNew));
    fs::create_directories(dir_ / "kept");
    Compile(dir_.Write("old.onnx", SmallModel(Weights::kOld)),
            CompileOptions({{"ep.context_file_path", (dir_ / "kept/m_ctx.onnx").string()}}));
  }

  // Repeats the program with a signal before its Nth step, for N = 1, 2, … until it ends before that step. Calls
  // `prepare` before and `check` after each repetition.
  void AtEveryStep(const std::vector<std::string>& words, const std::function<void()>& prepare,
                   const std::function<void(uint64_t step)>& check) {
    uint64_t step = 1;
    for (; step < 2000 && !HasFailure(); ++step) {
      const int signal = kSignals[step % std::size(kSignals)];
      prepare();
      const ProgramEnd end =
          Program(EpiphyteWords(words), {{"EPIPHYTE_PLUGIN_PATH", EPIPHYTE_PLUGIN_FOLDER},
                                         {"LD_PRELOAD", EPIPHYTE_FAULTS_LIBRARY},
                                         {"EPIPHYTE_FAULTS", std::to_string(kSteps) + ":" + std::to_string(step) + ":" +
                                                                 std::to_string(-signal)}})
              .Wait();
      EXPECT_THAT(Leftovers(dir_ / "out"), IsEmpty()) << "signal " << signal << " at step " << step << ": " << end.err;
      check(step);
      if (end.code == 0) break;
      // Before main, the signal has its default action, and no file is staged yet.
      const bool ended = end.code == 128 + signal || end.signal == signal;
      EXPECT_TRUE(ended) << "signal " << signal << " at step " << step << ": code " << end.code << ", signal "
                         << end.signal << ", " << end.err;
    }
    EXPECT_GT(step, 10u) << "there are more steps than that";
    std::printf("%llu steps\n", static_cast<unsigned long long>(step));
  }

  TempDir dir_;
  fs::path new_model_;
};

TEST_F(SignalStepTest, Compile) {
  const fs::path model = dir_ / "out/m_ctx.onnx";
  AtEveryStep(
      {"compile", new_model_.string(), "--ep", "cpu", "--force", "--output", model.string()},
      [&] {
        fs::remove_all(dir_ / "out");
        fs::copy(dir_ / "kept", dir_ / "out");
      },
      [&](uint64_t step) {
        const std::string state = StateOf(model);
        EXPECT_TRUE(IsAllowedState(state, /*had_old=*/true)) << "at step " << step << ": " << state;
      });
}

TEST_F(SignalStepTest, RenewingASeal) {
  const fs::path model = dir_ / "out/m_ctx.onnx";
  AtEveryStep(
      {"verify", "--reseal", model.string()},
      [&] {
        fs::remove_all(dir_ / "out");
        fs::copy(dir_ / "kept", dir_ / "out");
        std::string bytes = ReadFile(model);
        bytes.back() = bytes.back() == '0' ? '1' : '0';  // last digit of the seal
        dir_.Write("out/m_ctx.onnx", bytes);
      },
      [&](uint64_t step) {
        const std::string state = StateOf(model);
        EXPECT_TRUE(state == "old" || state.starts_with("refused: ")) << "at step " << step << ": " << state;
      });
}

TEST_F(SignalStepTest, Merge) {
  Compile(new_model_, CompileOptions({{"ep.context_file_path", (dir_ / "kept/n_ctx.onnx").string()}}));
  const fs::path merged = dir_ / "out/both_ctx.onnx";
  AtEveryStep(
      {"merge", (dir_ / "kept/m_ctx.onnx").string(), (dir_ / "kept/n_ctx.onnx").string(), "-o", merged.string()},
      [&] {
        fs::remove_all(dir_ / "out");
        fs::create_directories(dir_ / "out");
      },
      [&](uint64_t step) {
        if (!fs::exists(merged)) return;
        const ProgramEnd verified = Program(EpiphyteWords({"verify", merged.string()})).Wait();
        EXPECT_EQ(verified.code, 0) << "at step " << step << ": " << verified.err;
      });
}

TEST_F(SignalStepTest, Run) {
  AtEveryStep(
      {"run", new_model_.string(), "--ep", "cpu", "--threads", "1", "--outputs", (dir_ / "out").string(), "--profile",
       (dir_ / "out/trace.json").string()},
      [&] {
        fs::remove_all(dir_ / "out");
        fs::create_directories(dir_ / "out");
      },
      [&](uint64_t step) {
        for (const std::string& name : FileNames(dir_ / "out")) {
          EXPECT_GT(fs::file_size(dir_ / "out" / name), 10u) << name << " at step " << step;
        }
      });
}

// SIGHUP is ignored from the start, as in a program that nohup starts.
TEST_F(SignalStepTest, OneThatIsIgnoredFromTheStartStaysIgnored) {
  const ProgramEnd end = Program({"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", EPIPHYTE_PROGRAM, "compile",
                                  new_model_.string(), "--ep", "cpu"},
                                 {{"EPIPHYTE_PLUGIN_PATH", EPIPHYTE_PLUGIN_FOLDER},
                                  {"LD_PRELOAD", EPIPHYTE_FAULTS_LIBRARY},
                                  {"EPIPHYTE_FAULTS", std::to_string(kSteps) + ":20:" + std::to_string(-SIGHUP)}})
                             .Wait();
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(StateOf(dir_ / "new_ctx.onnx"), "new");
}

}  // namespace
}  // namespace epiphyte::test
