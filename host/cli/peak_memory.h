// The most memory that this program has had.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace epiphyte::cli {

// The kernel's high-water mark in MiB; getrusage would count the parent's pages from before exec. Nothing where the
// system doesn't say, as without /proc.
std::optional<double> PeakRssMb(const std::filesystem::path& status = "/proc/self/status");
// "123.4 MiB", or that it isn't known.
std::string PeakText(const std::optional<double>& megabytes);

}  // namespace epiphyte::cli
