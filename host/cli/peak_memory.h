// The peak of this program's memory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace epiphyte::cli {

// Returns the kernel's high-water mark in MiB. (getrusage would include the parent's pages from before exec.) Returns
// nothing if the system doesn't report it, as without /proc.
std::optional<double> PeakRssMb(const std::filesystem::path& status = "/proc/self/status");
// Returns text such as "123.4 MiB", or a text that it isn't known.
std::string PeakText(const std::optional<double>& megabytes);

}  // namespace epiphyte::cli
