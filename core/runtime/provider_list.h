// Provider list: which providers a session uses, in order, and with which options. The one place that decides it.
//
// With a list in the session options: exactly these, in that order; the fallback provider (a manifest says
// `fallback: true`) is added last if it isn't there already, unless session.disable_cpu_ep_fallback is 1. Without a
// list: every usable plugin in the catalog's order, the fallback provider in its place among them by its priority, but
// for plugins whose only devices are emulated by the CPU.
//
// A plugin that was named, in the list or by options given for it, must load and take its options; of the others those
// that don't are left out with a warning in the log.
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
  bool listed = false;       // the user asked for it by name
  bool fallback = false;     // takes what nobody else does; its nodes stay plain in a context model unless it is listed
  bool has_options = false;  // the user gave it options
  std::vector<uint32_t> devices = {0};
  std::string cannot_run;  // see ProviderSetup
  // The plugin's: the session's own, then the policy's, then the manifest's, then, of one that declares its options,
  // the defaults.
  std::map<std::string, std::string> options;
};

// Opens the libraries that are needed and makes no provider. Throws NOT_FOUND or EP_FAIL for one that was named and
// can't be used, INVALID_ARGUMENT for options of one that the session doesn't use, for such as a plugin hasn't declared
// or with values that don't fit, and for an impossible device.
std::vector<ChosenProvider> ChooseProviders(Catalog& catalog, const SessionConfig& config);

// What the session says of providers, for who judges contexts without making it.
ProviderRequest RequestOf(const SessionConfig& config);

struct ProviderSlot {
  const LoadedPlugin* plugin = nullptr;
  std::shared_ptr<Provider> provider;
  bool listed = false;  // see ChosenProvider
  bool fallback = false;

  std::vector<uint32_t> devices = {0};
  std::map<std::string, std::string> options;  // that the provider was made with
  std::vector<PluginDevice*> with_memory;      // those of `devices` that are here and have memory of their own

  // With commas between them.
  std::string DeviceNames() const;
  // One of them that isn't here, so that contexts can be compiled for it, but nothing runs; null when there is none.
  const Device* AbsentDevice() const;
};

// Those that ChooseProviders names, made. `progress` takes the place of the options' own; it may be empty. Throws what
// ChooseProviders throws, and a named provider's own error. `spans`: see ProviderConfig. `memories`: where their
// devices' memories are found; null: nobody wants them.
std::vector<ProviderSlot> MakeProviders(Catalog& catalog, const SessionConfig& config, ThreadPool* thread_pool,
                                        bool context_enabled, const ShareMembership& share,
                                        const ProgressFunction& progress, SpanSink* spans = nullptr,
                                        Devices* memories = nullptr);

}  // namespace epiphyte::core
