// Each way to break a rule makes the suite fail at that rule and at no other; plugins that keep the rules fail at none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/suite.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns a line such as "R601 thrown in Compile" for each broken rule.
std::vector<std::string> Broken(const Target& target) {
  std::vector<std::string> broken;
  for (const RuleResult& result : RunSuite(target, {})) {
    if (result.outcome == Outcome::kFail)
      broken.push_back("R" + std::to_string(static_cast<int>(result.rule)) + " " + result.message);
  }
  return broken;
}

std::filesystem::path AbiPlugin(const std::string& name) {
  return std::filesystem::path(EPIPHYTE_ABI_PLUGIN_DIR) / (name + ".so");
}

// --- the plugins of tests/abi, each of which misbehaves in one way

struct Misbehaving {
  const char* file;
  int rule;
};

class MisbehavingPlugin : public testing::TestWithParam<Misbehaving> {};

TEST_P(MisbehavingPlugin, FailsAtTheRuleThatItBreaks) {
  const test::TempDir dir;
  const std::filesystem::path manifest = dir.Write(
      "misbehaving.yaml",
      "manifest_version: 1\nname: misbehaving\nvendor: tests\nversion: 1.0.0\nlicense: Apache-2.0\n"
      "description: breaks a rule\nlibrary: " +
          AbiPlugin(GetParam().file).string() + "\nabi: \"0.2\"\nsources: [MisbehavingSource]\ndevices: [cpu]\n");
  EXPECT_THAT(Broken(ReadTarget(manifest)),
              ElementsAre(testing::StartsWith("R" + std::to_string(GetParam().rule) + " ")));
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, MisbehavingPlugin,
    testing::Values(
        Misbehaving{"no_symbol", 102}, Misbehaving{"kThrowsInQuery", 104}, Misbehaving{"kNullDescriptor", 105},
        Misbehaving{"kDescriptorTooSmall", 201}, Misbehaving{"kAbiTooNew", 202}, Misbehaving{"kAbiTooOld", 202},
        Misbehaving{"kNullName", 203}, Misbehaving{"kGarbageStrings", 203}, Misbehaving{"kNullSources", 205},
        Misbehaving{"kTooManySources", 205}, Misbehaving{"kReservedInDescriptor", 206},
        Misbehaving{"kReservedInProviderTable", 206}, Misbehaving{"kLiesAboutName", 207},
        Misbehaving{"kLiesAboutSources", 208}, Misbehaving{"kNullInitialize", 209},
        Misbehaving{"kNullProviderTable", 210}, Misbehaving{"kProviderTableTooSmall", 210},
        Misbehaving{"kNullCompile", 211}, Misbehaving{"kNullExecute", 211}, Misbehaving{"kHalfOfContextPair", 212},
        Misbehaving{"kLiesAboutVersion", 215}, Misbehaving{"kThrowsInInitialize", 301},
        Misbehaving{"kFailsInInitialize", 302}, Misbehaving{"kThrowsInGetDevices", 311},
        Misbehaving{"kTooManyDevices", 312}, Misbehaving{"kNullDevice", 314}, Misbehaving{"kNoDevices", 315},
        Misbehaving{"kReservedInDevice", 319}, Misbehaving{"kThrowsInCreateProvider", 401},
        Misbehaving{"kFailsInCreateProvider", 402}, Misbehaving{"kNullProvider", 403},
        Misbehaving{"kThrowsInGetCapability", 501}, Misbehaving{"kFailsInGetCapability", 502},
        Misbehaving{"kClaimsForeignNode", 503}, Misbehaving{"kClaimsNullNode", 503},
        Misbehaving{"kClaimsHugeCount", 504}, Misbehaving{"kClaimsTwice", 505},
        Misbehaving{"kClaimsNonConvexGroup", 507}, Misbehaving{"kGarbageReason", 508},
        Misbehaving{"kStaleCapabilitySink", 509}, Misbehaving{"kSmallClaim", 512}, Misbehaving{"kInfoWithoutRoom", 512},
        Misbehaving{"kThrowsInCompile", 601}, Misbehaving{"kFailsInCompile", 602}, Misbehaving{"kTooFewKernels", 603},
        Misbehaving{"kSameKernelTwice", 604}, Misbehaving{"kSameKernelInEverySession", 605},
        Misbehaving{"kStaleTask", 607}, Misbehaving{"kForeignTask", 607}, Misbehaving{"kDeclinesTwice", 611},
        Misbehaving{"kDeclinesAndCompiles", 611}, Misbehaving{"kDeclinesUnknown", 611},
        Misbehaving{"kThrowsInDescribeKernel", 614}, Misbehaving{"kThrowsInExecute", 701},
        Misbehaving{"kFailsInExecute", 702}, Misbehaving{"kSetsNoOutput", 703}, Misbehaving{"kSetsOutputTwice", 704},
        Misbehaving{"kWrongOutputIndex", 705}, Misbehaving{"kWrongOutputType", 706},
        Misbehaving{"kWrongOutputKind", 707}, Misbehaving{"kWrongOutputDims", 708},
        Misbehaving{"kWrongOutputRank", 708}, Misbehaving{"kHugeRank", 709}, Misbehaving{"kNegativeDims", 709},
        Misbehaving{"kForeignValue", 714}, Misbehaving{"kReleasedValue", 715}, Misbehaving{"kReleasesValueTwice", 716},
        Misbehaving{"kForeignView", 717}, Misbehaving{"kValueOnAnotherThread", 718},
        Misbehaving{"kThrowsInCreateState", 731}, Misbehaving{"kNullState", 732}, Misbehaving{"kSameStateTwice", 733},
        Misbehaving{"kThrowsInGetEpContextNodes", 801}, Misbehaving{"kNoContextNodes", 803},
        Misbehaving{"kUnfinishedPayload", 804}, Misbehaving{"kContextForUnknownPartition", 805},
        Misbehaving{"kForeignContextSource", 806}, Misbehaving{"kForeignWriter", 807}, Misbehaving{"kStaleWriter", 807},
        Misbehaving{"kStaleContextSink", 808}, Misbehaving{"kThrowsInLoadContext", 813},
        Misbehaving{"kReservedInContextNode", 824}, Misbehaving{"kForeignStatus", 1002},
        Misbehaving{"kReleasedStatus", 1003}, Misbehaving{"kThrowsInRelease", 1010},
        Misbehaving{"kThrowsInReleaseState", 1010}),
    [](const auto& info) { return std::string(info.param.file); });

