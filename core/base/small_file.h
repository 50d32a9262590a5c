// Reads configuration files: returns a bounded copy of the whole file, so that devices, FIFOs and concurrent changes do
// no harm.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace epiphyte::core {

// Throws NO_SUCHFILE when there is no file, INVALID_ARGUMENT when it is no regular file or larger than `max_bytes`,
// FAIL when the system refuses.
std::string ReadSmallFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace epiphyte::core
