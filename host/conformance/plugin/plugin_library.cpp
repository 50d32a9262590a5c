#include "host/conformance/plugin/plugin_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/base/error.h"
#include "core/registry/exports.h"
#include "core/registry/manifest.h"

namespace epiphyte::conformance {
namespace {

constexpr uint32_t kMaxSources = 64;

// Captures standard output and error until the destructor.
class CaughtOutput {
 public:
  CaughtOutput() {
    std::fflush(stdout);
    std::fflush(stderr);
    file_ = std::tmpfile();
    for (int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[descriptor - 1] = dup(descriptor);
      if (file_ != nullptr) dup2(fileno(file_), descriptor);
    }
  }
  ~CaughtOutput() {
    for (int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      dup2(saved_[descriptor - 1], descriptor);
      close(saved_[descriptor - 1]);
    }
    if (file_ != nullptr) std::fclose(file_);
  }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  size_t bytes() const {
    std::fflush(stdout);
    std::fflush(stderr);
    return file_ == nullptr ? 0 : static_cast<size_t>(lseek(fileno(file_), 0, SEEK_CUR));
  }

 private:
  std::FILE* file_;
  int saved_[2];
};

}  // namespace

void EndWith(DebugHost& host, Rule rule, const std::string& message) {
  host.Violate(rule, message);
  throw CheckEnded();
}

std::string Describe(const DebugHost::Failure& failure) {
  return std::string(core::StatusCodeName(static_cast<core::StatusCode>(failure.code))) + ": " + failure.message;
}

PluginLibrary::PluginLibrary(DebugHost& host, const Target& target)
    : host_(host), target_(target), directory_(target.library.parent_path().string()) {
  for (const auto& [key, value] : target_.parameters) parameters_.push_back({key.c_str(), value.c_str()});
  environment_.struct_size = sizeof(environment_);
  environment_.library_path = target_.library.c_str();
  environment_.directory = directory_.c_str();
  environment_.manifest_path = target_.manifest.c_str();
  environment_.name = target_.name.c_str();
  environment_.parameters = parameters_.data();
  environment_.parameter_count = static_cast<uint32_t>(parameters_.size());

  host_.Step("opening the library");
  void* library = dlopen(target_.library.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr) {
    const char* why = dlerror();
    EndWith(host_, Rule::kLibraryLoads, why == nullptr ? "the dynamic loader refuses it" : why);
  }
  host_.journal().Pass(Rule::kLibraryLoads);
  query_ = reinterpret_cast<EpPluginQueryFunction>(dlsym(library, EP_PLUGIN_QUERY_SYMBOL));
  Demand(host_, query_ != nullptr, Rule::kExportsQuery, "there is no symbol EpPluginQuery");
  host_.journal().Pass(Rule::kExportsQuery);
}

void PluginLibrary::CheckExports() const {
  const std::string more = core::NeedlessExports(target_.library);
  Demand(host_, more.empty(), Rule::kExportsNothingElse, "it exports " + more);
  host_.journal().Pass(Rule::kExportsNothingElse);
}

const EpPluginDescriptor* PluginLibrary::Query(const EpHostInfo* info) {
  const EpPluginDescriptor* descriptor = nullptr;
  size_t printed = 0;
  {
    const CaughtOutput output;
    CallPlugin(host_, Rule::kQueryKeepsExceptions, "EpPluginQuery", [&]() -> EpStatus* {
      descriptor = query_(info, &environment_);
      return nullptr;
    });
    printed = output.bytes();
  }
  Demand(host_, printed == 0, Rule::kQueryIsSilent, "EpPluginQuery printed " + std::to_string(printed) + " bytes");
  Demand(host_, descriptor != nullptr, Rule::kQueryAnswers, "EpPluginQuery answered null");
  for (const Rule rule : {Rule::kQueryKeepsExceptions, Rule::kQueryIsSilent, Rule::kQueryAnswers})
    host_.journal().Pass(rule);
  return descriptor;
}

void PluginLibrary::CheckDescriptor(const EpPluginDescriptor& descriptor) const {
  host_.Step("reading the descriptor");
  Demand(host_, descriptor.struct_size >= sizeof(EpPluginDescriptor), Rule::kDescriptorIsWhole,
         "struct_size is " + std::to_string(descriptor.struct_size) + ", at least " +
             std::to_string(sizeof(EpPluginDescriptor)) + " is expected");
  const uint32_t version = descriptor.abi_version;
  Demand(host_,
         EP_ABI_VERSION_MAJOR(version) == EP_ABI_MAJOR && version <= EP_ABI_VERSION &&
             (EP_ABI_MAJOR != 0 || version == EP_ABI_VERSION),
         Rule::kAbiVersionFits,
         "abi_version is " + std::to_string(EP_ABI_VERSION_MAJOR(version)) + "." +
             std::to_string(EP_ABI_VERSION_MINOR(version)) + ", the host speaks " + std::to_string(EP_ABI_MAJOR) + "." +
             std::to_string(EP_ABI_MINOR));
  Demand(host_, IsOneLine(descriptor.name) && core::IsProviderName(descriptor.name), Rule::kNameIsAName,
         "the name is null or no provider's name");
  Demand(host_, IsOneLine(descriptor.vendor) && IsOneLine(descriptor.version), Rule::kVendorAndVersion,
         "vendor or version is null or can't be printed");
  Demand(host_, descriptor.source_count <= kMaxSources, Rule::kSourcesAreTexts,
         "source_count is " + std::to_string(descriptor.source_count));
  Demand(host_, descriptor.source_count == 0 || descriptor.sources != nullptr, Rule::kSourcesAreTexts,
         "sources is null");
  std::vector<std::string> sources;
  for (uint32_t i = 0; i < descriptor.source_count; ++i) {
    const char* source = descriptor.sources[i];
    Demand(host_, IsOneLine(source) && *source != '\0', Rule::kSourcesAreTexts,
           "source " + std::to_string(i) + " is null, empty or can't be printed");
    sources.emplace_back(source);
  }
  Demand(host_, descriptor.reserved == 0, Rule::kDescriptorReservedIsZero,
         "reserved of the descriptor is " + std::to_string(descriptor.reserved));
  Demand(host_, descriptor.Initialize != nullptr && descriptor.Shutdown != nullptr && descriptor.GetDevices != nullptr,
         Rule::kPluginFunctionsAreSet, "Initialize, Shutdown or GetDevices is null");
  const EpProviderApi* provider = descriptor.provider;
  Demand(host_, provider != nullptr, Rule::kProviderTableIsWhole, "there is no provider table");
  Demand(host_, provider->struct_size >= sizeof(EpProviderApi), Rule::kProviderTableIsWhole,
         "struct_size of the provider table is " + std::to_string(provider->struct_size) + ", at least " +
             std::to_string(sizeof(EpProviderApi)) + " is expected");
  Demand(host_, provider->reserved == 0, Rule::kDescriptorReservedIsZero,
         "reserved of the provider table is " + std::to_string(provider->reserved));
  const bool complete = provider->CreateProvider != nullptr && provider->DestroyProvider != nullptr &&
                        provider->GetCapability != nullptr && provider->Compile != nullptr &&
                        provider->ReleaseKernel != nullptr && provider->Execute != nullptr;
  Demand(host_, complete, Rule::kProviderFunctionsAreSet, "a function of the provider that is not optional is null");
  Demand(host_, (provider->GetEpContextNodes == nullptr) == (provider->LoadContext == nullptr),
         Rule::kContextFunctionsArePaired, "one of GetEpContextNodes and LoadContext is null");
  Demand(host_, (provider->CreateState == nullptr) == (provider->ReleaseState == nullptr),
         Rule::kStateFunctionsArePaired, "one of CreateState and ReleaseState is null");
  Demand(host_, provider->LoadContext == nullptr || !sources.empty(), Rule::kContextsHaveASource,
         "the plugin makes contexts and owns no source");
  for (int rule = static_cast<int>(Rule::kDescriptorIsWhole); rule <= static_cast<int>(Rule::kContextsHaveASource);
       ++rule) {
    if (rule != static_cast<int>(Rule::kNameIsTheManifests) && rule != static_cast<int>(Rule::kSourcesAreTheManifests))
      host_.journal().Pass(static_cast<Rule>(rule));
  }
  constexpr Rule kOfTheManifest[] = {Rule::kNameIsTheManifests, Rule::kSourcesAreTheManifests,
                                     Rule::kVersionIsTheManifests};
  if (target_.manifest.empty()) {
    for (const Rule rule : kOfTheManifest) host_.journal().NotApplicable(rule, "no manifest was given");
    return;
  }
  Demand(host_, target_.name == descriptor.name, Rule::kNameIsTheManifests,
         std::string("the descriptor says '") + descriptor.name + "', the manifest '" + target_.name + "'");
  std::vector<std::string> expected = target_.sources;
  std::sort(expected.begin(), expected.end());
  std::sort(sources.begin(), sources.end());
  Demand(host_, sources == expected, Rule::kSourcesAreTheManifests, "descriptor and manifest name other sources");
  Demand(host_, target_.version == descriptor.version, Rule::kVersionIsTheManifests,
         std::string("the descriptor says '") + descriptor.version + "', the manifest '" + target_.version + "'");
  for (const Rule rule : kOfTheManifest) host_.journal().Pass(rule);
}

}  // namespace epiphyte::conformance
