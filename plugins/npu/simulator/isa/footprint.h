// Accesses of a command, as runs of bytes in nested loops. Verification, the search for races and the scratchpad's peak
// use them.
//
//   ForEachAccess(command.work, [&](const Access& a) { if (a.Begin() < 0 || a.End() > size) ... });
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

enum class Space : uint8_t { kScratchpad, kAccumulator, kExternal };

// Units are bytes, or words for kAccumulator. The numbers may come from a hostile blob, so sums are 128 bits wide.
struct Access {
  Space space = Space::kScratchpad;
  uint32_t region = 0;  // kExternal only
  bool write = false;
  uint64_t offset = 0;
  uint64_t run = 0;
  std::array<uint64_t, 5> count{1, 1, 1, 1, 1};
  std::array<int64_t, 5> stride{};

  // Bounds of all accessed bytes.
  __int128 Begin() const { return offset + Reach(true); }
  __int128 End() const { return static_cast<__int128>(offset) + run + Reach(false); }

 private:
  __int128 Reach(bool below) const {
    __int128 reach = 0;
    for (size_t i = 0; i < count.size(); ++i) {
      if ((stride[i] < 0) == below) reach += static_cast<__int128>(stride[i]) * (static_cast<__int128>(count[i]) - 1);
    }
    return reach;
  }
};

// Parameters needn't be valid.
void ForEachAccess(const QuantizedOp& work, const std::function<void(const Access&)>& visit);

}  // namespace epiphyte::npusim
