// Flags of every command that uses plugins: --plugin for libraries that have no manifest, --policy, and --disable.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"

namespace epiphyte::cli {

struct PluginFlags {
  std::vector<std::string> libraries;
  std::string policy;                 // policy file
  std::vector<std::string> disabled;  // names of disabled plugins

  void Add(CLI::App& command);
  void AddPolicy(CLI::App& command);  // adds only --policy and --disable
  // Makes the command's environment with these plugins. Throws what PluginCatalog::Add throws.
  Environment Open() const;
  // Returns --policy and --disable as arguments for another process of this program.
  std::vector<std::string> PolicyWords() const;
};

}  // namespace epiphyte::cli
