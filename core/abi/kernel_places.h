// KernelPlaces: DescribeKernel's answer, checked and copied: where a kernel runs and where its values can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/registry/catalog.h"
#include "epiphyte/ep_provider.h"

namespace epiphyte::core {

struct KernelPlaces {
  bool async = false;
  uint32_t device = 0;
  std::vector<uint32_t> inputs;   // EP_MEMORIES_… for each input; may be shorter than the inputs
  std::vector<uint32_t> outputs;  // EP_MEMORIES_… for each output; may be shorter than the outputs
  std::vector<int32_t> aliases;   // for each output the index of the input it may overwrite, or -1; may be shorter

  // False: the kernel's values are in host memory, and it is done when Execute returns.
  bool on_device() const { return async || !inputs.empty() || !outputs.empty(); }
  uint32_t OfInput(size_t index) const { return Of(inputs, index); }
  uint32_t OfOutput(size_t index) const { return Of(outputs, index); }
  int32_t AliasOf(size_t output) const { return output < aliases.size() ? aliases[output] : -1; }

 private:
  static uint32_t Of(const std::vector<uint32_t>& sets, size_t index) {
    return index < sets.size() && sets[index] != 0 ? sets[index] : EP_MEMORIES_HOST;
  }
};

// The kernel that DescribeKernel was called for.
struct DescribedKernel {
  const LoadedPlugin& plugin;
  std::string_view name;
  std::span<const uint32_t> devices;  // devices that its provider was made with
  size_t input_count;
  size_t output_count;
};

// Throws EP_FAIL with the reason when `kernel` can't have such a device, memory or alias.
KernelPlaces ReadKernelPlaces(const EpKernelInfo& info, const DescribedKernel& kernel);

}  // namespace epiphyte::core
