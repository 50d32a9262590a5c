// Descriptor: EpPluginQuery's answer, checked before anything in it is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/plugin_entry.h"
#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

// Copies of a descriptor's strings.
struct PluginFacts {
  std::string name;
  std::string vendor;
  std::string version;
  std::vector<std::string> sources;
};

// Checks sizes, versions, strings and counts, and that every required function exists. Throws Refusal: AbiTooOld,
// AbiTooNew or InitFailed.
PluginFacts CheckDescriptor(const EpPluginDescriptor* descriptor, const EpHostInfo& host);

// Checks that the binary confirms its manifest, which is only a claim. The manifest decided about priority and sources,
// and its version is what people and caches know. Throws Refusal: ManifestMismatch.
void CompareWithManifest(const PluginFacts& facts, const Manifest& manifest);

// Checks a plugin's string: not null, ends within 256 bytes, UTF-8 text of one line. Throws Refusal (InitFailed) with
// `what`.
std::string CheckedString(const char* text, std::string_view what);

// Text of a version, such as "0.2".
std::string AbiVersionName(uint32_t version);
// Text of the host's version range: "0.2", or "1.0 to 1.3".
std::string AbiRangeName(const EpHostInfo& host);
// Whether a plugin that needs at least `version` works with this host.
bool IsSpoken(uint32_t version, const EpHostInfo& host);
// Throws Refusal (AbiTooOld, AbiTooNew) with what to do.
[[noreturn]] void RefuseAbi(uint32_t version, const EpHostInfo& host);

}  // namespace epiphyte::core
