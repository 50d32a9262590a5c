#include "core/registry/plugin_table.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/base/abi_fill.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/text.h"
#include "core/base/watched_call.h"
#include "core/registry/descriptor.h"
#include "core/registry/library.h"
#include "core/registry/manifest_digest.h"
#include "core/registry/module.h"
#include "core/registry/refusal.h"

namespace epiphyte::core {
namespace {

// Usual and largest count of devices. kUsualDevices fit in one call; more need a second one. A count beyond kMaxDevices
// is not plausible.
constexpr uint32_t kUsualDevices = 64;
constexpr uint32_t kMaxDevices = 4096;

struct Environment {
  EpPluginEnvironment abi = {};
  std::vector<EpKeyValue> parameters;
};

struct Slot {
  LoadedPlugin plugin;
  uint64_t users = 0;
};

// Slots and strings are never removed: plugins and callers keep pointers to them.
struct Table {
  std::mutex mutex;
  std::map<std::string, Slot> slots;  // key: see KeyOf, or the address of a query function
  std::set<std::string> strings;
  std::map<std::string, Environment> environments;  // key: the slot's key and the manifest
};

// Leaked, because plugins are used until the process ends.
Table& TheTable() {
  static Table* const table = new Table;
  return *table;
}

[[noreturn]] void Escaped(std::string_view call, std::string_view what) {
  throw Refusal(PluginState::kInitFailed, fmt::format("{} let a C++ exception escape: {}", call, PrintableLine(what)),
                "report this to the plugin's vendor");
}

// Calls into the plugin. A plugin must not throw; one that does is refused instead of ending the process.
template <typename Call>
auto Guarded(std::string_view plugin, std::string_view name, Call&& call) {
  try {
    const WatchedCall watched(plugin, name, WatchedCall::kFolder);
    return call();
  } catch (const std::exception& exception) {
    Escaped(name, ReasonOf(exception));
  } catch (...) {
    Escaped(name, "of unknown type");
  }
}

void Announce(const StepObserver& observer, std::string_view step) {
  if (observer) observer(step);
}

// Takes over and releases the status.
std::string TakeMessage(EpStatus* status, const EpHostInfo& host) {
  const char* text = host.status->GetMessage(status);
  std::string message = PrintableLine(text == nullptr ? "" : text);
  host.status->Release(status);
  return message;
}

// Takes over and releases the status.
void RefuseOnStatus(std::string_view call, EpStatus* status, const EpHostInfo& host) {
  if (status == nullptr) return;
  throw Refusal(PluginState::kInitFailed, fmt::format("{} failed: {}", call, TakeMessage(status, host)));
}

// Whether the plugin has ABI 0.1. Such plugins answer null to a host that doesn't offer that version. They are queried
// again with a host that does, and then identify themselves. The query reads nothing of that host but its versions.
bool IsOfAbi01(EpPluginQueryFunction query, const EpHostInfo& host, const EpPluginEnvironment& environment) {
  static const EpHostInfo* const kOffer = [&] {
    auto* offer = new EpHostInfo(host);  // leaked: a plugin may keep the address
    offer->abi_min = EP_MAKE_ABI_VERSION(0, 1);
    offer->abi_max = EP_MAKE_ABI_VERSION(0, 1);
    return offer;
  }();
  return host.abi_min > kOffer->abi_max &&
         Guarded(environment.name, EP_PLUGIN_QUERY_SYMBOL, [&] { return query(kOffer, &environment); }) != nullptr;
}

// Opening is watched too, because static constructors are the plugin's code.
EpPluginQueryFunction OpenWatched(const std::filesystem::path& library, const Manifest& manifest) {
  WatchedCall::NoticeExit();
  EpPluginQueryFunction query = nullptr;
  {
    const WatchedCall watched(manifest.name, "a static constructor", WatchedCall::kFolder);
    query = OpenPluginLibrary(library, manifest.depends);
  }
  WatchedCall::NoticeExit();
  return query;
}

const EpPluginDescriptor* Query(EpPluginQueryFunction query, const EpHostInfo& host,
                                const EpPluginEnvironment& environment) {
  const EpPluginDescriptor* descriptor =
      Guarded(environment.name, EP_PLUGIN_QUERY_SYMBOL, [&] { return query(&host, &environment); });
  if (descriptor != nullptr) return descriptor;
  if (IsOfAbi01(query, host, environment)) RefuseAbi(EP_MAKE_ABI_VERSION(0, 1), host);
  throw Refusal(PluginState::kInitFailed,
                fmt::format("{} returned null: the library has no plugin for {}, or doesn't support ABI {}",
                            EP_PLUGIN_QUERY_SYMBOL,
                            environment.name[0] == '\0' ? "this program" : fmt::format("'{}'", environment.name),
                            AbiRangeName(host)),
                "correct `name`, `parameters` or `abi` in the manifest, or update the plugin");
}

std::vector<const EpDeviceInfo*> AskForDevices(const LoadedPlugin& plugin, const EpHostInfo& host) {
  std::vector<const EpDeviceInfo*> infos(kUsualDevices, nullptr);
  uint32_t count = 0;
  const auto ask = [&] {
    const auto capacity = static_cast<uint32_t>(infos.size());
    EpStatus* status = Guarded(plugin.name, "GetDevices", [&] {
      return plugin.descriptor->GetDevices(plugin.plugin, infos.data(), capacity, &count);
    });
    if (status != nullptr && host.status->GetCode(status) == EP_STATUS_NOT_FOUND) {
      const std::string why = TakeMessage(status, host);
      throw Refusal(PluginState::kNoDevice, why.empty() ? "the plugin found no device that it can use" : why,
                    "check the device and its driver");
    }
    RefuseOnStatus("GetDevices", status, host);
    if (count <= kMaxDevices) return;
    throw Refusal(PluginState::kInitFailed,
                  fmt::format("GetDevices reports {} devices; at most {} are possible", count, kMaxDevices),
                  "report this to the plugin's vendor");
  };
  ask();
  if (count > infos.size()) {
    infos.assign(count, nullptr);
    ask();
  }
  // Devices may come and go between the calls.
  infos.resize(std::min<size_t>(count, infos.size()));
  return infos;
}

std::vector<Device> ReadDevices(const LoadedPlugin& plugin, const EpHostInfo& host) {
  const std::vector<const EpDeviceInfo*> infos = AskForDevices(plugin, host);
  if (infos.empty()) {
    throw Refusal(PluginState::kNoDevice, "the plugin found no device that it can use",
                  "check the device and its driver");
  }
  std::vector<Device> devices;
  for (size_t i = 0; i < infos.size(); ++i) {
    const EpDeviceInfo* info = infos[i];
    const std::string what = fmt::format("GetDevices: device {}", i);
    const std::string problem = info == nullptr ? "it is null" : AbiProblem(*info);
    if (!problem.empty()) {
      throw Refusal(PluginState::kInitFailed, fmt::format("{} is malformed: {}", what, problem),
                    "report this to the plugin's vendor");
    }
    // A kind that a later ABI added counts as "other" here.
    const EpDeviceKind kind = std::min<EpDeviceKind>(info->kind, EP_DEVICE_OTHER);
    Device device;
    device.kind = kind;
    device.name = CheckedString(info->name, what + "'s name");
    device.vendor = CheckedString(info->vendor, what + "'s vendor");
    device.driver_version = CheckedString(info->driver_version, what + "'s driver_version");
    device.architecture = CheckedString(info->architecture, what + "'s architecture");
    device.location = CheckedString(info->location, what + "'s location");
    device.uuid = CheckedString(info->uuid, what + "'s uuid");
    device.vendor_id = info->vendor_id;
    device.device_id = info->device_id;
    device.memory_bytes = info->memory_bytes;
    device.compile_only = (info->flags & EP_DEVICE_COMPILE_ONLY) != 0;
    device.integrated = (info->flags & EP_DEVICE_INTEGRATED) != 0;
    device.lost = (info->flags & EP_DEVICE_LOST) != 0;
    device.software = (info->flags & EP_DEVICE_SOFTWARE) != 0;
    devices.push_back(std::move(device));
  }
  return devices;
}

// Returns null when the plugin doesn't declare its options.
const EpOptionsApi* FindOptionsTable(const LoadedPlugin& plugin, const StepObserver& observer) {
  if (plugin.descriptor->GetExtension == nullptr) return nullptr;
  Announce(observer, "calling GetExtension");
  const auto* table = static_cast<const EpOptionsApi*>(Guarded(plugin.name, "GetExtension", [&] {
    return plugin.descriptor->GetExtension(plugin.plugin, EP_OPTIONS_EXTENSION);
  }));
  if (table == nullptr) return nullptr;
  std::string problem = AbiProblem(*table);
  if (problem.empty() && table->GetOptions == nullptr) problem = "EpOptionsApi::GetOptions is null";
  if (problem.empty()) return table;
  throw Refusal(PluginState::kInitFailed,
                fmt::format("the table of {} is malformed: {}", EP_OPTIONS_EXTENSION, problem),
                "report this to the plugin's vendor");
}

std::optional<std::vector<OptionDeclaration>> AskForOptions(const LoadedPlugin& plugin, const EpHostInfo& host,
                                                            const StepObserver& observer) {
  const EpOptionsApi* table = FindOptionsTable(plugin, observer);
  if (table == nullptr) return std::nullopt;
  Announce(observer, "calling GetOptions");
  std::vector<const EpOptionInfo*> infos(EP_MAX_OPTIONS, nullptr);
  uint32_t count = 0;
  EpStatus* status = Guarded(plugin.name, "GetOptions",
                             [&] { return table->GetOptions(plugin.plugin, infos.data(), EP_MAX_OPTIONS, &count); });
  RefuseOnStatus("GetOptions", status, host);
  std::string problem;
  if (count > EP_MAX_OPTIONS) {
    problem = fmt::format("it reports {} options; at most {} are possible", count, EP_MAX_OPTIONS);
  } else {
    infos.resize(count);
    try {
      return ReadDeclarations(infos);
    } catch (const BadOption& bad) {
      problem = bad.message();
    }
  }
  throw Refusal(PluginState::kInitFailed, fmt::format("GetOptions: {}", problem), "report this to the plugin's vendor");
}

// A manifest's options are a claim, too, so they are checked against the plugin's declarations.
void CheckManifestOptions(const LoadedPlugin& plugin, const Manifest& manifest) {
  if (!plugin.options) return;
  if (const auto wrong = FindWrong(*plugin.options, manifest.options)) {
    throw Refusal(PluginState::kManifestMismatch,
                  fmt::format("{} of {} {}", wrong->subject,
                              manifest.path.empty() ? "those given with the library" : "the manifest", wrong->problem),
                  manifest.path.empty() ? "give the options that the plugin has"
                                        : "correct `options` in the manifest, or install manifest and library of the "
                                          "same release");
  }
}

void Shutdown(const LoadedPlugin& plugin) {
  try {
    const WatchedCall watched(plugin.name, "Shutdown", WatchedCall::kFolder);
    plugin.descriptor->Shutdown(plugin.plugin);
  } catch (...) {
    Log(LogLevel::kError, "registry", "plugin '{}': Shutdown let a C++ exception escape", plugin.name);
  }
}

using Parameters = std::map<std::string, std::string>;

// Key of a plugin's slot. One library may serve several manifests, each as a separate plugin.
std::string KeyOf(const std::filesystem::path& library, const Manifest& manifest, const EpHostInfo& host) {
  std::string key = fmt::format("{}\n{}\n{}", static_cast<const void*>(&host), library.string(), manifest.name);
  for (const auto& [name, value] : manifest.parameters) key += fmt::format("\n{}={}", name, value);
  return key;
}

// Returns the same environment for the same plugin and manifest during the life of the process.
const EpPluginEnvironment& EnvironmentOf(const std::string& key, const std::filesystem::path& library,
                                         const std::filesystem::path& manifest, const std::string& name,
                                         const Parameters& parameters, Table* table) {
  const auto [found, is_new] = table->environments.try_emplace(fmt::format("{}\n{}", key, manifest.string()));
  Environment& environment = found->second;
  if (!is_new) return environment.abi;
  const auto keep = [&](const std::string& text) { return table->strings.insert(text).first->c_str(); };
  for (const auto& [parameter, value] : parameters) {
    environment.parameters.push_back({keep(parameter), keep(value)});
  }
  EpPluginEnvironment& abi = environment.abi;
  abi.struct_size = sizeof abi;
  abi.parameter_count = static_cast<uint32_t>(environment.parameters.size());
  abi.library_path = keep(library.string());
  abi.directory = keep(library.parent_path().string());
  abi.manifest_path = keep(manifest.string());
  abi.name = keep(name);
  abi.parameters = environment.parameters.data();
  return abi;
}

PluginFacts FactsOf(const LoadedPlugin& plugin) { return {plugin.name, plugin.vendor, plugin.version, plugin.sources}; }

// `plugin` has library and manifest already. Fills in the rest, or throws and leaves nothing initialized.
void Initialize(LoadedPlugin* plugin, const EpPluginDescriptor* descriptor, PluginFacts facts, const EpHostInfo& host,
                const EpPluginEnvironment& environment, const Manifest& manifest, const StepObserver& observer = {}) {
  plugin->descriptor = descriptor;
  plugin->plugin = nullptr;
  plugin->initialized = ForkMark();
  plugin->name = std::move(facts.name);
  plugin->vendor = std::move(facts.vendor);
  plugin->version = std::move(facts.version);
  plugin->sources = std::move(facts.sources);
  Announce(observer, "calling Initialize");
  EpStatus* status =
      Guarded(plugin->name, "Initialize", [&] { return descriptor->Initialize(&host, &environment, &plugin->plugin); });
  RefuseOnStatus("Initialize", status, host);
  try {
    Announce(observer, "calling GetDevices");
    plugin->devices = ReadDevices(*plugin, host);
    plugin->options = AskForOptions(*plugin, host, observer);
    CheckManifestOptions(*plugin, manifest);
  } catch (...) {
    Shutdown(*plugin);
    throw;
  }
}

// Refuses a plugin that the parent process has initialized and not shut down before the fork.
void RefuseInherited(const Slot& slot) {
  if (slot.users == 0) return;
  try {
    slot.plugin.RequireUsableHere();
  } catch (const Error& error) {
    throw Refusal(PluginState::kInitFailed, error.message());
  }
}

void CheckDigest(const std::filesystem::path& library, const Manifest& manifest) {
  if (manifest.sha256.empty()) return;
  const std::string found = Sha256OfFile(library);
  if (found == manifest.sha256) return;
  throw Refusal(PluginState::kDigestMismatch,
                fmt::format("'{}' has SHA-256 {}, {} {}", library.string(), found,
                            manifest.path.empty() ? "the one given with it is" : "the manifest says", manifest.sha256),
                WhyDigestsDiffer(library, manifest.path));
}

void CheckFacts(const PluginFacts& facts, const Manifest& manifest, const FactsCheck& check) {
  if (!manifest.path.empty()) CompareWithManifest(facts, manifest);
  if (check) check(facts);
}

}  // namespace

const LoadedPlugin& AcquirePlugin(const std::filesystem::path& library, const Manifest& manifest,
                                  const EpHostInfo& host, const StepObserver& observer, const FactsCheck& check) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const std::string key = KeyOf(library, manifest, host);
  Slot& slot = table.slots[key];
  CheckDigest(library, manifest);
  RefuseInherited(slot);
  if (slot.users > 0) {
    CheckFacts(FactsOf(slot.plugin), manifest, check);
    CheckManifestOptions(slot.plugin, manifest);
  } else {
    Announce(observer, "opening the library");
    const EpPluginQueryFunction query = OpenWatched(library, manifest);
    Announce(observer, "calling EpPluginQuery");
    const EpPluginEnvironment& environment =
        EnvironmentOf(key, library, manifest.path, manifest.name, manifest.parameters, &table);
    const EpPluginDescriptor* descriptor = Query(query, host, environment);
    PluginFacts facts = CheckDescriptor(descriptor, host);
    CheckFacts(facts, manifest, check);
    slot.plugin.library = library;
    slot.plugin.manifest = manifest.path;
    slot.plugin.parameters = manifest.parameters;
    Initialize(&slot.plugin, descriptor, std::move(facts), host, environment, manifest, observer);
  }
  ++slot.users;
  return slot.plugin;
}

