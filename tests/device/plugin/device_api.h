// The table that the plugin answers for EP_DEVICE_EXTENSION.
#pragma once

#include "epiphyte/draft/ep_device.h"
#include "tests/device/plugin/machine.h"

namespace epiphyte::test::device {

inline Machine& MachineOf(EpPlugin* plugin) { return *reinterpret_cast<Machine*>(plugin); }

extern const EpDeviceApi kDeviceApi;

// The work of one call of Copy on `device`'s stream. Complains about, and throws INVALID_ARGUMENT for, what the host
// may not ask for.
std::unique_ptr<Work> MakeCopies(Machine& machine, const Device& device, const EpCopy* copies, uint64_t count);

}  // namespace epiphyte::test::device
