// Each fault makes the suite fail at the rule that it breaks and at no other. (plugins/npu/sdk/conformance tests that
// the SDK keeps all rules without a fault.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "suite.h"

namespace epiphyte::nsdk_conformance {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// Returns a line such as "N132 a run after refused bindings ..." for each rule that was broken.
std::vector<std::string> Broken(const std::string& library) {
  std::vector<std::string> broken;
  for (const Result& result :
       RunSuite({.library = library, .options = {{"lanes", "64"}}, .other = {{"lanes", "16"}}}, {})) {
    if (result.outcome == Outcome::kFail)
      broken.push_back("N" + std::to_string(result.rule->number) + " " + result.message);
  }
  return broken;
}

TEST(NoSdk, FailsAtLoading) { EXPECT_THAT(Broken("libm.so.6"), ElementsAre(StartsWith("N108 "))); }

class BrokenSdk : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { unsetenv("NSDK_FAULT"); }
};

TEST_P(BrokenSdk, FailsAtTheRuleThatItBreaks) {
  setenv("NSDK_FAULT", GetParam(), 1);
  const std::string fault = GetParam();
  EXPECT_THAT(Broken(EPIPHYTE_BROKEN_SDK), ElementsAre(StartsWith("N" + fault.substr(0, fault.find('_')) + " ")));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, BrokenSdk,
    testing::Values(
        "100_another_table_each_time", "101_writes_whole_structs", "102_announces_without_function",
        "103_gives_no_reason", "103_leaves_the_program", "104_one_compiler_only", "105_writes_the_graph",
        "106_has_a_buffer_for_4200_bytes", "107_serves_all", "109_prints", "110_changes_with_calls", "111_counts_room",
        "112_takes_any_option", "113_reads_beyond_structs", "114_wants_its_own_size", "115_destroys_null",
        "116_leaks_executions", "117_clears_any_reason", "118_fills_the_reason", "120_ignores_cancel",
        "121_promises_broadcasting", "122_turns_the_order", "123_writes_what_it_cant_load", "124_device_without_name",
        "125_takes_any_value", "126_takes_any_device", "127_alignment_of_three", "128_one_context_only",
        "129_device_of_another_architecture", "130_forgets_zero_points", "131_loads_without_magic",
        "132_keeps_bad_bindings", "133_runs_with_nothing", "134_counts_down", "135_takes_unknown_kinds",
        "136_passes_over_unknown_keys", "137_needs_data", "138_declines_without_device", "140_counts_runs",
        "141_stores_weights_twice", "142_writes_a_number_of_its_own", "143_total_is_what_is_left", "144_writes_on",
        "145_one_context_only", "146_forgets_an_operator", "147_compiles_for_devices_only", "148_takes_one_name_twice",
        "149_releases_all", "150_is_never_content", "151_counts_all_bytes", "152_takes_nothing",
        "153_misses_the_last_byte", "154_has_no_digest", "155_takes_later_versions", "156_takes_other_architectures",
        "157_takes_the_other_order", "158_says_internal", "159_trusts_counts", "160_reads_beyond_the_end",
        "161_says_internal", "162_needs_a_device", "163_keeps_the_callers_blob", "164_writes_the_blob",
        "165_wants_alignment", "166_has_one_graph", "168_loads_without_device", "171_runs_at_once",
        "172_takes_weights_along", "173_takes_programs_along", "174_says_internal", "174_takes_any_index",
        "175_says_internal", "176_writes_beyond_the_output", "177_writes_inputs", "178_wants_alignment",
        "180_shares_scratch", "181_reads_when_bound", "182_ignores_cancel", "183_counts_down", "184_gives_no_address",
        "185_copies_at_import", "186_closes_the_descriptor", "187_allocates_nothing", "188_adds_up",
        "189_takes_any_offset", "190_calls_twice", "191_waits_for_nothing", "192_leaves_runs_behind", "193_runs_beside",
        "194_needs_done", "195_forgets_idle_cycles", "196_refuses_priorities", "201_swaps_pads", "203_forgets_the_bias",
        "204_swaps_pads", "205_counts_pads", "206_forgets_a_zero_point", "211_takes_signed_bytes",
        "212_forgets_the_zero_point", "216_forgets_the_zero_point", "222_forgets_the_upper_limit",
        "223_one_scale_for_all", "224_forgets_limits_in_nets"),
    [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace epiphyte::nsdk_conformance
