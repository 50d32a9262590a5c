// Control: the settings of tests and the counters of the device, one for the library, and the list of faults.
#pragma once

#include <string>
#include <string_view>

#include "tests/device/test_device.h"

namespace epiphyte::test::device {

// The control lives as long as the process.
TestDeviceControl& Control();

// Records a violation of the ABI by the host. Any thread may call it and may hold any lock of the device.
void Complain(std::string text);

// Returns the entry of kTestDeviceFaults with that name; null if there is none.
const char* FindFault(std::string_view name);

}  // namespace epiphyte::test::device
