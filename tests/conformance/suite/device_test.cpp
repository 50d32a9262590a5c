// The test device is an example of a plugin for a real device. It keeps every rule with each of its options. With a
// fault it fails at the rule that the fault breaks, and at no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/conformance/suite.h"
#include "tests/device/test_device.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::conformance {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Settings = std::map<std::string, std::string>;

std::string Yaml(const std::string& key, const Settings& settings) {
  if (settings.empty()) return "";
  std::string text = key + ":\n";
  for (const auto& [name, value] : settings) text += "  " + name + ": \"" + value + "\"\n";
  return text;
}

std::vector<RuleResult> Results(const Settings& options, const Settings& parameters = {},
                                const SuiteOptions& suite = {}, std::optional<CaseCounts>* counts = nullptr) {
  const test::TempDir dir;
  const std::filesystem::path manifest =
      dir.Write("test_device.yaml",
                "manifest_version: 1\nname: test_device\nvendor: tests\nversion: 1.0.0\nlicense: Apache-2.0\n"
                "description: the test device\nlibrary: " EPIPHYTE_TEST_DEVICE_ALONE
                "\nabi: \"0.2\"\nsources: [TestDevice]\ndevices: [other]\n" +
                    Yaml("options", options) + Yaml("parameters", parameters));
  return RunSuite(ReadTarget(manifest), suite, counts);
}

std::vector<std::string> Broken(const std::vector<RuleResult>& results) {
  std::vector<std::string> broken;
  for (const RuleResult& result : results) {
    if (result.outcome == Outcome::kFail)
      broken.push_back("R" + std::to_string(static_cast<int>(result.rule)) + " " + result.message);
  }
  return broken;
}

std::set<int> Passed(const std::vector<RuleResult>& results) {
  std::set<int> passed;
  for (const RuleResult& result : results) {
    if (result.outcome == Outcome::kPass) passed.insert(static_cast<int>(result.rule));
  }
  return passed;
}

// --- options

struct Variant {
  const char* name;
  Settings options;
  std::vector<int> rules;  // rules about kernels on devices that the variant reaches
};

class TestDeviceWith : public testing::TestWithParam<Variant> {};

