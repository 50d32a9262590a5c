// The plugin gives the same answers at every instruction level. The random cases of each operator match the plain
// reference within its bounds. The outputs of models match those of the baseline level. Fused operators keep NaN,
// infinities and zeros as the separate operators do.
//
//   cpu_levels --cases 200                          so many of each operator instead of 10
//   cpu_levels --level avx2 --cases 1 --first 17    at one level, in this process
//   cpu_levels --level avx2 --outputs DIR --models DIR
//   cpu_levels --level avx2 --forms all             special numbers through fused operators
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "epiphyte/ep_entry.h"
#include "host/conformance/operators/describe.h"
#include "host/conformance/operators/make_case.h"
#include "host/conformance/operators/runner.h"
#include "plugins/cpu/onednn/compat.h"
#include "tests/cpu/levels/level.h"
#include "tests/cpu/levels/level_models.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/special_numbers/form.h"

namespace epiphyte::test::levels {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kNoSuchLevel = 77;
constexpr uint64_t kCases = 10;
constexpr std::string_view kNoBfloat16 = "has no bfloat16 products";

std::map<std::string, std::string, std::less<>> options;

uint64_t NumberOption(std::string_view name, uint64_t otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

// --- one level, in this process

// Returns an environment with the plugin that is linked into this program, so that its level can be forced.
std::unique_ptr<core::Environment> OwnPlugin() {
  auto environment = BuildTreeEnvironment();
  environment->catalog().Register(EpPluginQuery, 1000);
  return environment;
}

int RunOperators() {
  operators::Runner runner(OwnPlugin(), {.provider = "cpu"});
  const uint64_t first = NumberOption("--first", 0), count = NumberOption("--cases", kCases);
  int failures = 0;
  for (const operators::OperatorCases& op : operators::AllOperators()) {
    for (uint64_t number = first; number < first + count; ++number) {
      const operators::Case c = operators::MakeCase(op, op.make, number);
      const operators::Result result = runner.Run(c, operators::Random(number));
      if (result.verdict == operators::Verdict::kPassed || result.verdict == operators::Verdict::kByCore) continue;
      ++failures;
      std::printf("case %llu of %s: %s\n%s\n", static_cast<unsigned long long>(number), std::string(op.op_type).c_str(),
                  result.text.c_str(), Describe(c).c_str());
    }
  }
  return failures == 0 ? 0 : 1;
}

int RunForms() {
  const auto environment = OwnPlugin();
  std::string differences;
  for (const special_numbers::Form& form : special_numbers::AllForms())
    differences += FusionDifference(*environment, form, core::DataType::kFloat, {.providers = {"cpu"}});
  std::printf("%s", differences.c_str());
  return differences.empty() ? 0 : 1;
}

int RunModels() {
  const auto environment = OwnPlugin();
  int failures = 0;
  for (const LevelModel& model : LevelModels()) {
    const std::string failure = WriteOutputs(model, *environment, options["--models"], options["--outputs"]);
    const bool refused = model.precision == "bf16" && !cpu::HasBfloat16Products();
    if (refused ? failure.find(kNoBfloat16) != std::string::npos : failure.empty()) continue;
    ++failures;
    std::printf("%s: %s\n", std::string(model.name).c_str(), failure.empty() ? "is not refused" : failure.c_str());
  }
  return failures == 0 ? 0 : 1;
}

int RunLevel(const std::string& name) {
  const Level* const level = FindLevel(name);
  const std::string why = level == nullptr ? "there is no level '" + name + "'" : WhyNot(*level);
  if (!why.empty()) {
    std::printf("%s\n", why.c_str());
    return kNoSuchLevel;
  }
  const ForcedLevel forced(*level);
  if (options.contains("--forms")) return RunForms();
  return options.contains("--outputs") ? RunModels() : RunOperators();
}

// --- all levels, each in a process of its own

struct Ended {
  int code = -1;
  std::string text;
};

Ended RunInAProcess(std::string_view level, const std::string& arguments) {
  const std::string command =
      "'" + fs::read_symlink("/proc/self/exe").string() + "' --level " + std::string(level) + " " + arguments + " 2>&1";
  Ended ended;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> part;
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe)) ended.text.append(part.data(), size);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

std::string NameOf(const testing::TestParamInfo<Level>& info) { return std::string(info.param.name); }
std::vector<Level> Levels() { return {AllLevels().begin(), AllLevels().end()}; }

class OperatorsAtLevel : public testing::TestWithParam<Level> {};
INSTANTIATE_TEST_SUITE_P(, OperatorsAtLevel, testing::ValuesIn(Levels()), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OperatorsAtLevel);

TEST_P(OperatorsAtLevel, MatchTheReference) {
  const Ended ended = RunInAProcess(GetParam().name, "--cases " + std::to_string(NumberOption("--cases", kCases)) +
                                                         " --first " + std::to_string(NumberOption("--first", 0)));
  if (ended.code == kNoSuchLevel) GTEST_SKIP() << ended.text;
  EXPECT_EQ(ended.code, 0) << ended.text;
}

TEST_P(OperatorsAtLevel, KeepSpecialNumbersWhereTheyAreJoined) {
  const Ended ended = RunInAProcess(GetParam().name, "--forms all");
  if (ended.code == kNoSuchLevel) GTEST_SKIP() << ended.text;
  EXPECT_EQ(ended.code, 0) << ended.text;
}

class ModelsAtLevel : public testing::TestWithParam<Level> {
 protected:
  // Outputs at the baseline level, computed once for all tests.
  struct Baseline {
    TempDir dir;
    fs::path models = MakeModels(dir / "models");
    Ended ended;

