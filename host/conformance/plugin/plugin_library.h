// The library under test: opened, asked, its descriptor read. Everything up to Initialize.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"
#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {

// The plugin that the suite tests.
struct Target {
  std::filesystem::path library;   // absolute
  std::filesystem::path manifest;  // absolute; empty when a library was given
  std::string name;                // this and what follows is of the manifest
  std::string version;
  std::vector<std::string> sources;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> parameters;
};

// Calls a function of the plugin: what it throws breaks `unwinds`, what it returns is taken. The check ends when the
// host saw a rule broken meanwhile.
template <typename Function>
DebugHost::Failure CallPlugin(DebugHost& host, Rule unwinds, const std::string& name, Function&& function);
// The same for functions that return nothing.
template <typename Function>
void CallRelease(DebugHost& host, const std::string& name, Function&& function);

class PluginLibrary {
 public:
  PluginLibrary(DebugHost& host, const Target& target);
  // Checks what EpPluginQuery answers and what stands in the descriptor.
  const EpPluginDescriptor* Query(const EpHostInfo* info);
  void CheckExports() const;
  void CheckDescriptor(const EpPluginDescriptor& descriptor) const;
  const EpPluginEnvironment* environment() const { return &environment_; }
  const Target& target() const { return target_; }
  DebugHost& host() { return host_; }

 private:
  DebugHost& host_;
  const Target target_;
  EpPluginQueryFunction query_ = nullptr;
  // The environment and what it points to; valid for the life of the process.
  std::string directory_;
  std::vector<EpKeyValue> parameters_;
  EpPluginEnvironment environment_ = {};
};

// Notes that `rule` is broken and ends the check.
[[noreturn]] void EndWith(DebugHost& host, Rule rule, const std::string& message);
inline void Demand(DebugHost& host, bool holds, Rule rule, const std::string& message) {
  if (!holds) EndWith(host, rule, message);
}
// "EP_FAIL: out of tiles"
std::string Describe(const DebugHost::Failure& failure);

template <typename Function>
DebugHost::Failure CallPlugin(DebugHost& host, Rule unwinds, const std::string& name, Function&& function) {
  EpStatus* status = nullptr;
  host.Step(name);
  try {
    status = function();
  } catch (const std::exception& error) {
    EndWith(host, unwinds, name + " let an exception escape: " + error.what());
  } catch (...) {
    EndWith(host, unwinds, name + " let an exception escape");
  }
  DebugHost::Failure failure = host.TakeStatus(status, name);
  host.EndIfViolated();
  return failure;
}

template <typename Function>
void CallRelease(DebugHost& host, const std::string& name, Function&& function) {
  CallPlugin(host, Rule::kReleasesKeepExceptions, name, [&]() -> EpStatus* {
    function();
    return nullptr;
  });
}

}  // namespace epiphyte::conformance
