// Capabilities: what a device can do and how much of it, as plain data. Kernels are chosen by this table and by nothing
// else, so every choice can be forced by turning a capability off (provider option `disable`) or on although the device
// does better without (`prefer`), and be tested on a device that has it.
//
//     if (capabilities.Has(Capability::kFp16) && k % 4 == 0) …
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace epiphyte::vulkan {

enum class Capability : uint8_t {
  kStorage16,     // 16-bit elements in storage buffers: float16 tensors
  kStorage8,      // 8-bit elements in storage buffers: bool, int8 and uint8 tensors
  kInt64,         // 64-bit integers in shaders: arithmetic on int64 tensors
  kFp16,          // float16 arithmetic
  kInt8,          // 8-bit integer arithmetic
  kDotProduct,    // packed 4x8-bit dot products, in hardware
  kSubgroup,      // subgroup arithmetic and shuffles in compute shaders
  kSharedMemory,  // workgroup memory and barriers
  kCoopMatrix,    // cooperative matrices of float16 with float sums
  kTimeline,      // timeline semaphores for the progress of streams; without them, each submission has a fence
  kCount,
};

// The name ("storage16", "fp16", …) that the provider option `disable`, doctor and reports use.
std::string_view NameOf(Capability capability);
std::optional<Capability> CapabilityOf(std::string_view name);

// Storage buffers that a dispatch can bind on every device, not counting its parameters. Vulkan promises four in all.
inline constexpr uint32_t kLeastBindings = 3;

// Shape of the matrices that a subgroup multiplies at once: [m, k] by [k, n].
struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
};

struct Capabilities {
  // Kernels use the capability.
  bool has[static_cast<size_t>(Capability::kCount)] = {};
  // The device has the capability, but an option turned it off. Reasons in reports say so.
  bool disabled[static_cast<size_t>(Capability::kCount)] = {};
  // The device has the capability, but does better without it: a software device emulates workgroup memory and
  // subgroups.
  bool slow[static_cast<size_t>(Capability::kCount)] = {};
  // An option asks for the capability: kernels that use it are chosen wherever they can run, not only where they are
  // worth it.
  bool preferred[static_cast<size_t>(Capability::kCount)] = {};

  uint32_t subgroup_size = 1;          // a power of two
  bool full_subgroups = false;         // a kernel can require full subgroups of that size
  MatrixShape coop_matrix;             // matrix shape that kernels use
  uint32_t max_workgroup_invocations = 128;
  uint32_t max_workgroup_count[3] = {65535, 65535, 65535};
  uint32_t max_shared_memory = 16384;        // bytes of workgroup memory
  uint64_t max_buffer_range = 128u << 20;    // bytes that one binding can cover: the largest tensor
  uint64_t buffer_offset_alignment = 256;    // alignment of the offsets of bindings
  uint32_t max_bindings = kLeastBindings;    // buffers of a dispatch without its parameters
  // Maximum number of passes of all loops of one invocation together. A device with such a limit ends the loops early
  // without an error.
  uint64_t max_passes = UINT64_MAX;

  bool Has(Capability capability) const { return has[static_cast<size_t>(capability)]; }
  bool IsSlow(Capability capability) const { return slow[static_cast<size_t>(capability)]; }
  bool IsPreferred(Capability capability) const { return preferred[static_cast<size_t>(capability)]; }
  // Whether the device has the capability, even if it is slow. This is for kernels that can't do without it.
  bool CanUse(Capability capability) const { return Has(capability) || IsSlow(capability); }
  // Disable turns a capability off for good. Prefer chooses one even where it is slow. Both ignore a capability that
  // the device lacks.
  void Disable(Capability capability);
  void Prefer(Capability capability);
  // Turns off capabilities by their names. Throws INVALID_ARGUMENT, with a list of the names, for an unknown name.
  void Disable(std::span<const std::string> names);
  // The reason for reports: "the device has no fp16", "the device does better without subgroup" or "fp16 is turned off
  // by option 'disable'".
  std::string WhyNot(Capability capability) const;
};

}  // namespace epiphyte::vulkan
