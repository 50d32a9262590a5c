// Control: what tests ask for and what the device counted, one for the library, and the fault that is asked for.
#pragma once

#include <string>
#include <string_view>

#include "tests/device/test_device.h"

namespace epiphyte::test::device {

// Lives as long as the process.
TestDeviceControl& Control();

// The host broke the ABI. Any thread, under any lock of the device.
void Complain(std::string text);

// The entry of kTestDeviceFaults with that name; null when there is none.
const char* FindFault(std::string_view name);

}  // namespace epiphyte::test::device
