// DeviceInfo: the facts about a Vulkan device that are known before it is opened, as plain data. They are for lists,
// for `epiphyte doctor`, for the keys of contexts and for the choice of a device.
//
//     for (const DeviceInfo& device : instance.devices()) Print(device.name, NameOf(device.type));
//     const DeviceInfo& chosen = ChooseDevice(instance.devices(), {.device = "nvidia"});
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugins/vulkan/device/capabilities.h"

namespace epiphyte::vulkan {

using Uuid = std::array<uint8_t, 16>;
std::string TextOf(const Uuid& uuid);  // "6d657361-3232-…"
std::string HexOf(const Uuid& uuid);   // the same without dashes

enum class DeviceType : uint8_t { kOther, kIntegrated, kDiscrete, kVirtual, kSoftware };
std::string_view NameOf(DeviceType type);  // "other", "integrated", "discrete", "virtual", "software"

struct DeviceInfo {
  uint32_t index = 0;  // index among the instance's devices
  std::string name;
  DeviceType type = DeviceType::kOther;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t api_version = 0;  // packed as in Vulkan; VersionText formats it
  uint32_t driver_version = 0;
  uint32_t driver_id = 0;
  std::string driver_name;
  std::string driver_info;
  Uuid device_uuid = {};
  Uuid driver_uuid = {};
  Uuid pipeline_cache_uuid = {};

  uint32_t subgroup_size = 1;
  uint32_t subgroup_size_min = 1;
  uint32_t subgroup_size_max = 1;
  uint32_t subgroup_operations = 0;  // VkSubgroupFeatureFlags
  std::string coop_matrix_shapes;    // "16x16x16 f16 f16 f32; …" in ascending order; "" when there are none

  uint64_t local_memory = 0;   // bytes of all device-local heaps
  uint64_t shared_memory = 0;  // bytes of all other heaps
  bool unified_memory = false;  // the host can map device-local memory, so no copies are needed
  uint64_t max_allocation = 0;  // bytes
  bool timestamps = false;

  // Handle types that buffers can be imported from and exported as.
  bool imports_host_pointers = false;
  uint64_t host_pointer_alignment = 4096;  // alignment of imported host pages
  bool imports_opaque_fd = false;
  bool imports_dma_buf = false;
  bool exports_opaque_fd = false;
  bool exports_dma_buf = false;

  // The capabilities before options of a session change them.
  Capabilities capabilities;
};

std::string VersionText(uint32_t version);  // "1.3.230"

// The user's choice of a device. Every field that is given must match.
struct DeviceChoice {
  // "" (the best device: discrete before integrated before virtual before other), an index ("1"), a UUID (with dashes
  // or without), a type ("discrete", "integrated", "virtual", "software"), or part of the name, ignoring case.
  std::string device;
  // Whether a software device may be chosen by "" or by a part of its name. By index, UUID or type it always may.
  bool allow_software = false;
};

// Throws NOT_FOUND, with a list of the devices, if none fits.
const DeviceInfo& ChooseDevice(std::span<const DeviceInfo> devices, const DeviceChoice& choice);

}  // namespace epiphyte::vulkan