// --- tests/conformance/faulty, which breaks one rule at a time

class FaultyPlugin : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { unsetenv("EPIPHYTE_FAULT"); }
};

Target Faulty() { return ReadTarget(std::filesystem::path(EPIPHYTE_FAULTY_DIR) / "faulty.so"); }

TEST_P(FaultyPlugin, FailsAtTheRuleThatItBreaks) {
  setenv("EPIPHYTE_FAULT", GetParam(), 1);
  const std::string fault = GetParam();
  EXPECT_THAT(Broken(Faulty()), ElementsAre(testing::StartsWith("R" + fault.substr(0, fault.find('_')) + " ")));
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, FaultyPlugin,
    testing::Values(
        "107_other_answer", "108_prints", "204_null_vendor", "213_half_of_state_pair", "214_no_source",
        "303_initializes_once", "304_host_in_a_global", "313_overfills_devices", "316_null_device_text",
        "317_devices_move", "318_extension_for_all", "404_accepts_any_option", "405_keeps_config", "406_one_provider",
        "506_claims_placed_nodes", "510_claims_on_another_thread", "511_changes_its_mind", "513_keeps_graph",
        "514_claims_any_domain", "515_claims_any_type", "606_keeps_constant", "608_ignores_cancel", "609_writes_graph",
        "610_more_than_total", "612_retains_an_input", "613_releases_constant_twice", "615_reads_what_it_dropped",
        "710_writes_input", "711_reads_beyond_input", "712_writes_beyond_output", "713_keeps_input",
        "719_shares_scratch", "720_adds_to_what_was_there", "721_wrong_numbers", "722_ignores_refusal",
        "723_ignores_cancel", "724_fails_on_nothing", "802_fails_in_save", "809_writes_on_another_thread",
        "810_payload_on_secondary", "811_main_context_two", "812_counts_in_payload", "814_cannot_load",
        "815_loads_other_numbers", "816_writes_blob", "817_keeps_blob", "818_keeps_node_info", "819_trusts_sizes",
        "820_trusts_bytes", "822_loads_in_order", "823_reserved_attribute", "825_wants_a_name", "831_throws_in_check",
        "832_verdict_nine", "833_rejects_itself", "834_takes_foreign", "835_long_reason", "901_writes_early",
        "902_forgets_earlier", "903_never_writes", "904_keeps_group", "905_asks_again", "906_first_session_owns", "1001_aborts",
        "1004_leaks_a_status", "1005_releases_a_status_twice", "1006_fails_silently", "1008_gang_in_a_loop",
        "1011_keeps_pool", "1012_foreign_handle", "1201_short_table", "1201_no_copy", "1202_throws", "1203_no_map",
        "1204_shares_scratch", "1211_too_many", "1211_overfills", "1212_null_memory", "1213_same_names",
        "1214_alignment_three", "1215_memories_change", "1216_more_than_there_is", "1221_null_buffer",
        "1222_same_buffer", "1223_fails_otherwise", "1224_provider_owns_memory", "1225_leaks", "1226_trims_too_much",
        "1227_map_moves", "1228_maps_a_copy", "1229_imports_anything", "1230_copies_imports", "1231_keeps_imports",
        "1232_keeps_descriptor", "1233_exports_a_copy", "1241_null_stream", "1242_same_stream", "1243_points_stay",
        "1243_point_zero", "1244_forgets_the_last", "1245_copies_too_much", "1246_returns_early", "1247_goes_on",
        "1248_calls_twice", "1249_calls_late", "1261_has_no_table", "1262_device_nine", "1263_three_inputs",
        "1263_reserved", "1264_memory_seven", "1265_alias_99", "1266_arrays_change", "1267_wrong_in_shared",
        "1268_works_after_its_point", "1269_overwrites_its_input", "1270_adopts_an_input", "1271_adopts_too_little",
        "1301_small_options_table", "1301_null_function", "1302_throws_in_options", "1303_a_million_options",
        "1303_overfills_options", "1304_small_option", "1304_null_option", "1305_called_device",
        "1305_name_with_a_space", "1306_one_name_twice", "1307_type_nine", "1308_no_help", "1309_no_default",
        "1310_default_out_of_range", "1310_default_is_no_choice", "1311_turned_range", "1311_range_of_a_choice",
        "1312_no_choices", "1312_a_choice_twice", "1313_forgets_an_option", "1314_fails_with_its_defaults",
        "1315_fails_on_a_choice", "1401_small_options", "1401_no_writer", "1402_weights_in_a_folder",
        "1403_throws_in_writer", "1404_writes_bytes", "1404_keeps_bytes", "1501_small_span", "1502_no_name",
        "1503_ends_before_it_starts", "1504_counts_from_its_own_zero", "1504_is_ahead", "1505_keeps_profile",
        "1601_small_schema_table", "1601_no_inference", "1602_throws_in_operators", "1602_throws_in_inference",
        "1603_fails_in_operators", "1603_a_million_operators", "1603_overfills_operators", "1604_null_operator",
        "1604_small_operator", "1605_onnxs_domain", "1605_no_name", "1606_version_zero", "1607_turned_numbers",
        "1608_null_attribute", "1608_attribute_type_99", "1609_one_operator_twice", "1610_forgets_an_operator",
        "1611_refuses_what_is_unknown", "1611_trusts_dims", "1612_output_nine", "1612_type_nine_hundred",
        "1613_keeps_inference", "1613_keeps_ints", "1613_sets_on_another_thread", "1614_asks_its_neighbour",
        "1615_changes_its_mind", "1701_small_explain_table", "1701_no_explain", "1702_throws_in_explain",
        "1703_notes_no_node", "508_a_note_of_garbage", "1704_keeps_notes", "1704_notes_on_another_thread",
        "1705_claims_less_once_it_explained"),
    [](const auto& info) { return "R" + std::string(info.param); });