TEST_P(TestDeviceWith, BreaksNoRule) {
  const std::vector<RuleResult> results = Results(GetParam().options);
  EXPECT_THAT(Broken(results), IsEmpty());
  const std::set<int> passed = Passed(results);
  for (const int rule : GetParam().rules) EXPECT_THAT(passed, Contains(rule));
  // These rules need no kernel, so the suite checks them even if kernels misbehave.
  for (const int rule : {1201, 1204, 1211, 1222, 1223, 1225, 1227, 1228, 1230, 1231, 1232, 1233, 1243, 1244, 1245, 1246,
                         1247, 1248, 1249}) {
    EXPECT_THAT(passed, Contains(rule));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, TestDeviceWith,
    testing::Values(Variant{"nothing", {}, {1264, 1267, 1268}}, Variant{"arena", {{"memory", "arena"}}, {1267, 1268}},
                    Variant{"shared", {{"memory", "shared"}}, {1267, 1268}},
                    Variant{"both", {{"memory", "both"}}, {1267, 1268}},
                    Variant{"both_and_host", {{"memory", "both"}, {"host_io", "1"}}, {1267, 1268}},
                    Variant{"adopt", {{"adopt", "1"}}, {1267, 1268, 1270, 1271}},
                    Variant{"adopt_shared", {{"adopt", "1"}, {"memory", "shared"}}, {1267, 1268, 1270, 1271}},
                    Variant{
                        "aliases", {{"aliases", "1"}, {"memory", "both"}, {"host_io", "1"}}, {1265, 1267, 1268, 1269}},
                    Variant{"not_async", {{"async", "0"}}, {1267}},
                    Variant{"state_and_exclusive", {{"state", "1"}, {"exclusive", "1"}}, {732, 733, 1267, 1268}},
                    Variant{"host_memory", {{"memory", "host"}, {"async", "0"}}, {}}),
    [](const auto& info) { return std::string(info.param.name); });

// A session of the core, in which values move between the device and the host.
TEST(TestDevice, PassesOperatorCasesPlainAndThroughContexts) {
  const test::TempDir dir;
  for (const char* name : {"test_add", "test_add_bcast", "test_mul", "test_neg", "test_relu", "test_matmul_2d"}) {
    std::filesystem::create_directory_symlink(std::filesystem::path(EPIPHYTE_ONNX_CASES) / name, dir / name);
  }
  SuiteOptions suite;
  suite.cases = CaseOptions{dir.path(), {}};
  for (const Settings& options :
       {Settings{}, Settings{{"memory", "both"}, {"host_io", "1"}, {"aliases", "1"}}, Settings{{"adopt", "1"}}}) {
    std::optional<CaseCounts> counts;
    const std::vector<RuleResult> results = Results(options, {}, suite, &counts);
    EXPECT_THAT(Broken(results), IsEmpty());
    for (const int rule : {1101, 1102, 1103}) EXPECT_THAT(Passed(results), Contains(rule));
    ASSERT_TRUE(counts.has_value());
    EXPECT_EQ(counts->found, 6u);
    EXPECT_GE(counts->claimed, 3u);
    EXPECT_EQ(counts->right, counts->claimed);
    EXPECT_EQ(counts->right_context, counts->claimed);
    EXPECT_EQ(counts->right_embedded, counts->claimed);
  }
}

TEST(CaseCounts, AreInTheReportForPeopleAndForPrograms) {
  const CaseCounts counts = {1650, 812, 810, 809, 808};
  std::ostringstream text;
  WriteText(text, {}, false, counts);
  EXPECT_THAT(text.str(),
              HasSubstr("812 of 1650 cases ran on the plugin: 810 right as they are, 809 through a context, "
                        "808 through an embedded one\n"));
  std::ostringstream json;
  WriteJson(json, "lib.so", {}, counts);
  for (const char* field : {"\"found\": 1650", "\"ran\": 812", "\"right\": 810", "\"right_via_context\": 809",
                            "\"right_via_embedded_context\": 808"}) {
    EXPECT_THAT(json.str(), HasSubstr(field));
  }
  std::ostringstream without;
  WriteText(without, {}, false);
  EXPECT_THAT(without.str(), Not(HasSubstr("cases")));
}

// --- faults

struct Fault {
  const char* name;
  int rule;
};
constexpr Fault kFaults[] = {
    {"points_go_back", 1243}, {"point_zero", 1243},     {"null_stream", 1241},        {"same_stream", 1242},
    {"null_buffer", 1221},    {"same_buffer", 1222},    {"adopt_foreign", 1270},      {"adopt_null", 1270},
    {"adopt_short", 1271},    {"unknown_memory", 1264}, {"adopt_other_memory", 1271}, {"unknown_device", 1262},
    {"bad_alias", 1265},      {"other_type", 706},      {"output_missing", 703},      {"output_twice", 704},
    {"map_null", 1227},       {"no_memories", 1211},    {"many_memories", 1211},      {"bad_alignment", 1214},
    {"throws", 1202},         {"status_of_other", 1003}};

class TestDeviceFault : public testing::TestWithParam<Fault> {};

TEST_P(TestDeviceFault, FailsAtTheRuleThatItBreaks) {
  const std::string name = GetParam().name;
  const bool before_providers = name == "no_memories" || name == "many_memories" || name == "bad_alignment";
  const Settings fault = {{"fault", name}};
  EXPECT_THAT(Broken(before_providers ? Results({}, fault) : Results(fault)),
              ElementsAre(testing::StartsWith("R" + std::to_string(GetParam().rule) + " ")));
}

INSTANTIATE_TEST_SUITE_P(Conformance, TestDeviceFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TestDeviceFault, EachHasARule) {
  for (const char* fault : test::kTestDeviceFaults) {
    EXPECT_TRUE(std::any_of(std::begin(kFaults), std::end(kFaults), [fault](const Fault& known) {
      return std::string(known.name) == fault;
    })) << fault;
  }
}

}  // namespace
}  // namespace epiphyte::conformance
