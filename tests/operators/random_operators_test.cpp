// Each operator of the CPU plugin on random cases against a plain reference.
//
// cpu_random_operators --cases 1000                    1000 cases of each operator instead of 20
// cpu_random_operators --first 17 --cases 1 --gtest_filter='*MatchReference/Conv'    this case again
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>

#include "host/conformance/operators/describe.h"
#include "host/conformance/operators/make_case.h"
#include "host/conformance/operators/runner.h"
#include "plugins/cpu/kernel/kernel.h"
#include "tests/framework/test_session.h"

namespace epiphyte::operators {
namespace {

uint64_t first_case = 0;
uint64_t case_count = 20;

// Opens the plugin once for all tests of the program.
Runner& TheRunner() {
  static auto* const runner = new Runner(test::BuildTreeEnvironment(), {.provider = "cpu"});
  return *runner;
}

class RandomOperators : public testing::TestWithParam<OperatorCases> {
 protected:
  void Try(Generator make) {
    Try([make](uint64_t number) { return MakeCase(GetParam(), make, number); }, &Runner::Run);
  }
  template <typename Make>
  void Try(const Make& make, Result (Runner::*run)(const Case&, Random)) {
    Try(make, run, case_count);
  }
  template <typename Make>
  void Try(const Make& make, Result (Runner::*run)(const Case&, Random), uint64_t count) {
    constexpr int kEnough = 3;
    int failures = 0;
    for (uint64_t number = first_case; number < first_case + count && failures < kEnough; ++number) {
      const Case c = make(number);
      const Result result = (TheRunner().*run)(c, Random(number));
      // The CPU plugin claims every good case. The core refuses any other case with the node's name.
      const bool is_refused = result.verdict == Verdict::kNotClaimed && (c.fails || run == &Runner::RunHostile);
      if (is_refused || result.verdict == Verdict::kPassed || result.verdict == Verdict::kByCore) continue;
      ++failures;
      ADD_FAILURE() << "case " << number << " (--first " << number << " --cases 1): " << result.text << "\n"
                    << Describe(c);
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

std::vector<OperatorCases> WithSpecialCases() {
  std::vector<OperatorCases> operators = AllOperators();
  std::erase_if(operators, [](const OperatorCases& op) { return !WhyNoSpecialCases(op).empty(); });
  return operators;
}

class SpecialNumbers : public RandomOperators {};
TEST_P(SpecialNumbers, StayWhatTheReferenceMakesOfThem) {
  // The long suite runs the same cases.
  constexpr uint64_t kCases = 20;
  Try([](uint64_t number) { return MakeSpecialCase(GetParam(), number); }, &Runner::Run, kCases);
}
INSTANTIATE_TEST_SUITE_P(, SpecialNumbers, testing::ValuesIn(WithSpecialCases()), NameOf);

class HostileOperators : public RandomOperators {};
TEST_P(HostileOperators, AreRunOrRefusedByName) {
  Try([](uint64_t number) { return *MakeFormOf(GetParam(), Form::kHostile, number); }, &Runner::RunHostile);
}
INSTANTIATE_TEST_SUITE_P(, HostileOperators, testing::ValuesIn(AllOperators()), NameOf);

class BadOperators : public RandomOperators {};
TEST_P(BadOperators, AreRefusedByName) { Try(GetParam().make_bad); }
INSTANTIATE_TEST_SUITE_P(, BadOperators, testing::ValuesIn(WithBadCases()), NameOf);

// Operators of ai.onnx without random cases, each with the reason.
struct Uncovered {
  std::string_view op_type;
  std::string_view why;
};
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

// GoogleTest shows the name in messages and lists.
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
