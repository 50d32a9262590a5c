// Probes plugins in separate processes. A plugin that crashes, hangs or ends its process is a finding like any other,
// and the next plugin is probed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"
#include "host/cli/plugin_flags.h"
#include "host/cli/text.h"

namespace epiphyte::cli {

struct Probed {
  PluginInfo plugin;  // InitFailed when its process ended abnormally
  std::string step;   // step at the abnormal end, such as "calling GetDevices"; else ""
  std::string end;    // "SIGSEGV", "exit code 3", "timeout", "damaged report"; "" for a normal end
};

// `listed` is the plugin as the catalog lists it: Ready, or Shadowed by one that can't be loaded. Starts this program
// again, with `flags` of doctor for that process.
Probed ProbeInChild(const PluginInfo& listed, std::chrono::seconds limit, const std::vector<std::string>& flags);

// The main function of the child process: probes the plugin, and writes its steps and findings to the report's
// descriptor.
void ReportProbe(const std::string& manifest, const PluginFlags& flags);

}  // namespace epiphyte::cli
