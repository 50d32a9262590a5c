// kill -9 at every step of publishing: the folder holds the old files, the new ones, or something that is refused. The
// next compile succeeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <map>

#include "tests/faults/fault_loop.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

struct Publication {
  const char* name;
  bool embed;
  bool over_old;
};

void PrintTo(const Publication& publication, std::ostream* stream) { *stream << publication.name; }

class KillTest : public testing::TestWithParam<Publication> {
 protected:
  SessionOptions Options(const char* folder) const {
    return CompileOptions({{"ep.context_file_path", (dir_ / folder / "m_ctx.onnx").string()},
                           {"ep.context_embed_mode", GetParam().embed ? "1" : "0"},
                           {"epiphyte.context_overwrite", GetParam().over_old ? "1" : "0"}});
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Publications, KillTest,
                         testing::Values(Publication{"OverNothing", false, false},
                                         Publication{"OverAnOlderSet", false, true},
                                         Publication{"EmbeddedOverNothing", true, false},
                                         Publication{"EmbeddedOverAnOlderOne", true, true}),
                         [](const auto& info) { return info.param.name; });

TEST_P(KillTest, AtEveryStep) {
  const fs::path source = dir_.Write("new.onnx", SmallModel(Weights::kNew));
  const fs::path old_source = dir_.Write("old.onnx", SmallModel(Weights::kOld));
  fs::create_directories(dir_ / "kept");
  Compile(old_source, Options("kept"));
  const fs::path model = dir_ / "out/m_ctx.onnx";
  std::map<std::string, int> states;
  size_t kills = 0;

  const FaultLoop loop{kFaultOpen | kFaultWrite | kFaultSync | kFaultRename | kFaultUnlink | kFaultLock, 0, false, 1};
  const SessionOptions compile = Options("out");
  loop.Run(
      [&] {
        fs::remove_all(dir_ / "out");
        fs::create_directories(dir_ / "out");
        if (GetParam().over_old) fs::copy(dir_ / "kept", dir_ / "out");
      },
      [&] {
        Compile(source, compile);
        return std::string("compiled");
      },
      [&](const Outcome& outcome, uint64_t at) {
        const bool killed = outcome.end == Outcome::End::kSignal && outcome.signal == SIGKILL;
        EXPECT_TRUE(killed) << at << ": " << outcome.Describe();
        ++kills;
        const std::string state = StateOf(model);
        ++states[state.substr(0, state.find(':'))];
        const bool good = IsAllowedState(state, GetParam().over_old);
        EXPECT_TRUE(good) << "killed at call " << at << ", then: " << state;

        // The next session that finds this state compiles again, and removes the files that the dead process had
        // staged.
        const std::string again = ResultOf([&] {
          SessionOptions options = Options("out");
          options.Set("epiphyte.context_overwrite", "1");
          Compile(source, options);
        });
        EXPECT_EQ(again, "OK") << "after a kill at call " << at;
        EXPECT_EQ(StateOf(model), "new") << "after a kill at call " << at;
        EXPECT_THAT(Leftovers(dir_ / "out"), IsEmpty()) << "after a kill at call " << at;
        return killed && good && again == "OK";
      });
  EXPECT_GE(kills, 6u);
  std::printf("%zu kills:", kills);
  for (const auto& [state, count] : states) std::printf(" %d %s", count, state.c_str());
  std::printf("\n");
}

}  // namespace
}  // namespace epiphyte::test
