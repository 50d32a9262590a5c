// How scales and zero points lie over a tensor, one for all, one for each index of an axis or one for each block of an
// axis, and the parameters by which shaders find them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/vulkan/ops/math/map.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

inline constexpr kit::TypeSet kDeviceBytes = kit::Types(EP_TYPE_INT8, EP_TYPE_UINT8);

// For shaders that include scale_index.glsl: the first specialization constant, and the words of p[].
struct ScaleIndex {
  uint32_t mode = 0;
  std::vector<uint32_t> parameters;

  // Throws when the scale's shape doesn't fit x, as `axis` and `block` of QuantizeLinear have it.
  ScaleIndex(const Dims& x, const Dims& scale, int64_t axis, int64_t block);
};

// Within which the kit's operators on bytes keep their result: attributes "low" and "high", or what the type holds.
struct ResultBounds {
  int64_t low = 0, high = 0;

  ResultBounds(const ir::Node& node, EpElementType type);
};

// Quantisation of operands and result, from the attributes of the kit's operators on bytes (kit/fuse/operators.hpp).
struct QuantizedEnds {
  std::vector<MapQuantization> quantizations;  // quantizations of the operands, then of y
  ResultBounds bounds;                         // bounds of y

  QuantizedEnds(const ir::Node& node, EpElementType type);
};
// Why they aren't those of so many operands and y, or "".
std::string CheckQuantizedEnds(const ir::Node& node, size_t operands);

// Whether input i, if it is there, is of type `type`; else the reason.
std::string ExpectType(const NodeCheck& check, size_t i, EpElementType type, std::string_view name);

// The number of elements of parameter `i`, which has one for all or one for each of `items`: the stride by which a
// shader goes through it, 0 or 1. `name` and `item` are for the message: "a_scale", "row".
int64_t ParameterStride(const Recording& r, size_t i, int64_t items, std::string_view name, std::string_view item);

}  // namespace epiphyte::vulkan
