// KernelSet: shaders by name, as SPIR-V. The build compiles the shaders of plugins/vulkan/shaders/ into one set; tests
// make their own.
//
//     const Shader* shader = BuiltInKernels().Find("elementwise.f32");
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace epiphyte::vulkan {

struct Shader {
  std::string_view name;  // "elementwise.f32"
  std::span<const uint32_t> words;
};

class KernelSet {
 public:
  // `shaders` are in ascending order of their names and outlive the set.
  explicit KernelSet(std::span<const Shader> shaders);

  const Shader* Find(std::string_view name) const;  // null: there is none
  std::span<const Shader> shaders() const { return shaders_; }
  // The digest of all names and words. Anything compiled with one set of kernels can't be run with another.
  uint64_t digest() const { return digest_; }

 private:
  std::span<const Shader> shaders_;
  uint64_t digest_;
};

// The set with the shaders of the plugin.
const KernelSet& BuiltInKernels();

}  // namespace epiphyte::vulkan
