// Counts the mappings of a file in this process.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace epiphyte::test {

inline size_t MappingsOf(const std::filesystem::path& file) {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.ends_with(file.string());
  return count;
}

}  // namespace epiphyte::test
