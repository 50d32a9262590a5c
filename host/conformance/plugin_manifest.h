// A catalog with nothing but the plugin under test, for checks through the whole host.
//
//   const ScratchFolder scratch;
//   core::Environment environment(CatalogOf(target, scratch.path()));
#pragma once

#include <filesystem>

#include "core/registry/catalog.h"
#include "host/conformance/plugin/plugin_library.h"

namespace epiphyte::conformance {

// A temporary folder, removed with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A library alone gets a manifest made of its descriptor, in `folder`. For that the library is opened in this process.
core::CatalogOptions CatalogOf(const Target& target, const std::filesystem::path& folder);

}  // namespace epiphyte::conformance
