#include "plugins/vulkan/device/kernel_set.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "epiphyte/kit/memory/digest.hpp"

namespace epiphyte::vulkan {

KernelSet::KernelSet(std::span<const Shader> shaders) : shaders_(shaders) {
  std::string text;
  for (size_t i = 0; i < shaders.size(); ++i) {
    if (i > 0 && !(shaders[i - 1].name < shaders[i].name))
      throw std::logic_error("kernel set: shader '" + std::string(shaders[i].name) + "' is out of order");
    text.append(shaders[i].name);
    const uint64_t words = kit::Digest(shaders[i].words.data(), shaders[i].words.size_bytes());
    text.append(1, '\0').append(reinterpret_cast<const char*>(&words), sizeof(words));
  }
  digest_ = kit::Digest(text.data(), text.size());
}

const Shader* KernelSet::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(shaders_, name, {}, &Shader::name);
  return found != shaders_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace epiphyte::vulkan
