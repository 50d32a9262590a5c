// A catalog with only the plugin under test, for checks through the whole host.
//
//   const ScratchFolder scratch;
//   core::Environment environment(CatalogOf(target, scratch.path()));
#pragma once

#include <filesystem>

#include "core/registry/catalog.h"
#include "host/conformance/plugin/plugin_library.h"

namespace epiphyte::conformance {

// A temporary folder; the destructor removes it with its content.
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

// A library without a manifest gets one in `folder`, made from its descriptor. This opens the library in this process.
core::CatalogOptions CatalogOf(const Target& target, const std::filesystem::path& folder);

}  // namespace epiphyte::conformance
