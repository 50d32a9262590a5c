// Pulse: how work that takes long says that it goes on, and learns that nobody wants it any more.
//
//   Beat(pulse, bytes_done, bytes, "writing model_cpu.bin");   // less than 200 ms after the one before
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace epiphyte::core {

// `total` 0: not known. Throws to end the work. May be empty. Belongs to one thread.
using Pulse = std::function<void(uint64_t done, uint64_t total, std::string_view text)>;

inline void Beat(const Pulse& pulse, uint64_t done, uint64_t total, std::string_view text) {
  if (pulse) pulse(done, total, text);
}

// How much is done between two beats.
inline constexpr uint64_t kBytesPerBeat = uint64_t{8} << 20;   // written
inline constexpr uint64_t kBytesPerLook = uint64_t{64} << 20;  // read, for a digest
inline constexpr uint64_t kNodesPerBeat = 2048;

}  // namespace epiphyte::core
