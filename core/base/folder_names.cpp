#include "core/base/folder_names.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace epiphyte::core {

FolderNames NamesIn(const std::filesystem::path& folder) {
  FolderNames found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.empty() ? "." : folder.c_str()), closedir);
  if (!entries) {
    found.error = errno;
    return found;
  }
  for (;;) {
    errno = 0;  // distinguishes the end from an error
    const dirent* entry = readdir(entries.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") found.names.emplace_back(name);
  }
  found.error = errno;
  std::sort(found.names.begin(), found.names.end());
  return found;
}

}  // namespace epiphyte::core
