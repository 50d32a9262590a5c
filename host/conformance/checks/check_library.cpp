// Checks of the library, its descriptor, the plugin and its devices.
#include <cstring>

#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {

void PassAll(Journal& journal, std::initializer_list<Rule> rules) {
  for (const Rule rule : rules) journal.Pass(rule);
}

void NotApplicable(Journal& journal, std::initializer_list<Rule> rules, const char* why) {
  for (const Rule rule : rules) journal.NotApplicable(rule, why);
}

std::vector<Probe> Bench::Claimed(std::initializer_list<Rule> rules) {
  Session session(plugin(), {});
  std::vector<Probe> claimed = ClaimedProbes(session);
  if (claimed.empty())
    NotApplicable(journal(), rules, "the plugin claims none of the suite's graphs; --models brings others");
  return claimed;
}

const void* Bench::FindExtension(const char* id) {
  const EpPluginDescriptor& descriptor = plugin_->descriptor();
  if (descriptor.GetExtension == nullptr) return nullptr;
  const void* table = nullptr;
  CallPlugin(host_, Rule::kExtensionsByName, "GetExtension", [&]() -> EpStatus* {
    table = descriptor.GetExtension(plugin_->handle(), id);
    return nullptr;
  });
  return table;
}

void Bench::Finish() {
  plugin_->Close();
  host_.CheckStatusesAreReleased();
  host_.EndIfViolated();
  PassAll(journal(), {Rule::kDoesNotCrash, Rule::kStatusesAreTheHosts, Rule::kReturnedStatusesAreGivenAway,
                      Rule::kStatusesAreReleased, Rule::kStatusesReleasedOnce, Rule::kFailuresHaveAMessage,
                      Rule::kReleasesKeepExceptions});
}

namespace {

void CheckExports(Journal& journal, const Target& target) {
  DebugHost host(journal);
  const PluginLibrary library(host, target);
  library.CheckExports();
}

void CheckQuery(Journal& journal, const Target& target) {
  DebugHost host(journal);
  PluginLibrary library(host, target);
  const EpPluginDescriptor* first = library.Query(host.info());
  library.CheckDescriptor(*first);
  EpPluginDescriptor before;
  std::memcpy(&before, first, sizeof(before));
  const EpPluginDescriptor* again = library.Query(host.info());
  Demand(host, std::memcmp(&before, again, sizeof(before)) == 0, Rule::kQueryIsConstant,
         "the second answer differs from the first");
  journal.Pass(Rule::kQueryIsConstant);
}

void CheckInitialize(Journal& journal, const Target& target) {
  DebugHost host(journal);
  PluginLibrary library(host, target);
  const EpPluginDescriptor* descriptor = library.Query(host.info());
  library.CheckDescriptor(*descriptor);
  { Plugin first(library, descriptor, host.info()); }
  descriptor = library.Query(host.info());
  EpPlugin* plugin = nullptr;
  const DebugHost::Failure failure = CallPlugin(host, Rule::kInitializeKeepsExceptions, "the second Initialize", [&] {
    return descriptor->Initialize(host.info(), library.environment(), &plugin);
  });
  if (failure) EndWith(host, Rule::kInitializeComesAgain, Describe(failure));
  journal.Pass(Rule::kInitializeComesAgain);
  CallRelease(host, "the second Shutdown", [&] { descriptor->Shutdown(plugin); });
}

void CheckDevices(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<const EpDeviceInfo*> first = bench.plugin().Devices();
  const std::vector<std::string> names = [&] {
    std::vector<std::string> all;
    for (const EpDeviceInfo* device : first) all.emplace_back(device->name);
    return all;
  }();
  { Session session(bench.plugin(), {}); }
  const std::vector<const EpDeviceInfo*> again = bench.plugin().Devices();
  Demand(bench.host(), first == again, Rule::kDevicesStay, "GetDevices gave other infos the second time");
  for (size_t i = 0; i < first.size(); ++i) {
    Demand(bench.host(), names[i] == first[i]->name, Rule::kDevicesStay, "a device's name changed");
  }
  journal.Pass(Rule::kDevicesStay);
  bench.Finish();
}

void CheckExtensions(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  if (bench.plugin().descriptor().GetExtension == nullptr) {
    return journal.NotApplicable(Rule::kExtensionsByName, "the plugin has no GetExtension");
  }
  for (const char* id : {"ep.conformance.no_such_extension/1", ""}) {
    const void* table = nullptr;
    CallPlugin(bench.host(), Rule::kExtensionsByName, "GetExtension", [&]() -> EpStatus* {
      table = bench.plugin().descriptor().GetExtension(bench.plugin().handle(), id);
      return nullptr;
    });
    Demand(bench.host(), table == nullptr, Rule::kExtensionsByName,
           std::string("GetExtension gave a table for '") + id + "'");
  }
  journal.Pass(Rule::kExtensionsByName);
  bench.Finish();
}

// A plugin that has two hosts must tell each object's host, whichever host was created last.
void CheckTwoHosts(Journal& journal, const Target& target) {
  DebugHost host(journal);
  PluginLibrary library(host, target);
  const EpPluginDescriptor* descriptor = library.Query(host.info());
  library.CheckDescriptor(*descriptor);
  Plugin first(library, descriptor, host.info());
  Plugin second(library, library.Query(host.second_info()), host.second_info());
  const std::map<std::string, std::string> unknown = {{"epiphyte_conformance_no_such_option", "1"}};
  const auto host_of = [&](Plugin& plugin) {
    const DebugHost::Failure failure = Session::TryCreate(plugin, unknown);
    return failure.code == EP_STATUS_INVALID_ARGUMENT ? failure.host : -1;
  };
  const int of_first = host_of(first);
  if (of_first < 0)
    return journal.NotApplicable(Rule::kTwoHostsSideBySide,
                                 "the plugin doesn't refuse an unknown option, so that no status tells its host");
  const bool right = of_first == 0 && host_of(second) == 1 && host_of(first) == 0;
  Demand(host, right, Rule::kTwoHostsSideBySide,
         "a status was made through another host than the one that the plugin was initialised with");
  journal.Pass(Rule::kTwoHostsSideBySide);
}

constexpr Check kLibraryChecks[] = {
    {"exports", CheckExports}, {"query", CheckQuery},           {"initialize", CheckInitialize},
    {"devices", CheckDevices}, {"extensions", CheckExtensions}, {"two hosts", CheckTwoHosts},
};

}  // namespace

std::span<const Check> LibraryChecks() { return kLibraryChecks; }

}  // namespace epiphyte::conformance
