#include "core/base/memory_size.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace epiphyte::core {
namespace {

// Reads a number of bytes from a file; UINT64_MAX for "max", and when there is no such file.
uint64_t LimitIn(const std::filesystem::path& file) {
  std::ifstream stream(file);
  uint64_t bytes = 0;
  return stream >> bytes && bytes != 0 ? bytes : UINT64_MAX;
}

uint64_t PhysicalMemory(const std::filesystem::path& root) {
  std::ifstream stream(root / "proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemTotal:" && kilobytes != 0) return kilobytes * 1024;
  }
  return UINT64_MAX;
}

// The lowest limit of a control group and its ancestors. In a container the group's path may exist on the host only;
// then the mounted tree itself is the container's group.
uint64_t LimitAlong(const std::filesystem::path& mount, std::filesystem::path group, std::string_view file) {
  uint64_t least = LimitIn(mount / file);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    least = std::min(least, LimitIn(mount / group / file));
  }
  return least;
}

}  // namespace

uint64_t MachineMemory(const std::filesystem::path& root) {
  uint64_t least = PhysicalMemory(root);
  // Lines are "0::/path" for version 2, "5:memory:/path" for version 1.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, LimitAlong(root / "sys/fs/cgroup", path, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, LimitAlong(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace epiphyte::core
