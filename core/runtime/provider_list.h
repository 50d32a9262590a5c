// Provider list: the providers that a session uses, in order, and their options. This is the one place that decides it.
//
// With a list in the session options: exactly these, in that order. The fallback provider, marked by
// `fallback: true` in its manifest, is added last if it isn't listed already, unless session.disable_cpu_ep_fallback
// is 1.
//
// Without a list: every usable plugin in the catalog's order, the fallback provider at its place by priority. Plugins
// with only devices that the CPU emulates are left out.
//
// A plugin that was named, in the list or by options given for it, must load and take its options. Other plugins that
// don't are left out with a warning in the log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/provider.h"
#include "core/device/devices.h"
#include "core/registry/catalog.h"
#include "core/registry/provider_setup.h"
#include "core/runtime/session_config.h"

namespace epiphyte::core {

// A provider with its checked and completed options. `fallback`: it takes nodes that no other provider takes; they stay
// plain in a context model unless it is listed.
struct ChosenProvider : ProviderSetup {
  const LoadedPlugin* plugin = nullptr;
  bool listed = false;       // the session listed it by name
  bool has_options = false;  // the session gave it options
};

// Opens the needed libraries and makes no provider. Throws NOT_FOUND or EP_FAIL for a named plugin that can't be used.
// Throws INVALID_ARGUMENT for options of a plugin that the session doesn't use, for undeclared options, for values that
// don't fit, and for an impossible device.
std::vector<ChosenProvider> ChooseProviders(Catalog& catalog, const SessionConfig& config);

// The providers of one session. They are chosen, and their options checked, when the first part of the session needs
// them; then they stay. Not thread-safe.
class ChosenProviders {
 public:
  // Both must outlive this object.
  ChosenProviders(Catalog& catalog, const SessionConfig& config) : catalog_(catalog), config_(config) {}
  // Throws as ChooseProviders does.
  const std::vector<ChosenProvider>& Get() const;

 private:
  Catalog& catalog_;
  const SessionConfig& config_;
  mutable std::optional<std::vector<ChosenProvider>> chosen_;
};

// The session's choice of providers, for callers that judge contexts without making the session.
ProviderRequest RequestOf(const SessionConfig& config);

struct ProviderSlot : ChosenProvider {
  std::shared_ptr<Provider> provider;
  std::vector<PluginDevice*> with_memory;  // present `devices` that have memory of their own

  // Names of the devices, with commas between them.
  std::string DeviceNames() const;
  // Returns a device of the provider that isn't present, so that contexts can be compiled for it, but nothing runs;
  // null when there is none.
  const Device* AbsentDevice() const;
};

// Makes the chosen providers with the given config; their options and devices are put into it. Throws a named
// provider's own error; another one that can't be made is left out. `memories` has the memories of their devices.
std::vector<ProviderSlot> MakeProviders(const std::vector<ChosenProvider>& chosen, ProviderConfig config,
                                        Devices& memories);

}  // namespace epiphyte::core
