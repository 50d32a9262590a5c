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
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/provider.h"
#include "core/device/devices.h"
#include "core/registry/catalog.h"
#include "core/registry/provider_setup.h"
#include "core/runtime/session_config.h"

namespace epiphyte::core {

struct ChosenProvider {
  const LoadedPlugin* plugin = nullptr;
  bool listed = false;  // the session listed it by name
  // Takes nodes that no other provider takes; they stay plain in a context model unless it is listed.
  bool fallback = false;
  bool has_options = false;  // the session gave it options
  std::vector<uint32_t> devices = {0};
  std::string cannot_run;  // see ProviderSetup
  // Options for the plugin: the session's own, then the policy's, then the manifest's. If the plugin declares its
  // options, the defaults last.
  std::map<std::string, std::string> options;
};

// Opens the needed libraries and makes no provider. Throws NOT_FOUND or EP_FAIL for a named plugin that can't be used.
// Throws INVALID_ARGUMENT for options of a plugin that the session doesn't use, for undeclared options, for values that
// don't fit, and for an impossible device.
std::vector<ChosenProvider> ChooseProviders(Catalog& catalog, const SessionConfig& config);

// The session's choice of providers, for callers that judge contexts without making the session.
ProviderRequest RequestOf(const SessionConfig& config);

struct ProviderSlot {
  const LoadedPlugin* plugin = nullptr;
  std::shared_ptr<Provider> provider;
  bool listed = false;  // see ChosenProvider
  bool fallback = false;

  std::vector<uint32_t> devices = {0};
  std::map<std::string, std::string> options;  // options that the provider was made with
  std::vector<PluginDevice*> with_memory;      // present `devices` that have memory of their own

  // Names of the devices, with commas between them.
  std::string DeviceNames() const;
  // Returns a device of the provider that isn't present, so that contexts can be compiled for it, but nothing runs;
  // null when there is none.
  const Device* AbsentDevice() const;
};

// Makes the providers that ChooseProviders returns. `progress` replaces the one in the options; it may be empty. Throws
// the errors of ChooseProviders, and a named provider's own error. `spans`: see ProviderConfig. `memories`: gives the
// memories of their devices; null: not needed.
std::vector<ProviderSlot> MakeProviders(Catalog& catalog, const SessionConfig& config, ThreadPool* thread_pool,
                                        bool context_enabled, const ShareMembership& share,
                                        const ProgressFunction& progress, SpanSink* spans = nullptr,
                                        Devices* memories = nullptr);

}  // namespace epiphyte::core
