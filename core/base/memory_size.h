// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace epiphyte::core {

// The machine's memory, or what the process's control group allows if that is less. Never 0; UINT64_MAX when the system
// says nothing. `root`: of the file system that is asked.
uint64_t MachineMemory(const std::filesystem::path& root = "/");

}  // namespace epiphyte::core
