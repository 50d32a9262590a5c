// What is in a folder, by name.
//
// With readdir: libstdc++'s directory_iterator ends the process when memory runs out.
//
//   for (const std::string& name : NamesIn(folder).names) Use(folder / name);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::core {

struct FolderNames {
  std::vector<std::string> names;  // sorted; without "." and ".."; what vanished meanwhile may be among them
  int error = 0;                   // an errno: why these are not all
};

// "" is the current folder. Throws only std::bad_alloc.
FolderNames NamesIn(const std::filesystem::path& folder);

}  // namespace epiphyte::core
