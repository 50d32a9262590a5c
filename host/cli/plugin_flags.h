// --plugin, for every command that uses plugins: libraries that have no manifest.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"

namespace epiphyte::cli {

struct PluginFlags {
  std::vector<std::string> libraries;

  void Add(CLI::App& command);
  // The environment of the command, with the plugins in it. Throws what PluginCatalog::Add throws.
  Environment Open() const;
};

}  // namespace epiphyte::cli
