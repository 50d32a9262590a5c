// The library under test: opens it, calls the query, and reads the descriptor. This is everything before Initialize.
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
  std::filesystem::path library;   // absolute path
  std::filesystem::path manifest;  // absolute path; empty when a library was given
  std::string name;                // from here on, fields are the manifest's
  std::string version;
  std::vector<std::string> sources;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> parameters;
};

// Calls a function of the plugin and releases the status that it returns. An exception breaks `unwinds`. Ends the check
// when the host recorded a violation during the call.
template <typename Function>
DebugHost::Failure CallPlugin(DebugHost& host, Rule unwinds, const std::string& name, Function&& function);
// Calls a function that returns nothing.
template <typename Function>
void CallRelease(DebugHost& host, const std::string& name, Function&& function);

class PluginLibrary {
 public:
  PluginLibrary(DebugHost& host, const Target& target);
  // Checks the answer of EpPluginQuery and the content of the descriptor.
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
  // The environment and its members, valid until the process ends.
  std::string directory_;
  std::vector<EpKeyValue> parameters_;
  EpPluginEnvironment environment_ = {};
};

// Records that `rule` is broken, and ends the check.
[[noreturn]] void EndWith(DebugHost& host, Rule rule, const std::string& message);
inline void Demand(DebugHost& host, bool holds, Rule rule, const std::string& message) {
  if (!holds) EndWith(host, rule, message);
}
// Returns text such as "EP_FAIL: out of tiles".
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