TEST(FailedCompile, NamesTheOperatorsOfItsGraph) {
  const test::TempDir dir;
  const std::filesystem::path manifest = dir.Write(
      "misbehaving.yaml", "manifest_version: 1\nname: misbehaving\nvendor: tests\nversion: 1.0.0\nlibrary: " +
                              AbiPlugin("kFailsInCompile").string() + "\nabi: \"0.2\"\nsources: [MisbehavingSource]\n");
  EXPECT_THAT(Broken(ReadTarget(manifest)), ElementsAre(testing::ContainsRegex("^R602 for [A-Z][A-Za-z, ]+: EP_")));
}

TEST(OperatorsIn, NamesEachOnceWithItsDomain) {
  std::vector<GraphSpec> graphs(2);
  graphs[0].AddNode("Relu", {}, {});
  graphs[0].AddNode("Relu", {}, {});
  graphs[1].AddNode("Gate", {}, {}).domain = "com.acme";
  EXPECT_EQ(OperatorsIn(graphs), "Relu, com.acme.Gate");
  for (int i = 0; i < 20; ++i) graphs[1].AddNode("Op" + std::to_string(i), {}, {});
  EXPECT_THAT(OperatorsIn(graphs), testing::EndsWith("Op13 and 6 more"));
}

TEST(FaultyPlugin, WithoutAFaultKeepsEveryRuleAndReachesMostOfThem) {
  const std::vector<RuleResult> results = RunSuite(Faulty(), {});
  size_t passed = 0;
  for (const RuleResult& result : results) {
    EXPECT_NE(result.outcome, Outcome::kFail) << static_cast<int>(result.rule) << " " << result.message;
    passed += result.outcome == Outcome::kPass ? 1 : 0;
  }
  EXPECT_GE(passed, 100u);
}

