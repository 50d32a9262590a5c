#include "host/cli/peak_memory.h"

#include <cstdlib>
#include <fstream>

#include "host/cli/text.h"

namespace epiphyte::cli {

std::optional<double> PeakRssMb(const std::filesystem::path& status) {
  std::ifstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const double kilobytes = std::strtod(line.c_str() + 6, nullptr);
    if (kilobytes > 0) return kilobytes / 1024.0;
  }
  return std::nullopt;
}

std::string PeakText(const std::optional<double>& megabytes) {
  return megabytes ? SizeText(static_cast<uint64_t>(*megabytes * 1024 * 1024)) : "unknown: the system does not say";
}

}  // namespace epiphyte::cli