    Baseline() { ended = RunInAProcess(AllLevels().front().name, Arguments(dir.path())); }
    std::string Arguments(const fs::path& outputs) const {
      return "--models '" + models.string() + "' --outputs '" + outputs.string() + "'";
    }
  };
  static void SetUpTestSuite() { baseline_ = std::make_unique<Baseline>(); }
  static void TearDownTestSuite() { baseline_.reset(); }

  static std::unique_ptr<Baseline> baseline_;
};
std::unique_ptr<ModelsAtLevel::Baseline> ModelsAtLevel::baseline_;
INSTANTIATE_TEST_SUITE_P(, ModelsAtLevel, testing::ValuesIn(Levels()), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ModelsAtLevel);

TEST_P(ModelsAtLevel, GiveWhatTheBaselineGives) {
  ASSERT_EQ(baseline_->ended.code, 0) << baseline_->ended.text;
  const TempDir dir;
  const Ended ended = RunInAProcess(GetParam().name, baseline_->Arguments(dir.path()));
  if (ended.code == kNoSuchLevel) GTEST_SKIP() << ended.text;
  ASSERT_EQ(ended.code, 0) << ended.text;
  for (const LevelModel& model : LevelModels()) {
    if (!fs::exists(dir / (std::string(model.name) + "_0.pb"))) continue;  // the level refused the model, as it must
    const double distance = Distance(model, dir.path(), baseline_->dir.path());
    std::printf("%-18s %.2e of %.0e\n", std::string(model.name).c_str(), distance, model.bound);
    EXPECT_LE(distance, model.bound) << model.name;
  }
}

}  // namespace

// Prints a level in messages and lists of tests.
void PrintTo(const Level& level, std::ostream* os) { *os << level.name; }

}  // namespace epiphyte::test::levels

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using epiphyte::test::levels::options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  if (argc % 2 == 0) {
    std::fprintf(stderr,
                 "options are --cases N, --first N, --forms all, --level NAME, --models DIR and --outputs DIR\n");
    return 2;
  }
  const auto level = options.find("--level");
  return level != options.end() ? epiphyte::test::levels::RunLevel(level->second) : RUN_ALL_TESTS();
}
