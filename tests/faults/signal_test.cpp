// SIGINT, SIGTERM and SIGHUP while a plugin works: the program ends with 130, 143 or 129, one line says so, and no
// incomplete file stays behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/faults/contexts.h"
#include "tests/faults/program.h"
#include "tests/framework/crashing_plugin/crashing_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A model with one Add for the crashing plugin.
std::string AddModel() {
  return OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Add(x, x) }");
}

class SignalTest : public testing::TestWithParam<int> {
 protected:
  SignalTest() {
    fs::create_directories(dir_ / "plugins");
    fs::create_directories(dir_ / "out");
    fs::permissions(dir_ / "out", fs::perms::owner_all);  // whatever the umask is: the cache will be in this folder
    model_ = dir_.Write("m.onnx", AddModel());
  }
  std::map<std::string, std::string> Environment() const {
    return {{"EPIPHYTE_PLUGIN_PATH", (dir_ / "plugins").string() + ":" + EPIPHYTE_PLUGIN_FOLDER},
            {"CRASHING_PLUGIN_LEDGER", (dir_ / "ledger").string()}};
  }
  // Waits until the plugin has written this line.
  bool WaitFor(const std::string& event) const {
    for (int i = 0; i < 6000; ++i) {
      if (fs::exists(dir_ / "ledger") && ReadFile(dir_ / "ledger").find(event) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::vector<std::string> CompileWords(const std::string& plugin) const {
    return EpiphyteWords({"compile", model_.string(), "--ep", plugin, "--output", (dir_ / "out/m_ctx.onnx").string()});
  }
  static void ExpectEnded(const ProgramEnd& end, const std::string& program = "epiphyte", int or_by = 0) {
    EXPECT_TRUE(end.in_time);
    EXPECT_THAT(end.code, testing::AnyOf(128 + GetParam(), 128 + or_by)) << end.err << " signal " << end.signal;
    EXPECT_THAT(end.out, IsEmpty());
    EXPECT_THAT(end.err, HasSubstr(program + ": error: ended by SIG"));
    EXPECT_THAT(end.err, Not(HasSubstr("terminate")));
  }

  TempDir dir_;
  fs::path model_;
};

INSTANTIATE_TEST_SUITE_P(Signals, SignalTest, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& info) { return std::string("SIG") + sigabbrev_np(info.param); });

TEST_P(SignalTest, APluginThatLooksAtProgressIsCancelled) {
  InstallCrashingPlugin(dir_ / "plugins", "poll_compile");
  Program compile(CompileWords("poll_compile"), Environment());
  ASSERT_TRUE(WaitFor("compile"));
  compile.Signal(GetParam());
  ExpectEnded(compile.Wait());
  EXPECT_THAT(ReadFile(dir_ / "ledger"), HasSubstr("cancelled"));
  EXPECT_THAT(FileNames(dir_ / "out"), IsEmpty());
}

TEST_P(SignalTest, APluginThatNeverReturnsHoldsNothingUp) {
  InstallCrashingPlugin(dir_ / "plugins", "hang_save");
  Program compile(CompileWords("hang_save"), Environment());
  ASSERT_TRUE(WaitFor("save"));
  EXPECT_THAT(FileNames(dir_ / "out"), Not(IsEmpty())) << "a part of the payload is staged";
  compile.Signal(GetParam());
  ExpectEnded(compile.Wait());
  EXPECT_THAT(FileNames(dir_ / "out"), IsEmpty());
}

TEST_P(SignalTest, ASecondSignalEndsAtOnceAndCleansUpToo) {
  InstallCrashingPlugin(dir_ / "plugins", "hang_save");
  Program compile(CompileWords("hang_save"), Environment());
  ASSERT_TRUE(WaitFor("save"));
  compile.Signal(GetParam());
  const int second = GetParam() == SIGTERM ? SIGINT : SIGTERM;
  compile.Signal(second);
  ExpectEnded(compile.Wait(), "epiphyte", second);  // the program may handle either of two pending signals first
  EXPECT_THAT(FileNames(dir_ / "out"), IsEmpty());
}

TEST_P(SignalTest, WeightSharingLeavesNothing) {
  InstallCrashingPlugin(dir_ / "plugins", "hang_save");
  Program sharing(SharingWords({"-e", "hang_save", "-o", (dir_ / "out").string(), model_.string()}), Environment());
  ASSERT_TRUE(WaitFor("save"));
  EXPECT_THAT(FileNames(dir_ / "out"), Not(IsEmpty())) << "a part of the payload is staged";
  sharing.Signal(GetParam());
  ExpectEnded(sharing.Wait(), "ep_weight_sharing_ctx_gen");
  EXPECT_THAT(FileNames(dir_ / "out"), IsEmpty());
}

// The file that another process waits for, and the new entry, are removed with the rest.
TEST_P(SignalTest, TheCacheIsAsItWas) {
  InstallCrashingPlugin(dir_ / "plugins", "hang_save");
  const std::string cache = (dir_ / "out/cache").string();
  Program run(EpiphyteWords({"run", model_.string(), "--ep", "hang_save", "--cache", cache}), Environment());
  ASSERT_TRUE(WaitFor("save"));
  run.Signal(GetParam());
  ExpectEnded(run.Wait());
  std::vector<std::string> left;
  for (const auto& entry : fs::recursive_directory_iterator(cache)) {
    const std::string name = entry.path().filename();
    const bool stays = entry.is_directory() ? !name.starts_with("tmp-") : name == "secret";
    if (!stays) left.push_back(entry.path());
  }
  EXPECT_THAT(left, IsEmpty());
}

}  // namespace
}  // namespace epiphyte::test
