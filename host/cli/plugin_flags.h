// Flags of every command that uses plugins: --plugin, for libraries that have no manifest, --policy and --disable.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"

namespace epiphyte::cli {

struct PluginFlags {
  std::vector<std::string> libraries;
  std::string policy;                 // file
  std::vector<std::string> disabled;  // names

  void Add(CLI::App& command);
  void AddPolicy(CLI::App& command);  // --policy and --disable alone
  // The environment of the command, with the plugins in it. Throws what PluginCatalog::Add throws.
  Environment Open() const;
  // --policy and --disable as another process of this program takes them.
  std::vector<std::string> PolicyWords() const;
};

}  // namespace epiphyte::cli
