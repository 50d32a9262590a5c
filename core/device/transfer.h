// Transfer: tensors from host memory into a device's and back, when no run does it. Each blocks until the data is
// there.
#pragma once

#include <memory>
#include <string_view>

#include "core/device/devices.h"
#include "core/graph/memory_budget.h"
#include "core/graph/value.h"

namespace epiphyte::core {

// The piece of a value that is on a device; null for one in host memory.
DeviceAllocation* PieceOf(const Value& value);
// The value itself when it is in host memory already.
ValuePtr ToHost(const ValuePtr& value, Devices& devices, MemoryBudget* budget = nullptr);
// A copy of `value`, which is a tensor of numbers anywhere.
ValuePtr ToDevice(const Value& value, DeviceMemory& memory, Devices& devices,
                  const std::shared_ptr<DeviceAccount>& account, std::string_view what);
// Both tensors of numbers of one size in bytes, each anywhere, also on devices of two plugins: then through host
// memory.
void CopyValue(const Value& from, Value& to, Devices& devices);

}  // namespace epiphyte::core