const LoadedPlugin& AcquirePlugin(EpPluginQueryFunction query, const EpHostInfo& host, const FactsCheck& check) {
  if (query == nullptr) throw Refusal(PluginState::kSymbolMissing, "the query function is null");
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const auto* address = reinterpret_cast<const void*>(query);
  const std::string key = fmt::format("{} query function {}", static_cast<const void*>(&host), address);
  Slot& slot = table.slots[key];
  RefuseInherited(slot);
  if (slot.users > 0) {
    check(FactsOf(slot.plugin));
  } else {
    slot.plugin.library = ModuleOf(address);
    WatchedCall::NoticeExit();
    const EpPluginEnvironment* const environment = &EnvironmentOf(key, slot.plugin.library, {}, "", {}, &table);
    const EpPluginDescriptor* descriptor = Query(query, host, *environment);
    PluginFacts facts = CheckDescriptor(descriptor, host);
    check(facts);
    Initialize(&slot.plugin, descriptor, std::move(facts), host, *environment, Manifest());
  }
  ++slot.users;
  return slot.plugin;
}

void ReleasePlugin(const LoadedPlugin& plugin) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  for (auto& [key, slot] : table.slots) {
    if (&slot.plugin != &plugin) continue;
    if (slot.users > 0 && --slot.users == 0 && slot.plugin.IsUsableHere()) Shutdown(slot.plugin);
    return;
  }
}

}  // namespace epiphyte::core
