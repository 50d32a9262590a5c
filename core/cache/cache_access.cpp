#include "core/cache/cache_access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;

// The nearest folder or file on the way to the path that the system lets this process look at. It is what refuses
// access.
std::optional<std::pair<fs::path, struct stat>> NearestVisible(fs::path path) {
  struct stat info = {};
  while (stat(path.c_str(), &info) != 0) {
    if (!path.has_relative_path() || path == path.parent_path()) return std::nullopt;
    path = path.parent_path();
  }
  return std::pair(path, info);
}

}  // namespace

std::string AccessReason(const fs::path& path, int number) {
  const std::string system = std::generic_category().message(number);
  if (number == EROFS) {
    return system +
           "; choose a cache folder on a file system that can be written, or fill the cache before it is mounted";
  }
  if (number != EACCES && number != EPERM) return system;
  const auto nearest = NearestVisible(path);
  if (!nearest) return system + "; choose a cache folder of your own";
  const auto& [place, info] = *nearest;
  if (info.st_uid == geteuid()) {
    return fmt::format(
        "{}: '{}' has mode {:04o}; give yourself the right to it with chmod u+rwX, or choose another "
        "cache folder",
        system, place.string(), info.st_mode & 07777);
  }
  return fmt::format(
      "{}: '{}' belongs to user {} (mode {:04o}), and this process runs as user {}; choose a cache folder of your "
      "own{}",
      system, place.string(), info.st_uid, info.st_mode & 07777, geteuid(),
      info.st_uid == 0 ? ", or let root fill the cache and give others the right to read it (chmod -R go+rX)" : "");
}

}  // namespace epiphyte::core
