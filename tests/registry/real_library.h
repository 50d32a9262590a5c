// A real shared library that is not a plugin, for tests to copy and damage. Every build of the core links it.
#pragma once

#include <dlfcn.h>
#include <xxhash.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/registry/module.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

inline std::filesystem::path RealLibrary() {
  if (XXH_versionNumber() == 0) return {};
  return core::ModuleOf(dlsym(RTLD_DEFAULT, "XXH_versionNumber"));
}

// Returns the bytes of RealLibrary with every occurrence of one string replaced by another of the same length.
inline std::string RealLibraryWith(std::string_view from, std::string_view to) {
  std::string bytes = ReadFile(RealLibrary());
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1)) {
    bytes.replace(at, from.size(), to);
  }
  return bytes;
}

}  // namespace epiphyte::test
