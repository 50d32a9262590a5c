// Reads configuration files: a copy of the whole file, bounded, so that neither a device, a FIFO nor a file that
// changes meanwhile can do harm.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace epiphyte::core {

// Throws NO_SUCHFILE when there is none, INVALID_ARGUMENT when it is no regular file or larger than `max_bytes`, FAIL
// when the system refuses.
std::string ReadSmallFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace epiphyte::core
