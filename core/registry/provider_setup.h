// ProviderSetup: the options and devices that a plugin is used with. This is the one place that decides them: for
// sessions, which make a provider of them, and for callers that judge a context without a session.
//
//   const ProviderSetup setup = SetUpProvider(catalog, plugin, {{"precision", "bf16"}}, /*is_named=*/true);
//   Provider::Create(plugin, {.options = setup.options, .devices = setup.devices});
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/registry/catalog.h"
#include "core/registry/option_declaration.h"

namespace epiphyte::core {

struct ProviderSetup {
  // Given options first, then the policy's, then the manifest's. If the plugin declares its options, the defaults last.
  OptionMap options;
  std::vector<uint32_t> devices = {0};  // device numbers of the plugin, the main one first
  // An option chose the devices; false: they follow from the devices that the plugin has.
  bool has_device_option = false;
  bool fallback = false;  // as set in the manifest
  // Why sessions that don't name the plugin leave it out; "" when they use it.
  std::string left_out;
  // Why nothing can run on the devices: one of them is compile-only. "" when all are present.
  std::string cannot_run;
};

// Throws INVALID_ARGUMENT for a number that no device of the plugin has or that is named twice, and DEVICE_RESET for a
// lost device.
void RequireDevices(const LoadedPlugin& plugin, const std::vector<uint32_t>& devices);

// `plugin` is one of the catalog's. `given`: options of the session. `is_named`: the session lists the plugin, or gives
// it options. Throws INVALID_ARGUMENT for a device that is no number, for options that the plugin hasn't declared, and
// for values that don't fit.
ProviderSetup SetUpProvider(const Catalog& catalog, const LoadedPlugin& plugin, OptionMap given, bool is_named);

// A session's choice of providers, for callers that judge contexts as that session would.
struct ProviderRequest {
  std::vector<std::string> listed;           // names in order of priority; empty means every usable plugin
  std::map<std::string, OptionMap> options;  // key: provider, listed or not
  bool disable_fallback = false;
};

// The setup of `plugin` in a session with that request. Throws INVALID_ARGUMENT when the session has a list without the
// plugin, and the errors of SetUpProvider.
ProviderSetup SetUpProvider(const Catalog& catalog, const LoadedPlugin& plugin, const ProviderRequest& request);

// Throws a session's error for a name in the request that no usable plugin has.
void CheckNames(Catalog& catalog, const ProviderRequest& request);

}  // namespace epiphyte::core
