#include "core/registry/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

Policy Parse(std::string_view text) { return ParsePolicy(text, "/etc/epiphyte.yaml"); }

TEST(Policy, ReadsEveryKey) {
  const Policy policy = Parse(R"(
policy_version: 1
providers:
  vulkan: { priority: 5, enabled: false, options: { device: 1 } }
  cpu: { priority: -3 }
allow: [cpu, vulkan]
deny: [acme]
)");
  const ProviderPolicy* vulkan = policy.Find("vulkan");
  ASSERT_NE(vulkan, nullptr);
  EXPECT_EQ(vulkan->priority, 5);
  EXPECT_EQ(vulkan->enabled, false);
  EXPECT_THAT(vulkan->options, ElementsAre(Pair("device", "1")));
  EXPECT_EQ(policy.Find("cpu")->enabled, std::nullopt);
  EXPECT_EQ(policy.Find("npu"), nullptr);
}

TEST(Policy, DeniesWhatIsDeniedOrNotAllowed) {
  const Policy both = Parse("policy_version: 1\nallow: [cpu, acme]\ndeny: [acme]\n");
  EXPECT_EQ(both.ReasonToDeny("cpu"), "");
  EXPECT_THAT(both.ReasonToDeny("acme"), HasSubstr("deny list of /etc/epiphyte.yaml"));
  EXPECT_THAT(both.ReasonToDeny("vulkan"), HasSubstr("not in the allow list"));
  EXPECT_EQ(Parse("policy_version: 1\n").ReasonToDeny("anything"), "") << "without lists everything is allowed";
  EXPECT_NE(Parse("policy_version: 1\nallow: []\n").ReasonToDeny("cpu"), "") << "an empty list allows nothing";
}

TEST(Policy, ReadsWhatIsPinned) {
  const Policy policy = Parse("policy_version: 1\nproviders: {npu: {options: {a: 1}, pinned: {device: 0}}}\n");
  EXPECT_THAT(policy.Find("npu")->pinned, ElementsAre(Pair("device", "0")));
  EXPECT_THAT(policy.Find("npu")->options, ElementsAre(Pair("a", "1")));
}

TEST(Policy, KnowsTheLineOfEachDecision) {
  const Policy policy = Parse("policy_version: 1\nallow: [cpu]\ndeny:\n  - acme\n");
  EXPECT_EQ(policy.PlaceOfDenial("acme"), "/etc/epiphyte.yaml:4:5");
  EXPECT_EQ(policy.PlaceOfDenial("npu"), "/etc/epiphyte.yaml:2:8");
  EXPECT_EQ(policy.PlaceOfDenial("cpu"), "");
}

TEST(Policy, TheDescriptionOfItsKeysIsAPolicyWithEachOfThem) {
  const fs::path file = fs::path(EPIPHYTE_SOURCE_DIR) / "plugin_manifests/policy_schema.yaml";
  const Policy policy = ReadPolicy(file);
  EXPECT_TRUE(policy.allow.has_value());
  EXPECT_FALSE(policy.deny.empty());
  ASSERT_NE(policy.Find("npu"), nullptr);
  const ProviderPolicy& npu = *policy.Find("npu");
  EXPECT_TRUE(npu.priority && npu.enabled && !npu.options.empty() && !npu.pinned.empty());
}

TEST(Policy, NoFileIsAnEmptyPolicy) {
  const Policy policy = ReadPolicy("");
  EXPECT_EQ(policy.ReasonToDeny("cpu"), "");
  EXPECT_EQ(policy.Find("cpu"), nullptr);
}

TEST(Policy, MistakesAreErrorsBecauseIgnoringThemWouldChangePlacement) {
  const auto refused = [](std::string_view text) {
    return test::ErrorOf(StatusCode::kInvalidArgument, [&] { Parse(text); });
  };
  EXPECT_THAT(refused(""), HasSubstr("policy_version"));
  EXPECT_THAT(refused("policy_version: 2\n"), HasSubstr("1 expected"));
  EXPECT_THAT(
      refused("policy_version: 1\ndenny: [acme]\n"),
      HasSubstr(
          "unknown key 'denny' found; expected one of policy_version, providers, allow, deny; did you mean 'deny'?"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: {cpu: {prio: 1}}\n"), HasSubstr("unknown key 'prio'"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: [cpu]\n"), HasSubstr("a map from provider names"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: {cpu: 5}\n"), HasSubstr("a map expected"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: {cpu: {enabled: maybe}}\n"), HasSubstr("true or false"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: {cpu: {priority: 9999999}}\n"), HasSubstr("between"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: {'a b': {priority: 1}}\n"), HasSubstr("name 'a b' found"));
  EXPECT_THAT(refused("policy_version: 1\nproviders: {cpu: {options: {a: 1}, pinned: {a: 1}}}\n"),
              HasSubstr("in `options` and in `pinned`"));
  EXPECT_THAT(refused("policy_version: 1\nallow: cpu\n"), HasSubstr("a list of provider names"));
  EXPECT_THAT(refused("policy_version: 1\ndeny: ['a b']\n"), StartsWith("/etc/epiphyte.yaml:2:"));
}

TEST(Policy, AFileThatCantBeReadIsAnError) {
  const test::TempDir folder;
  test::ErrorOf(StatusCode::kNoSuchFile, [&] { ReadPolicy(folder / "missing.yaml"); });
  test::ErrorOf(StatusCode::kInvalidArgument, [&] { ReadPolicy(folder.path()); });
  test::ErrorOf(StatusCode::kInvalidArgument, [&] { ReadPolicy(folder.Write("big.yaml", std::string(70'000, '#'))); });
}

}  // namespace
}  // namespace epiphyte::core