// Returns the rules that the plugin passes with EPIPHYTE_FAULT set to `name`.
std::set<int> PassedWith(const char* name) {
  setenv("EPIPHYTE_FAULT", name, 1);
  std::set<int> passed;
  for (const RuleResult& result : RunSuite(Faulty(), {})) {
    const int number = static_cast<int>(result.rule);
    EXPECT_NE(result.outcome, Outcome::kFail) << number << " " << result.message;
    if (result.outcome == Outcome::kPass) passed.insert(number);
  }
  unsetenv("EPIPHYTE_FAULT");
  return passed;
}

void ExpectAllOf(int hundred, const std::set<int>& passed) {
  for (const RuleText& rule : AllRules()) {
    const int number = static_cast<int>(rule.rule);
    EXPECT_TRUE(number / 100 != hundred || passed.contains(number)) << number << " " << rule.text;
  }
}

TEST(FaultyPlugin, WithADeviceKeepsEveryRuleOfDevices) {
  std::set<int> passed = PassedWith("device");
  passed.merge(PassedWith("device_adopts"));
  ExpectAllOf(12, passed);
}

TEST(FaultyPlugin, ThatWritesOnnxKeepsEveryRuleOfIt) { ExpectAllOf(14, PassedWith("onnx")); }
TEST(FaultyPlugin, ThatAddsSpansKeepsEveryRuleOfThem) { ExpectAllOf(15, PassedWith("profile")); }
TEST(FaultyPlugin, ThatDescribesOperatorsKeepsEveryRuleOfThem) { ExpectAllOf(16, PassedWith("schema")); }
TEST(FaultyPlugin, WithNotesKeepsEveryRuleAboutThem) { ExpectAllOf(17, PassedWith("explain")); }

class FaultyOptions : public testing::Test {
 protected:
  FaultyOptions() { setenv("EPIPHYTE_FAULT", "options", 1); }
  ~FaultyOptions() override { unsetenv("EPIPHYTE_FAULT"); }
  // Returns the plugin with a manifest that sets `options`.
  Target WithManifest(const std::string& options) {
    return ReadTarget(dir_.Write(
        "faulty.yaml", "manifest_version: 1\nname: faulty\nvendor: tests\nversion: 1.0.0\nlibrary: " EPIPHYTE_FAULTY_DIR
                       "/faulty.so\nabi: \"0.2\"\nsources: [FaultySource]\noptions: { " +
                           options + " }\n"));
  }
  const test::TempDir dir_;
};

TEST_F(FaultyOptions, ThatAreDeclaredAsTheyShouldKeepEveryRule) {
  std::set<int> passed;
  for (const RuleResult& result : RunSuite(WithManifest("tiles: 8, device: 0"), {})) {
    EXPECT_NE(result.outcome, Outcome::kFail) << static_cast<int>(result.rule) << " " << result.message;
    if (result.outcome == Outcome::kPass) passed.insert(static_cast<int>(result.rule));
  }
  ExpectAllOf(13, passed);
}

TEST_F(FaultyOptions, AManifestThatSetsWhatDoesNotFitBreaksItsRule) {
  EXPECT_THAT(Broken(WithManifest("tiles: 9")),
              ElementsAre(testing::AllOf(testing::StartsWith("R1316 "), testing::HasSubstr("'tiles'"),
                                         testing::HasSubstr("a whole number from 1 to 8 expected"))));
}

TEST_F(FaultyOptions, WrongDeclarationIsReportedWithItsName) {
  setenv("EPIPHYTE_FAULT", "1309_no_default", 1);
  EXPECT_THAT(Broken(Faulty()), ElementsAre(testing::HasSubstr("option 'label' has no default")));
}

// --- plugins that keep the rules

class GoodPlugin : public testing::TestWithParam<const char*> {};

TEST_P(GoodPlugin, BreaksNoRule) { EXPECT_THAT(Broken(ReadTarget(GetParam())), IsEmpty()); }

