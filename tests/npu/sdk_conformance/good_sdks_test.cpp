// SDKs that keep every rule. The number of rules that don't apply to each SDK is fixed here, so that no rule is skipped
// unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "suite.h"

namespace epiphyte::nsdk_conformance {
namespace {

struct GoodSdk {
  const char* name;
  const char* library;
  KeyValue option, other;
  int not_applicable;  // number of rules for capabilities and operators that the SDK lacks
};

void PrintTo(const GoodSdk& sdk, std::ostream* out) { *out << sdk.name; }

class GoodSdkTest : public testing::TestWithParam<GoodSdk> {};

TEST_P(GoodSdkTest, BreaksNoRule) {
  const GoodSdk& sdk = GetParam();
  const Target target = {.library = sdk.library, .options = {sdk.option}, .other = {sdk.other}};
  int not_applicable = 0;
  for (const Result& result : RunSuite(target, {})) {
    EXPECT_NE(result.outcome, Outcome::kFail) << "N" << result.rule->number << " " << result.message;
    EXPECT_NE(result.outcome, Outcome::kNotReached) << "N" << result.rule->number << " " << result.message;
    if (result.outcome != Outcome::kNotApplicable) continue;
    ++not_applicable;
    std::cout << "not applicable: N" << result.rule->number << " " << result.message << "\n";
  }
  EXPECT_EQ(not_applicable, sdk.not_applicable);
}

INSTANTIATE_TEST_SUITE_P(Sdks, GoodSdkTest,
                         testing::Values(GoodSdk{"Simulator", EPIPHYTE_NPUSIM, {"array", "16x16"}, {"array", "8x8"}, 1},
                                         GoodSdk{"Minimal", EPIPHYTE_MINIMAL_SDK, {"lanes", "64"}, {"lanes", "16"}, 30},
                                         GoodSdk{
                                             "Complete", EPIPHYTE_COMPLETE_SDK, {"lanes", "64"}, {"lanes", "16"}, 13}),
                         [](const auto& info) { return std::string(info.param.name); });

// The test runs the program as a vendor would.
TEST(Program, SaysWhichRulesHold) {
  const std::string program = EPIPHYTE_NSDK_CONFORMANCE, report = testing::TempDir() + "nsdk_report.json";
  EXPECT_EQ(std::system((program + " " EPIPHYTE_MINIMAL_SDK " --rule 100 --rule 203 --json > " + report).c_str()), 0);
  std::ifstream stream(report);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  EXPECT_THAT(text, testing::HasSubstr("\"passed\": 2"));
  EXPECT_THAT(text, testing::HasSubstr("\"rule\": 203"));
}

TEST(Program, SaysWhatIsNoSdk) {
  const std::string program = EPIPHYTE_NSDK_CONFORMANCE;
  EXPECT_EQ(WEXITSTATUS(std::system((program + " /no/such/library.so --rule 108 > /dev/null").c_str())), 1);
  EXPECT_EQ(WEXITSTATUS(std::system((program + " /no/such/library.so --rule 203 > /dev/null").c_str())), 1);
  EXPECT_EQ(WEXITSTATUS(std::system((program + " /no/such/library.so --rule 4711 2> /dev/null").c_str())), 2);
}

}  // namespace
}  // namespace epiphyte::nsdk_conformance
