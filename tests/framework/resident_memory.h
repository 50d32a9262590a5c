// Amount of this process's memory that is resident, for tests of releasing memory.
//
//   const uint64_t before = ResidentBytes();
//   weights.clear();
//   EXPECT_LT(ResidentBytes(), before);
#pragma once

#if defined(__linux__)

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace epiphyte::test {

// Whether freed memory can go back to the system. AddressSanitizer keeps freed memory for a while, and ThreadSanitizer
// keeps its records about it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EPIPHYTE_FREED_MEMORY_STAYS 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EPIPHYTE_FREED_MEMORY_STAYS 1
#endif
#if defined(EPIPHYTE_FREED_MEMORY_STAYS)
inline constexpr bool kFreedMemoryGoes = false;
#else
inline constexpr bool kFreedMemoryGoes = true;
#endif

inline uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Resets the peak that PeakResidentBytes returns. Returns false if the system doesn't allow that.
inline bool ForgetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << 5 << std::flush);
}
inline uint64_t PeakResidentBytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

}  // namespace epiphyte::test

#endif
