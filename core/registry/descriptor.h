// Descriptor: what EpPluginQuery answered, checked before anything in it is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registry/plugin_entry.h"
#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {

// A descriptor's strings, copied.
struct PluginFacts {
  std::string name;
  std::string vendor;
  std::string version;
  std::vector<std::string> sources;
};

// Checks sizes, versions, strings, counts and that every required function is there. Throws Refusal: AbiTooOld,
// AbiTooNew or InitFailed.
PluginFacts CheckDescriptor(const EpPluginDescriptor* descriptor, const EpHostInfo& host);

// The manifest is a claim that decided about priority and sources, and its version is what people and caches know of
// the plugin; the binary must confirm it. Throws Refusal: ManifestMismatch.
void CompareWithManifest(const PluginFacts& facts, const Manifest& manifest);

// A plugin's string: not null, ends within 256 bytes, UTF-8 text of one line. Throws Refusal (InitFailed) with `what`.
std::string CheckedString(const char* text, std::string_view what);

// "0.2"
std::string AbiVersionName(uint32_t version);
// "0.2", or "1.0 to 1.3"
std::string AbiRangeName(const EpHostInfo& host);
// Whether a plugin that needs at least `version` works with this host.
bool IsSpoken(uint32_t version, const EpHostInfo& host);
// Throws Refusal (AbiTooOld, AbiTooNew) with what to do.
[[noreturn]] void RefuseAbi(uint32_t version, const EpHostInfo& host);

}  // namespace epiphyte::core
