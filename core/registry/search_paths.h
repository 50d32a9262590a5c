// Where plugins and the policy file are looked for.
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

Search FindManifests(const CatalogOptions& options);

// The policy file to use, or "" when there is none. One that the options name is returned whether it exists or not.
std::filesystem::path FindPolicyFile(const CatalogOptions& options);

}  // namespace epiphyte::core
