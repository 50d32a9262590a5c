#include "core/registry/descriptor.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/format.h>

#include "core/base/abi_fill.h"
#include "core/base/text.h"
#include "core/registry/refusal.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxStringBytes = 256;
constexpr uint32_t kMaxSources = 64;

[[noreturn]] void Malformed(std::string message) {
  throw Refusal(PluginState::kInitFailed, std::move(message), "report this to the plugin's vendor");
}

template <typename T>
void CheckStruct(const T& given) {
  if (std::string problem = AbiProblem(given); !problem.empty()) Malformed(std::move(problem));
}

template <typename Function>
void RequireFunction(Function* function, std::string_view name) {
  if (function == nullptr) Malformed(fmt::format("the descriptor's {} is null, a function expected", name));
}

template <typename First, typename Second>
void RequireBothOrNone(First* first, std::string_view first_name, Second* second, std::string_view second_name) {
  if ((first == nullptr) != (second == nullptr)) {
    Malformed(fmt::format("of {} and {} only one is there; both or none expected", first_name, second_name));
  }
}

void CheckProvider(const EpProviderApi* provider) {
  if (provider == nullptr) Malformed("the descriptor's provider table is null");
  CheckStruct(*provider);
  RequireFunction(provider->CreateProvider, "provider->CreateProvider");
  RequireFunction(provider->DestroyProvider, "provider->DestroyProvider");
  RequireFunction(provider->GetCapability, "provider->GetCapability");
  RequireFunction(provider->Compile, "provider->Compile");
  RequireFunction(provider->ReleaseKernel, "provider->ReleaseKernel");
  RequireFunction(provider->Execute, "provider->Execute");
  RequireBothOrNone(provider->GetEpContextNodes, "GetEpContextNodes", provider->LoadContext, "LoadContext");
  RequireBothOrNone(provider->CreateState, "CreateState", provider->ReleaseState, "ReleaseState");
}

std::vector<std::string> CheckSources(const EpPluginDescriptor& descriptor) {
  if (descriptor.source_count > kMaxSources) {
    Malformed(fmt::format("the descriptor has {} sources, at most {} expected", descriptor.source_count, kMaxSources));
  }
  if (descriptor.source_count > 0 && descriptor.sources == nullptr) {
    Malformed(fmt::format("the descriptor's sources are null, {} expected", descriptor.source_count));
  }
  std::vector<std::string> sources;
  for (uint32_t i = 0; i < descriptor.source_count; ++i) {
    sources.push_back(CheckedString(descriptor.sources[i], fmt::format("the descriptor's sources[{}]", i)));
    if (sources.back().empty()) Malformed(fmt::format("the descriptor's sources[{}] is empty", i));
  }
  return sources;
}

[[noreturn]] void Mismatch(std::string_view what, std::string_view key, std::string_view found,
                           std::string_view expected) {
  throw Refusal(PluginState::kManifestMismatch,
                fmt::format("the library says its {} '{}', the manifest says '{}'", what, found, expected),
                fmt::format("install manifest and library of the same release, or correct `{}` in the manifest; a "
                            "library that serves several manifests may take it from their `parameters`, like "
                            "`parameters: {{source: VendorNPU}}`",
                            key));
}

}  // namespace

std::string AbiVersionName(uint32_t version) {
  return fmt::format("{}.{}", EP_ABI_VERSION_MAJOR(version), EP_ABI_VERSION_MINOR(version));
}

std::string AbiRangeName(const EpHostInfo& host) {
  return host.abi_min == host.abi_max
             ? AbiVersionName(host.abi_max)
             : fmt::format("{} to {}", AbiVersionName(host.abi_min), AbiVersionName(host.abi_max));
}

bool IsSpoken(uint32_t version, const EpHostInfo& host) {
  return EP_ABI_VERSION_MAJOR(version) == EP_ABI_VERSION_MAJOR(host.abi_max) && version >= host.abi_min &&
         version <= host.abi_max;
}

void RefuseAbi(uint32_t version, const EpHostInfo& host) {
  const bool too_new = version > host.abi_max;
  throw Refusal(
      too_new ? PluginState::kAbiTooNew : PluginState::kAbiTooOld,
      fmt::format("the plugin was built for ABI {}; {} is spoken here", AbiVersionName(version), AbiRangeName(host)),
      too_new ? "update Epiphyte"
              : fmt::format("rebuild the plugin with the headers of ABI {}, or install a newer one",
                            AbiVersionName(host.abi_max)));
}

std::string CheckedString(const char* text, std::string_view what) {
  if (const std::string problem = LineProblem(text, kMaxStringBytes); !problem.empty()) {
    Malformed(fmt::format("{} {}", what, problem));
  }
  return text;
}

PluginFacts CheckDescriptor(const EpPluginDescriptor* descriptor, const EpHostInfo& host) {
  // The version is checked first, because the other fields depend on it.
  if (EP_HAS_FIELD(descriptor, EpPluginDescriptor, abi_version) && !IsSpoken(descriptor->abi_version, host)) {
    RefuseAbi(descriptor->abi_version, host);
  }
  CheckStruct(*descriptor);
  PluginFacts facts;
  facts.name = CheckedString(descriptor->name, "the descriptor's name");
  if (!IsProviderName(facts.name)) {
    Malformed(fmt::format("the descriptor's name is '{}'; expected 1 to 64 letters, digits, '_' or '-'", facts.name));
  }
  facts.vendor = CheckedString(descriptor->vendor, "the descriptor's vendor");
  facts.version = CheckedString(descriptor->version, "the descriptor's version");
  facts.sources = CheckSources(*descriptor);
  RequireFunction(descriptor->Initialize, "Initialize");
  RequireFunction(descriptor->Shutdown, "Shutdown");
  RequireFunction(descriptor->GetDevices, "GetDevices");
  CheckProvider(descriptor->provider);
  return facts;
}

void CompareWithManifest(const PluginFacts& facts, const Manifest& manifest) {
  if (facts.name != manifest.name) Mismatch("name is", "name", facts.name, manifest.name);
  const std::set<std::string> found(facts.sources.begin(), facts.sources.end());
  const std::set<std::string> expected(manifest.sources.begin(), manifest.sources.end());
  if (found != expected) {
    Mismatch("sources are", "sources", fmt::format("{}", fmt::join(found, ", ")),
             fmt::format("{}", fmt::join(expected, ", ")));
  }
  if (facts.version != manifest.version) Mismatch("version is", "version", facts.version, manifest.version);
}

}  // namespace epiphyte::core
