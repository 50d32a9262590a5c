// The amount of memory that this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace epiphyte::core {

// The machine's memory in bytes, or the limit of the process's control group if that is lower. Never 0; UINT64_MAX when
// the system reports nothing. `root` is the root of the file system that is read.
uint64_t MachineMemory(const std::filesystem::path& root = "/");

}  // namespace epiphyte::core
