// The function table that the plugin returns for EP_DEVICE_EXTENSION.
#pragma once

#include "epiphyte/draft/ep_device.h"
#include "tests/device/plugin/machine.h"

namespace epiphyte::test::device {

inline Machine& MachineOf(EpPlugin* plugin) { return *reinterpret_cast<Machine*>(plugin); }

extern const EpDeviceApi kDeviceApi;

// Makes the work of one call of Copy on a stream of `device`. For forbidden copies it records a complaint and throws
// INVALID_ARGUMENT.
std::unique_ptr<Work> MakeCopies(Machine& machine, const Device& device, const EpCopy* copies, uint64_t count);

}  // namespace epiphyte::test::device
