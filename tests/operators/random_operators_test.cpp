// Each operator of the CPU plugin on random cases against a plain reference.
//
//   cpu_random_operators --cases 1000                    so many of each operator instead of 20
//   cpu_random_operators --first 17 --cases 1 --gtest_filter='*MatchReference/Conv'    that one again
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>

#include "plugins/cpu/kernel/kernel.h"
#include "tests/operators/hostile.h"
#include "tests/operators/runner.h"
#include "tests/framework/test_session.h"

namespace epiphyte::operators {
namespace {

uint64_t first_case = 0;
uint64_t case_count = 20;

// Opens the plugin once for all tests of the program.
Runner& TheRunner() {
  static auto* const runner = new Runner(test::BuildTreeEnvironment());
  return *runner;
}

class RandomOperators : public testing::TestWithParam<OperatorCases> {
 protected:
  void Try(Generator make) {
    Try([make](uint64_t number) { return MakeCase(GetParam(), make, number); }, &Runner::Run);
  }
  template <typename Make>
  void Try(const Make& make, std::string (Runner::*run)(const Case&, Random)) {
    Try(make, run, case_count);
  }
  template <typename Make>
  void Try(const Make& make, std::string (Runner::*run)(const Case&, Random), uint64_t count) {
    constexpr int kEnough = 3;
    int failures = 0;
    for (uint64_t number = first_case; number < first_case + count && failures < kEnough; ++number) {
      const Case c = make(number);
      const std::string failure = (TheRunner().*run)(c, Random(number));
      if (failure.empty()) continue;
      ++failures;
      ADD_FAILURE() << "case " << number << " (--first " << number << " --cases 1): " << failure << "\n" << Describe(c);
    }
  }
};

std::vector<OperatorCases> WithBadCases() {
  std::vector<OperatorCases> operators = AllOperators();
  std::erase_if(operators, [](const OperatorCases& op) { return op.make_bad == nullptr; });
  return operators;
}

std::string NameOf(const testing::TestParamInfo<OperatorCases>& info) {
  const std::string domain = info.param.domain == "com.microsoft" ? "Microsoft" : "";
  return domain + std::string(info.param.op_type);
}

TEST_P(RandomOperators, MatchReference) { Try(GetParam().make); }
INSTANTIATE_TEST_SUITE_P(, RandomOperators, testing::ValuesIn(AllOperators()), NameOf);

// Operators with results for NaN or infinity that depend on how the formula is written, and the reason for each.
struct Uncovered {
  std::string_view op_type;
  std::string_view why;
};
constexpr Uncovered kOtherFormulas[] = {
    {"Attention", "an infinite score makes a row NaN or hides it, by where the scale stands"},
    {"BatchNormalization", "scale and mean become a factor and an offset"},
    {"CumSum", "infinities of both signs"},
    {"DFT", "sums by halves"},
    {"DeformConv", "an element of weight 0 is multiplied or left out"},
    {"DynamicQuantizeLinear", "ONNX doesn't say what byte NaN becomes"},
    {"GridSample", "an element of weight 0 is multiplied or left out"},
    {"GroupNormalization", "scale and mean become a factor and an offset"},
    {"Hardmax", "the place of a NaN"},
    {"InstanceNormalization", "scale and mean become a factor and an offset"},
    {"QuantizeLinear", "ONNX doesn't say what number NaN becomes"},
    {"RMSNormalization", "the mean square of an infinity"},
    {"ReduceLogSumExp", "the largest is subtracted or not"},
    {"ReduceProd", "0 and an infinity in any order"},
    {"Resize", "an element of weight 0 is multiplied or left out"},
    {"RoiAlign", "an element of weight 0 is multiplied or left out"},
    {"STFT", "sums by halves"},
    {"SoftmaxCrossEntropyLoss", "an infinite score"},
    {"Upsample", "an element of weight 0 is multiplied or left out"},
};
std::vector<OperatorCases> WithoutOtherFormulas() {
  std::vector<OperatorCases> operators = AllOperators();
  std::erase_if(operators, [](const OperatorCases& op) {
    return std::any_of(std::begin(kOtherFormulas), std::end(kOtherFormulas),
                       [&](const Uncovered& other) { return op.domain.empty() && op.op_type == other.op_type; });
  });
  return operators;
}

class SpecialNumbers : public RandomOperators {};
TEST_P(SpecialNumbers, StayWhatTheReferenceMakesOfThem) {
  // The same cases in the long suite.
  constexpr uint64_t kCases = 20;
  Try([](uint64_t number) { return MakeSpecialCase(GetParam(), number); }, &Runner::Run, kCases);
}
INSTANTIATE_TEST_SUITE_P(, SpecialNumbers, testing::ValuesIn(WithoutOtherFormulas()), NameOf);

class HostileOperators : public RandomOperators {};
TEST_P(HostileOperators, AreRunOrRefusedByName) {
  Try([](uint64_t number) { return MakeHostileCase(GetParam(), number); }, &Runner::RunHostile);
}
INSTANTIATE_TEST_SUITE_P(, HostileOperators, testing::ValuesIn(AllOperators()), NameOf);

class BadOperators : public RandomOperators {};
TEST_P(BadOperators, AreRefusedByName) { Try(GetParam().make_bad); }
INSTANTIATE_TEST_SUITE_P(, BadOperators, testing::ValuesIn(WithBadCases()), NameOf);

// Operators of ai.onnx without random cases, and why.
constexpr Uncovered kUncovered[] = {
#include "tests/operators/uncovered.inc"
};

TEST(RandomOperatorsList, HasEveryKernelOrSaysWhyNot) {
  std::set<std::string, std::less<>> covered;
  for (const OperatorCases& op : AllOperators()) {
    if (!op.domain.empty()) continue;
    EXPECT_TRUE(covered.emplace(op.op_type).second) << op.op_type << " is listed twice";
  }
  std::set<std::string, std::less<>> excused;
  for (const Uncovered& op : kUncovered) {
    EXPECT_FALSE(covered.contains(op.op_type)) << op.op_type << " has cases and needs no excuse: " << op.why;
    excused.emplace(op.op_type);
  }
  cpu::KernelRegistry registry;
  cpu::RegisterAllKernels(registry);
  registry.ForEach([&](std::string_view domain, std::string_view op_type, const cpu::KernelRegistry::Entry&) {
    if (!domain.empty()) return;
    EXPECT_TRUE(covered.contains(op_type) || excused.contains(op_type))
        << op_type << " has a kernel; give it random cases in tests/operators, or a line in uncovered.inc";
    excused.erase(std::string(op_type));
  });
}

}  // namespace

// Name tests in messages and lists.
void PrintTo(const OperatorCases& op, std::ostream* os) { *os << op.op_type; }

}  // namespace epiphyte::operators

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using namespace epiphyte::operators;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    uint64_t* const number = option == "--cases" ? &case_count : option == "--first" ? &first_case : nullptr;
    if (number == nullptr) {
      std::fprintf(stderr, "'%s' is no option; there are --cases N and --first N\n", argv[i]);
      return 2;
    }
    *number = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