INSTANTIATE_TEST_SUITE_P(
    Conformance, GoodPlugin,
    testing::Values(EPIPHYTE_PLUGIN_FOLDER "/cpu.yaml", EPIPHYTE_KIT_PLUGIN_DIR "/doubler.yaml",
                    EPIPHYTE_ABI_PLUGIN_DIR "/kWellBehaved.so", EPIPHYTE_ABI_PLUGIN_DIR "/kDescriptorFromTheFuture.so",
                    EPIPHYTE_EXAMPLE_PLUGIN, EPIPHYTE_CUSTOM_OPERATORS, EPIPHYTE_ABI_PLUGIN_DIR "/kManyDevices.so",
                    EPIPHYTE_ABI_PLUGIN_DIR "/kUnknownDeviceKind.so", EPIPHYTE_ABI_PLUGIN_DIR "/kDeclinesOthers.so",
                    EPIPHYTE_ABI_PLUGIN_DIR "/kClaimsExactly.so", EPIPHYTE_ABI_PLUGIN_DIR "/kExclusiveKernels.so",
                    EPIPHYTE_ABI_PLUGIN_DIR "/kReportsOnFourThreads.so"),
    [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

// --- operator cases

// A folder with some of ONNX's cases. A list names the cases that are expected to fail.
class OperatorCases : public testing::Test {
 protected:
  OperatorCases() {
    for (const char* name : {"test_relu", "test_add", "test_matmul_2d", "test_softmax_axis_0", "test_bernoulli",
                             "test_cast_FLOAT_to_BFLOAT16"}) {
      std::filesystem::create_directory_symlink(std::filesystem::path(EPIPHYTE_ONNX_CASES) / name, dir_ / name);
    }
  }
  void TearDown() override { unsetenv("EPIPHYTE_FAULT"); }
  std::vector<std::string> Broken(const Target& target, const std::string& expected_failures = "") {
    SuiteOptions options;
    options.cases = CaseOptions{dir_.path(), {}};
    if (!expected_failures.empty()) options.cases->expected_failures = {dir_.Write("expected.txt", expected_failures)};
    std::vector<std::string> broken;
    passed_.clear();
    for (const RuleResult& result : RunSuite(target, options)) {
      const int number = static_cast<int>(result.rule);
      if (result.outcome == Outcome::kFail) broken.push_back("R" + std::to_string(number) + " " + result.message);
      if (result.outcome == Outcome::kPass) passed_.insert(number);
    }
    return broken;
  }
  const test::TempDir dir_;
  std::set<int> passed_;
};

TEST_F(OperatorCases, PassPlainAndThroughBothKindsOfContext) {
  for (const Target& target : {ReadTarget(EPIPHYTE_PLUGIN_FOLDER "/cpu.yaml"), Faulty()}) {
    EXPECT_THAT(Broken(target), IsEmpty()) << target.library;
    for (int rule : {1101, 1102, 1103}) EXPECT_EQ(passed_.count(rule), 1u) << target.library << " " << rule;
  }
}

TEST_F(OperatorCases, WrongResultsBreakTheRuleOfTheirForm) {
  for (const std::string fault : {"1101_wrong_when_compiled", "1102_wrong_when_loaded", "1103_wrong_when_embedded"}) {
    setenv("EPIPHYTE_FAULT", fault.c_str(), 1);
    EXPECT_THAT(Broken(Faulty()), ElementsAre(testing::AllOf(testing::StartsWith("R" + fault.substr(0, 4) + " "),
                                                             testing::HasSubstr("test_relu"))));
    // An expected failure isn't counted.
    EXPECT_THAT(Broken(Faulty(), "test_relu\n"), IsEmpty()) << fault;
  }
}

TEST_F(OperatorCases, AnUnexpectedPassIsReported) {
  EXPECT_THAT(Broken(Faulty(), "test_relu\n"),
              ElementsAre(testing::AllOf(testing::StartsWith("R1104 "), testing::HasSubstr("test_relu passes"))));
}

// --- files that are not plugins

TEST(Library, ThatIsTextFailsToLoad) {
  const test::TempDir dir;
  EXPECT_THAT(Broken(ReadTarget(dir.Write("text.so", "this is no library"))),
              ElementsAre(testing::StartsWith("R101 ")));
}

// This plugin was built without the flags that hide its symbols.
TEST(Library, ThatExportsMoreFailsAtThatRule) {
  EXPECT_THAT(Broken(ReadTarget(EPIPHYTE_TWIN_PLUGIN)), ElementsAre(testing::StartsWith("R103 ")));
}

}  // namespace
}  // namespace epiphyte::conformance
