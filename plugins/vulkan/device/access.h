// Access: what a dispatch does with a tensor, or with the memory behind one.
#pragma once

#include <cstdint>

namespace epiphyte::vulkan {

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

}  // namespace epiphyte::vulkan
