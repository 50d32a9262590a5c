// Value places: where tensors are, and whether two of them share memory.
#pragma once

#include "core/device/device_memory.h"
#include "core/graph/value.h"
#include "core/runtime/queue_plan.h"

namespace epiphyte::core {

// Whether a kernel on `device` that named `set` can use the tensor in its place. Null `device`: a host kernel.
bool IsWithin(const Value& tensor, const PluginDevice* device, uint32_t set);
// Returns one end of a copy. Host memory is written only if it is the target.
EpCopyEnd CopyEndOf(const Value& tensor);
// Whether both have the same address and size.
bool IsSameMemory(const Value& a, const Value& b);
// Whether they share a byte. For sequences and maps: whether their elements do.
bool Overlap(const Value& a, const Value& b);

}  // namespace epiphyte::core
