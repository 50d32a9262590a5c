#include "core/registry/plugin_table.h"

#include <algorithm>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/text.h"
#include "core/registry/descriptor.h"
#include "core/registry/library.h"
#include "core/registry/module.h"
#include "core/registry/refusal.h"

namespace epiphyte::core {
namespace {

// So many fit in one call; more are asked for in a second one. Beyond the limit the count is no number of devices.
constexpr uint32_t kUsualDevices = 64;
constexpr uint32_t kMaxDevices = 4096;

struct Slot {
  LoadedPlugin plugin;
  uint64_t users = 0;
};

// Neither slots nor strings are ever removed: plugins and callers keep pointers to them.
struct Table {
  std::mutex mutex;
  std::map<std::string, Slot> slots;  // by library path, or by the address of a query function
  std::set<std::string> strings;
  std::list<EpPluginEnvironment> environments;
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

// Calls into the plugin. A plugin must not throw; one that does is refused, not fatal.
template <typename Call>
auto Guarded(std::string_view name, Call&& call) {
  try {
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

// Takes the status.
void RefuseOnStatus(std::string_view call, EpStatus* status, const EpHostInfo& host) {
  if (status == nullptr) return;
  const char* text = host.status->GetMessage(status);
  std::string message = PrintableLine(text == nullptr ? "" : text);
  host.status->Release(status);
  throw Refusal(PluginState::kInitFailed, fmt::format("{} failed: {}", call, message));
}

const EpPluginDescriptor* Query(EpPluginQueryFunction query, const EpHostInfo& host) {
  const EpPluginDescriptor* descriptor = Guarded(EP_PLUGIN_QUERY_SYMBOL, [&] { return query(&host); });
  if (descriptor == nullptr) {
    throw Refusal(PluginState::kInitFailed,
                  fmt::format("{} answered that it speaks none of the ABI versions {} to {}", EP_PLUGIN_QUERY_SYMBOL,
                              AbiVersionName(host.abi_min), AbiVersionName(host.abi_max)),
                  "update the plugin, or correct `abi` in its manifest");
  }
  return descriptor;
}

std::vector<const EpDeviceInfo*> AskForDevices(const LoadedPlugin& plugin, const EpHostInfo& host) {
  std::vector<const EpDeviceInfo*> infos(kUsualDevices, nullptr);
  uint32_t count = 0;
  const auto ask = [&] {
    const auto capacity = static_cast<uint32_t>(infos.size());
    EpStatus* status = Guarded(
        "GetDevices", [&] { return plugin.descriptor->GetDevices(plugin.plugin, infos.data(), capacity, &count); });
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
    if (info == nullptr || !EP_HAS_FIELD(info, EpDeviceInfo, architecture)) {
      throw Refusal(PluginState::kInitFailed,
                    fmt::format("{} is malformed: {}", what, info == nullptr ? "null" : "struct_size too small"),
                    "report this to the plugin's vendor");
    }
    // A kind that a later ABI added is some other device to this host.
    const EpDeviceKind kind = std::min<EpDeviceKind>(info->kind, EP_DEVICE_OTHER);
    devices.push_back({kind, CheckedString(info->name, what + "'s name"),
                       CheckedString(info->vendor, what + "'s vendor"),
                       CheckedString(info->driver_version, what + "'s driver_version"),
                       CheckedString(info->architecture, what + "'s architecture")});
  }
  return devices;
}

void Shutdown(const LoadedPlugin& plugin) {
  try {
    plugin.descriptor->Shutdown(plugin.plugin);
  } catch (...) {
    Log(LogLevel::kError, "registry", "plugin '{}': Shutdown let a C++ exception escape", plugin.name);
  }
}

const EpPluginEnvironment* MakeEnvironment(const LoadedPlugin& plugin, Table* table) {
  const auto keep = [&](const std::string& text) { return table->strings.insert(text).first->c_str(); };
  table->environments.push_back({sizeof(EpPluginEnvironment), 0, keep(plugin.library.string()),
                                 keep(plugin.library.parent_path().string()), keep(plugin.manifest.string())});
  return &table->environments.back();
}

PluginFacts FactsOf(const LoadedPlugin& plugin) { return {plugin.name, plugin.vendor, plugin.version, plugin.sources}; }

// `plugin` has library and manifest. Fills the rest, or throws and leaves nothing initialized.
void Initialize(LoadedPlugin* plugin, const EpPluginDescriptor* descriptor, PluginFacts facts, const EpHostInfo& host,
                Table* table, const StepObserver& observer = {}) {
  plugin->descriptor = descriptor;
  plugin->plugin = nullptr;
  plugin->name = std::move(facts.name);
  plugin->vendor = std::move(facts.vendor);
  plugin->version = std::move(facts.version);
  plugin->sources = std::move(facts.sources);
  const EpPluginEnvironment* environment = MakeEnvironment(*plugin, table);
  Announce(observer, "calling Initialize");
  EpStatus* status = Guarded("Initialize", [&] { return descriptor->Initialize(&host, environment, &plugin->plugin); });
  RefuseOnStatus("Initialize", status, host);
  try {
    Announce(observer, "calling GetDevices");
    plugin->devices = ReadDevices(*plugin, host);
  } catch (...) {
    Shutdown(*plugin);
    throw;
  }
}

void CheckDigest(const std::filesystem::path& library, const Manifest& manifest) {
  if (manifest.sha256.empty()) return;
  const std::string found = Sha256OfFile(library);
  if (found == manifest.sha256) return;
  throw Refusal(PluginState::kDigestMismatch,
                fmt::format("'{}' has SHA-256 {}, the manifest says {}", library.string(), found, manifest.sha256),
                "install manifest and library of the same release");
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
  Slot& slot = table.slots[library.string()];
  CheckDigest(library, manifest);
  if (slot.users > 0) {
    CheckFacts(FactsOf(slot.plugin), manifest, check);
  } else {
    Announce(observer, "opening the library");
    const EpPluginQueryFunction query = OpenPluginLibrary(library, manifest.depends);
    Announce(observer, "calling EpPluginQuery");
    const EpPluginDescriptor* descriptor = Query(query, host);
    PluginFacts facts = CheckDescriptor(descriptor, host);
    CheckFacts(facts, manifest, check);
    slot.plugin.library = library;
    slot.plugin.manifest = manifest.path;
    Initialize(&slot.plugin, descriptor, std::move(facts), host, &table, observer);
  }
  ++slot.users;
  return slot.plugin;
}

const LoadedPlugin& AcquirePlugin(EpPluginQueryFunction query, const EpHostInfo& host, const FactsCheck& check) {
  if (query == nullptr) throw Refusal(PluginState::kSymbolMissing, "the query function is null");
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const auto* address = reinterpret_cast<const void*>(query);
  Slot& slot = table.slots[fmt::format("query function {}", address)];
  if (slot.users > 0) {
    check(FactsOf(slot.plugin));
  } else {
    const EpPluginDescriptor* descriptor = Query(query, host);
    PluginFacts facts = CheckDescriptor(descriptor, host);
    check(facts);
    slot.plugin.library = ModuleOf(address);
    Initialize(&slot.plugin, descriptor, std::move(facts), host, &table);
  }
  ++slot.users;
  return slot.plugin;
}

void ReleasePlugin(const LoadedPlugin& plugin) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  for (auto& [key, slot] : table.slots) {
    if (&slot.plugin != &plugin) continue;
    if (slot.users > 0 && --slot.users == 0) Shutdown(slot.plugin);
    return;
  }
}

}  // namespace epiphyte::core
