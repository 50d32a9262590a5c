// Where plugins and policy files are looked for.
//
// Order: EPIPHYTE_PLUGIN_PATH, the application's paths, the user's data folder, the folders of this installation, the
// system's. Inside a folder by file name, so that the order in which a file system lists its entries changes nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/registry/plugin_entry.h"

namespace epiphyte::core {

struct Search {
  std::vector<SearchedFolder> folders;
  std::vector<std::filesystem::path> manifests;  // in search order, each file once
};

// A policy file that was read, or would be if it existed.
struct PolicyFile {
  std::filesystem::path path;
  std::string origin;  // "system", "user", "EPIPHYTE_POLICY", "application"
  bool exists = false;
};

// A plugin that is not to be used in this run.
struct DisabledForRun {
  std::string name;
  std::string origin;  // "EPIPHYTE_DISABLE", "application"
};

Search FindManifests(const CatalogOptions& options);

// The policy files that count, the system's first, also those that don't exist. The system's is always among them: what
// it denies and pins holds whatever the options say. A home that this process may not look into has no policy. Throws
// NO_SUCHFILE for one that was named and doesn't exist, FAIL when it can't be known whether another one exists.
std::vector<PolicyFile> FindPolicyFiles(const CatalogOptions& options);

// Those that are not to be used in this run: EPIPHYTE_DISABLE, "npu,vulkan", and the application's. Throws
// INVALID_ARGUMENT for what can't be a provider's name.
std::vector<DisabledForRun> FindDisabled(const CatalogOptions& options);

}  // namespace epiphyte::core
