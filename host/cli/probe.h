// Probing plugins in processes of their own: one that crashes, hangs or ends its process is a finding like any other,
// and the next one is probed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"
#include "host/cli/plugin_flags.h"
#include "host/cli/text.h"

namespace epiphyte::cli {

struct Probed {
  PluginInfo plugin;  // InitFailed when its process didn't end well
  std::string step;   // what it was doing when that happened: "calling GetDevices"; else ""
  std::string end;    // "SIGSEGV", "exit code 3", "timeout", "damaged report"; else ""
};

// `listed`: as the catalog lists it, Ready, or Shadowed by one that can't be loaded. Starts this program again.
// `flags`: of doctor, for that process too.
Probed ProbeInChild(const PluginInfo& listed, std::chrono::seconds limit, const std::vector<std::string>& flags);

// The main function of the child process: probes the plugin, and writes its steps and findings to the report's
// descriptor.
void ReportProbe(const std::string& manifest, const PluginFlags& flags);

}  // namespace epiphyte::cli
