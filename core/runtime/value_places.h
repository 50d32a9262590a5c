// Value places: where tensors are, and whether two of them share memory.
#pragma once

#include "core/device/device_memory.h"
#include "core/graph/value.h"
#include "core/runtime/queue_plan.h"

namespace epiphyte::core {

// Whether a kernel on `device` that named `set` can use the tensor where it is; `device` null: one on the host.
bool IsWithin(const Value& tensor, const PluginDevice* device, uint32_t set);
// One end of a copy; host memory is only written when it is the target.
EpCopyEnd CopyEndOf(const Value& tensor);
// Same address and size.
bool IsSameMemory(const Value& a, const Value& b);
// Some byte of them is the same one. Of sequences and maps: of their elements.
bool Overlap(const Value& a, const Value& b);

}  // namespace epiphyte::core
