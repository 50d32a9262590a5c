#include "core/registry/manifest.h"
#include "core/registry/platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "epiphyte/ep_abi.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/manifest_text.h"

namespace epiphyte::core {
namespace {

using test::ManifestText;
using test::ManifestWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

Manifest Parse(std::string_view text) { return ParseManifest(text, "/plugins/acme.yaml"); }

std::string Refused(std::string_view text) {
  return test::ErrorOf(StatusCode::kInvalidArgument, [&] { Parse(text); });
}

TEST(Manifest, ReadsEveryKey) {
  const Manifest manifest = Parse(R"(
manifest_version: 1
name: vulkan
vendor: Epiphyte
version: 0.10
license: Apache-2.0
description: Vulkan compute
library: { linux-x86_64: libepiphyte_vulkan.so, windows-x86_64: epiphyte_vulkan.dll }
abi: "0.2"
sources: [EpiphyteVulkan, OldVulkan]
devices: [gpu, cpu]
priority: 200
enabled: false
sha256: BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD
depends: [libvulkan.so.1]
options: { device: 0, fast: true, cache: "x y" }
parameters: { backend: libacme.so.3, depth: 2 }
)");
  EXPECT_EQ(manifest.path, "/plugins/acme.yaml");
  EXPECT_EQ(manifest.name, "vulkan");
  EXPECT_EQ(manifest.vendor, "Epiphyte");
  EXPECT_EQ(manifest.version, "0.10") << "a version is no number";
  EXPECT_EQ(manifest.license, "Apache-2.0");
  EXPECT_EQ(manifest.description, "Vulkan compute");
  EXPECT_THAT(manifest.library, ElementsAre(Pair("linux-x86_64", "libepiphyte_vulkan.so"),
                                            Pair("windows-x86_64", "epiphyte_vulkan.dll")));
  EXPECT_THAT(manifest.parameters, ElementsAre(Pair("backend", "libacme.so.3"), Pair("depth", "2")));
  EXPECT_EQ(manifest.abi, EP_MAKE_ABI_VERSION(0, 2));
  EXPECT_THAT(manifest.sources, ElementsAre("EpiphyteVulkan", "OldVulkan"));
  EXPECT_THAT(manifest.devices, ElementsAre("gpu", "cpu"));
  EXPECT_EQ(manifest.priority, 200);
  EXPECT_FALSE(manifest.enabled);
  EXPECT_EQ(manifest.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_THAT(manifest.depends, ElementsAre("libvulkan.so.1"));
  EXPECT_THAT(manifest.options, ElementsAre(Pair("cache", "x y"), Pair("device", "0"), Pair("fast", "true")));
  EXPECT_THAT(manifest.notes, IsEmpty());
}

TEST(Manifest, MostKeysAreOptional) {
  const Manifest manifest = Parse(ManifestText("acme", "libacme.so"));
  EXPECT_THAT(manifest.library, ElementsAre(Pair("", "libacme.so"))) << "one library for every platform";
  EXPECT_THAT(manifest.sources, IsEmpty());
  EXPECT_EQ(manifest.priority, 0);
  EXPECT_TRUE(manifest.enabled);
  EXPECT_EQ(manifest.sha256, "");
}

TEST(Manifest, SomeKeysAreRequired) {
  for (const std::string_view key : {"manifest_version", "name", "vendor", "version", "library", "abi"}) {
    const std::string text = ManifestWith(fmt::format("{}:", key));
    EXPECT_THAT(Refused(text), StartsWith("/plugins/acme.yaml:")) << text;
    std::string without = "\n" + text;
    const size_t begin = without.find(fmt::format("\n{}:", key));
    without.erase(begin, without.find('\n', begin + 1) - begin);
    EXPECT_THAT(Refused(without), HasSubstr(fmt::format("key '{}' is missing", key)));
  }
}

TEST(Manifest, ADigestMayBeGivenForEachPlatform) {
  const std::string own(64, 'a');
  const std::string other(64, 'b');
  const std::string both = fmt::format("sha256: {{{}: {}, plan9-mips: {}}}", CurrentPlatform(), own, other);
  EXPECT_EQ(Parse(ManifestWith(both)).sha256, own);
  EXPECT_EQ(Parse(ManifestWith(fmt::format("sha256: {{plan9-mips: {}}}", other))).sha256, "");
}

TEST(Manifest, UnknownKeysAreNotesWithASuggestion) {
  const Manifest manifest = Parse(ManifestText("acme", "a.so", "priorty: 5\nx_vendor_key: 1\ndevices: [tpu]"));
  ASSERT_EQ(manifest.notes.size(), 3u);
  EXPECT_THAT(manifest.notes[0], HasSubstr("unknown key 'priorty' is ignored; did you mean 'priority'?"));
  EXPECT_THAT(manifest.notes[0], StartsWith("/plugins/acme.yaml:7:"));
  EXPECT_THAT(manifest.notes[1], HasSubstr("'x_vendor_key' is ignored"));
  EXPECT_THAT(manifest.notes[2], HasSubstr("unknown device kind 'tpu'"));
}

struct BadLine {
  const char* line;
  const char* message;
};

class BadManifestLine : public testing::TestWithParam<BadLine> {};

TEST_P(BadManifestLine, IsRefusedWithWhatWasExpected) {
  const std::string message = Refused(ManifestWith(GetParam().line));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_THAT(message, StartsWith("/plugins/acme.yaml:")) << "with file and line";
}

INSTANTIATE_TEST_SUITE_P(
    Manifest, BadManifestLine,
    testing::Values(BadLine{"manifest_version: 2", "update Epiphyte"}, BadLine{"manifest_version: 0", "1 expected"},
                    BadLine{"manifest_version: one", "integer expected"}, BadLine{"name: ''", "letters"},
                    BadLine{"name: a.b", "letters"}, BadLine{"name: ../x", "letters"}, BadLine{"name: -x", "letters"},
                    BadLine{"name: [a]", "string expected"}, BadLine{"name: \xC3\xA9", "letters"},
                    BadLine{"vendor: {a: b}", "string expected"}, BadLine{"version: []", "string expected"},
                    BadLine{"library: ../evil.so", "'..'"}, BadLine{"library: {linux-x86_64: a/../../b.so}", "'..'"},
                    BadLine{"library: {}", "empty map"}, BadLine{"library: [a.so]", "string expected"},
                    BadLine{"library: ''", "empty string"}, BadLine{"abi: 1", "\"0.2\" expected"},
                    BadLine{"abi: 0.1.2", "expected"}, BadLine{"abi: 0.70000", "expected"},
                    BadLine{"abi: -0.1", "expected"}, BadLine{"abi: x", "expected"}, BadLine{"abi: '0.'", "expected"},
                    BadLine{"sources: EpiphyteCPU", "list of strings"}, BadLine{"sources: [[a]]", "string expected"},
                    BadLine{"sources: ['']", "no usable source"}, BadLine{"sources: [A, B, A]", "found twice"},
                    BadLine{"devices: cpu", "list of strings"}, BadLine{"priority: high", "integer expected"},
                    BadLine{"priority: 1.5", "integer expected"}, BadLine{"priority: 99999999999", "between"},
                    BadLine{"enabled: yes", "true or false"}, BadLine{"enabled: 1", "true or false"},
                    BadLine{"sha256: abc", "64 hexadecimal"}, BadLine{"depends: {a: b}", "list of strings"},
                    BadLine{"options: [a]", "map of options"}, BadLine{"options: {a: {b: c}}", "string expected"},
                    BadLine{"options: {a: }", "string expected"}));

TEST(Manifest, RefusesFilesThatAreNoManifest) {
  EXPECT_THAT(Refused(""), HasSubstr("a map with the key 'manifest_version' expected"));
  EXPECT_THAT(Refused("just text"), HasSubstr("a map with the key 'manifest_version' expected"));
  EXPECT_THAT(Refused("- a\n- b\n"), HasSubstr("a map with the key"));
  EXPECT_THAT(Refused("\x7F"
                      "ELF\x02\x01\x01"),
              HasSubstr("UTF-8 text expected"));
  EXPECT_THAT(Refused(std::string(60'000, '[')), HasSubstr("levels"));
  EXPECT_THAT(Refused("a: &a [x]\nb: *a\n"), HasSubstr("anchors"));
}

TEST(Manifest, SourcesAreBounded) {
  std::string many = "sources: [a0";
  for (int i = 1; i < 65; ++i) many += fmt::format(", a{}", i);
  EXPECT_THAT(Refused(ManifestWith(many + "]")), HasSubstr("at most 64"));
  EXPECT_THAT(Refused(ManifestWith("sources: [" + std::string(129, 'a') + "]")), HasSubstr("no usable source"));
}

TEST(NameInManifest, ReadsWhatItCan) {
  EXPECT_EQ(NameInManifest("name: acme\nabi: wrong\n"), "acme");
  EXPECT_EQ(NameInManifest("name: '../evil'\n"), "");
  EXPECT_EQ(NameInManifest("nothing"), "");
  EXPECT_EQ(NameInManifest("name: [a\n"), "");
}

TEST(IsProviderName, IsFitForFileNamesAndOptionKeys) {
  for (const std::string_view good : {"cpu", "Acme-NPU_2", "0", "a"}) EXPECT_TRUE(IsProviderName(good)) << good;
  for (const std::string_view bad : {"", "-a", "_a", "a.b", "a/b", "a b", "a\n", "\xC3\xA9"}) {
    EXPECT_FALSE(IsProviderName(bad)) << bad;
  }
  EXPECT_TRUE(IsProviderName(std::string(64, 'a')));
  EXPECT_FALSE(IsProviderName(std::string(65, 'a')));
}

TEST(BundledManifests, AreValidAndSoIsTheSchemasExample) {
  const std::filesystem::path folder = std::filesystem::path(EPIPHYTE_SOURCE_DIR) / "plugin_manifests";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml" || entry.path().filename() == "policy_schema.yaml") continue;
    const Manifest manifest = ParseManifest(test::ReadFile(entry.path()), entry.path());
    EXPECT_THAT(manifest.notes, IsEmpty()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 2u);
}

TEST(BundledManifests, TheSchemaDescribesEveryKey) {
  const std::string schema =
      test::ReadFile(std::filesystem::path(EPIPHYTE_SOURCE_DIR) / "plugin_manifests/schema.yaml");
  for (const char* key :
       {"manifest_version", "name", "vendor", "version", "license", "description", "library", "abi", "sources",
        "devices", "priority", "enabled", "fallback", "sha256", "depends", "options", "parameters"}) {
    EXPECT_THAT(schema, HasSubstr("\n" + std::string(key) + ":"));
  }
}

}  // namespace
}  // namespace epiphyte::core
