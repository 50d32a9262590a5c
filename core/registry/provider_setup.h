// ProviderSetup: options and devices with which a plugin is used. The one place that decides them: for sessions, which
// make a provider of them, and for who judges a context without a session.
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
  // Those given, then the policy's, then the manifest's, then, of a plugin that declares its options, the defaults.
  OptionMap options;
  std::vector<uint32_t> devices = {0};  // of the plugin's, the main one first
  bool has_device_option = false;       // they were chosen by an option; else by what the plugin has
  bool fallback = false;                // the manifest says so
  // Why sessions that don't name the plugin leave it out; "" when they don't.
  std::string left_out;
  // Why nothing can run on the devices: one of them is only there to compile for. "" when all are here.
  std::string cannot_run;
};

// `plugin` is one of the catalog's. `given`: by the session. `is_named`: the session lists the plugin, or gives it
// options. Throws INVALID_ARGUMENT for a device that is no number, and for options that the plugin hasn't declared or
// with values that don't fit.
ProviderSetup SetUpProvider(const Catalog& catalog, const LoadedPlugin& plugin, OptionMap given, bool is_named);

// What a session says of providers, for who judges contexts as that session would.
struct ProviderRequest {
  std::vector<std::string> listed;           // in order of priority; empty: every usable plugin
  std::map<std::string, OptionMap> options;  // by provider, listed or not
  bool disable_fallback = false;
};

// The setup of `plugin` in a session with that request. Throws INVALID_ARGUMENT when the session has a list without the
// plugin, and what SetUpProvider throws.
ProviderSetup SetUpProvider(const Catalog& catalog, const LoadedPlugin& plugin, const ProviderRequest& request);

// Throws what a session throws for a name of the request that no usable plugin has.
void CheckNames(Catalog& catalog, const ProviderRequest& request);

}  // namespace epiphyte::core
