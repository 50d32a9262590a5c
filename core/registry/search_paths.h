// Search paths of plugins and policy files.
//
// Order: EPIPHYTE_PLUGIN_PATH, the application's paths, the user's data folder, the folders of this installation, the
// system's. Files in a folder are ordered by name, so the order of the file system's listing doesn't matter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/registry/plugin_entry.h"

namespace epiphyte::core {

struct Search {
  std::vector<SearchedFolder> folders;
  std::vector<std::filesystem::path> manifests;  // paths in search order, each file once
};

// A policy file that was read, or would be read if it existed.
struct PolicyFile {
  std::filesystem::path path;
  std::string origin;  // "system", "user", "EPIPHYTE_POLICY", "application"
  bool exists = false;
};

// A plugin to disable in this run.
struct DisabledForRun {
  std::string name;
  std::string origin;  // source of the rule: "EPIPHYTE_DISABLE" or "application"
};

Search FindManifests(const CatalogOptions& options);

// The policy files that count, the system's first, including files that don't exist. The system's file is always among
// them: its denials and pins hold whatever the options say. A home folder that this process may not read has no policy.
// Throws NO_SUCHFILE when a named file doesn't exist, FAIL when it can't be determined whether another one exists.
std::vector<PolicyFile> FindPolicyFiles(const CatalogOptions& options);

// Plugins to disable in this run: from EPIPHYTE_DISABLE ("npu,vulkan") and from the application. Throws
// INVALID_ARGUMENT for an impossible provider name.
std::vector<DisabledForRun> FindDisabled(const CatalogOptions& options);

}  // namespace epiphyte::core
