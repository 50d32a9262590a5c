// KernelInfo: the answer of DescribeKernel, checked against the rules.
#pragma once

#include <cstdint>

#include "core/abi/kernel_places.h"
#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/plugin/plugin_devices.h"

namespace epiphyte::conformance {

class KernelInfo {
 public:
  KernelInfo() = default;
  // `devices` is null when the plugin has no ep.device. `device` is the provider's.
  KernelInfo(DebugHost& host, const EpProviderApi& api, PluginDevices* devices, uint32_t device, EpKernel* kernel,
             const GraphSpec& partition);

  bool exclusive() const { return (info_.flags & EP_KERNEL_EXCLUSIVE) != 0; }
  const core::KernelPlaces& places() const { return places_; }
  // Call before the kernel is released. Checks that the arrays are unchanged.
  void CheckArrays(DebugHost& host) const;

 private:
  void CheckPlaces(DebugHost& host, PluginDevices* devices) const;

  EpKernelInfo info_ = {};
  core::KernelPlaces places_;
};

}  // namespace epiphyte::conformance
