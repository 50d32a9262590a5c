// MakeDevice: describes a device of a plugin in one line.
//
//   constexpr EpDeviceInfo kDevices[] = {
//       kit::MakeDevice(EP_DEVICE_NPU, "Acme X1", "Acme", "2.3", "x1"),
//       kit::MakeDevice(EP_DEVICE_NPU, "Acme X2", "Acme", "2.3", "x2"),
//   };
#pragma once

#include "epiphyte/ep_plugin.h"
#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

// A device with these properties; the others stay empty. The strings live as long as the plugin.
constexpr EpDeviceInfo MakeDevice(EpDeviceKind kind, const char* name, const char* vendor, const char* driver_version,
                                  const char* architecture) {
  EpDeviceInfo device = {};
  device.struct_size = sizeof(EpDeviceInfo);
  device.kind = kind;
  device.name = name;
  device.vendor = vendor;
  device.driver_version = driver_version;
  device.architecture = architecture;
  device.location = "";
  device.uuid = "";
  return device;
}

}  // namespace epiphyte::kit
