// Names of the entries of a folder.
//
// Uses readdir, because libstdc++'s directory_iterator ends the process when memory runs out.
//
//   for (const std::string& name : NamesIn(folder).names) Use(folder / name);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::core {

struct FolderNames {
  std::vector<std::string> names;  // sorted, without "." and ".."; entries removed meanwhile may be included
  int error = 0;                   // errno if the list is incomplete, else 0
};

// "" is the current folder. Throws only std::bad_alloc.
FolderNames NamesIn(const std::filesystem::path& folder);

}  // namespace epiphyte::core
