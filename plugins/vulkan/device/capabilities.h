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
  kTimeline,      // timeline semaphores: how far a stream is; without, each submission has a fence
  kCount,
};

// "storage16", "fp16", …: as in the provider option `disable`, in doctor and in reports.
std::string_view NameOf(Capability capability);
std::optional<Capability> CapabilityOf(std::string_view name);

// Storage buffers that a dispatch can bind on every device, its parameters not counted: Vulkan promises four in all.
inline constexpr uint32_t kLeastBindings = 3;

// Shape of the matrices that a subgroup multiplies at once: [m, k] by [k, n].
struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
};

struct Capabilities {
  // Kernels use it.
  bool has[static_cast<size_t>(Capability::kCount)] = {};
  // The device has it, but an option turned it off: said in reasons.
  bool disabled[static_cast<size_t>(Capability::kCount)] = {};
  // The device has it, but does better without: a software device, where workgroup memory and subgroups are emulated.
  bool slow[static_cast<size_t>(Capability::kCount)] = {};
  // An option asks for it: kernels that use it are chosen wherever they can run, not only where they are worth it.
  bool preferred[static_cast<size_t>(Capability::kCount)] = {};

  uint32_t subgroup_size = 1;          // a power of two
  bool full_subgroups = false;         // a kernel can ask for subgroups of that size, none of them in part
  MatrixShape coop_matrix;             // shape that kernels use
  uint32_t max_workgroup_invocations = 128;
  uint32_t max_workgroup_count[3] = {65535, 65535, 65535};
  uint32_t max_shared_memory = 16384;        // bytes of a workgroup
  uint64_t max_buffer_range = 128u << 20;    // bytes that one binding can cover: the largest tensor
  uint64_t buffer_offset_alignment = 256;    // alignment of the offsets of bindings
  uint32_t max_bindings = kLeastBindings;    // buffers of a dispatch without its parameters
  // That the loops of an invocation make in all: a device that makes no more says nothing when they end too early.
  uint64_t max_passes = UINT64_MAX;

  bool Has(Capability capability) const { return has[static_cast<size_t>(capability)]; }
  bool IsSlow(Capability capability) const { return slow[static_cast<size_t>(capability)]; }
  bool IsPreferred(Capability capability) const { return preferred[static_cast<size_t>(capability)]; }
  // Be it slow: for what can't be done without.
  bool CanUse(Capability capability) const { return Has(capability) || IsSlow(capability); }
  // Disable turns a capability off for good. Prefer chooses one even where it is slow. Both ignore a capability that
  // the device lacks.
  void Disable(Capability capability);
  void Prefer(Capability capability);
  // Names as in the option `disable`. Throws INVALID_ARGUMENT, with those that there are, for one that is none.
  void Disable(std::span<const std::string> names);
  // "the device has no fp16", "the device does better without subgroup" or "fp16 is turned off by option 'disable'": for
  // reasons.
  std::string WhyNot(Capability capability) const;
};

}  // namespace epiphyte::vulkan
