// What a command reads and writes, as intervals that hold it (a strided access counts with its gaps). Verification,
// the search for races and the scratchpad's peak all look at commands through this.
//
//   ForEachAccess(command.work, [&](const Access& a) { if (a.begin < 0 || a.end > size) ... });
#pragma once

#include <cstdint>
#include <functional>

#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

enum class Space : uint8_t { kScratchpad, kAccumulator, kExternal };

struct Access {
  Space space = Space::kScratchpad;
  uint32_t region = 0;  // of kExternal
  __int128 begin = 0;   // bytes; words of kAccumulator. Of hostile numbers too, hence the width
  __int128 end = 0;
  bool write = false;
};

// Parameters needn't be valid.
void ForEachAccess(const Work& work, const std::function<void(const Access&)>& visit);

}  // namespace epiphyte::npusim
