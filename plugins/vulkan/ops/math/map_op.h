// MapOp: the operations of shaders/elementwise.comp by number (shaders/map_op.inc). The operations of the kit's
// element-wise programs come first, with the kit's numbers, and may be steps of a program. Each of the others takes a
// dispatch of its own.
#pragma once

#include <cstdint>

#include "epiphyte/kit/fuse/elementwise_program.hpp"

namespace epiphyte::vulkan {

enum class MapOp : uint32_t {
#define MAP_OP(name, number) k##name = number,
#define MAP_OP_OF_KIT(name, number) MAP_OP(name, number)
#include "plugins/vulkan/shaders/map_op.inc"
#undef MAP_OP_OF_KIT
#undef MAP_OP
};
#define MAP_OP(name, number)
#define MAP_OP_OF_KIT(name, number)                                                 \
  static_assert(static_cast<uint32_t>(kit::fuse::ElementwiseOp::k##name) == number, \
                "the kit has another number for " #name);
#include "plugins/vulkan/shaders/map_op.inc"
#undef MAP_OP_OF_KIT
#undef MAP_OP
static_assert(static_cast<uint32_t>(MapOp::kClip) + 1 == static_cast<uint32_t>(kit::fuse::ElementwiseOp::kCount),
              "the kit has an operation that shaders/activation.glsl and shaders/elementwise.comp lack");
inline constexpr bool MakesBool(MapOp op) { return op >= MapOp::kEqual; }

}  // namespace epiphyte::vulkan
