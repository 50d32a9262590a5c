// Flags of every command with a session: --plugin, --ep, --option, --ep-option, --threads, --cache, --time-limit.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/options.hpp"
#include "host/cli/plugin_flags.h"

namespace epiphyte::cli {

struct SessionFlags {
  PluginFlags plugins;
  std::string providers;                      // names, such as "vulkan,cpu"
  std::vector<std::string> options;           // KEY=VALUE
  std::vector<std::string> provider_options;  // PROVIDER.KEY=VALUE
  uint32_t threads = 0;
  std::string cache;      // folder of the cache
  double time_limit = 0;  // seconds; 0: none

  void AddProviders(CLI::App& command);  // adds the flags for providers and plugins
  void AddOptions(CLI::App& command);
  void AddThreads(CLI::App& command);
  void AddCache(CLI::App& command);
  void AddTimeLimit(CLI::App& command);

  // Throws INVALID_ARGUMENT on malformed flags.
  SessionOptions Build() const;
};

// Splits "KEY=VALUE" into {KEY, VALUE}. Errors name `flag`.
std::pair<std::string, std::string> SplitAssignment(const std::string& text, std::string_view flag);

}  // namespace epiphyte::cli
