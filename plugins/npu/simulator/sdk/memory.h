// Memory that executions read and write in place: allocated, the caller's, or a file's.
//
//   std::unique_ptr<NsdkMemory> memory = CreateMemory({.kind = NSDK_IMPORT_FD, .size = 4096, .offset = 100, .fd = fd});
#pragma once

#include <memory>

#include "plugins/npu/simulator/sdk/objects.h"

namespace epiphyte::npusim {

std::unique_ptr<NsdkMemory> CreateMemory(const NsdkMemoryOptions& options);

}  // namespace epiphyte::npusim
