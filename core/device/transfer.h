// Transfer: copies tensors between host and device memory outside of runs. Each function blocks until the data has
// arrived.
#pragma once

#include <memory>
#include <string_view>

#include "core/device/devices.h"
#include "core/graph/memory_budget.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// Allocation of a value that is on a device; null for a value in host memory.
DeviceAllocation* PieceOf(const Value& value);
// Copies to host memory; returns the value itself when it is there already.
ValuePtr ToHost(const ValuePtr& value, Devices& devices, MemoryBudget* budget = nullptr);
// Copies `value`, a tensor of numbers in any memory, to `memory`.
ValuePtr ToDevice(const Value& value, DeviceMemory& memory, Devices& devices,
                  const std::shared_ptr<DeviceAccount>& account, std::string_view what);
// Copies between tensors of numbers with equal sizes in bytes, in any memory. Between devices of two plugins the copy
// goes through host memory.
void CopyValue(const Value& from, Value& to, Devices& devices);

}  // namespace epiphyte::core
