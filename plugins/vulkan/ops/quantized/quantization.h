// How scales and zero points lie over a tensor, and the parameters by which shaders find them. There is one for all
// elements, one for each index of an axis, or one for each block of an axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/vulkan/ops/math/map.h"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

inline constexpr kit::TypeSet kDeviceBytes = kit::Types(EP_TYPE_INT8, EP_TYPE_UINT8);

// The first specialization constant and the words of p[] for shaders that include scale_index.glsl.
struct ScaleIndex {
  uint32_t mode = 0;
  std::vector<uint32_t> parameters;

  // `axis` and `block` are attributes of QuantizeLinear. Throws if the scale's shape doesn't fit x.
  ScaleIndex(const Dims& x, const Dims& scale, int64_t axis, int64_t block);
};

// The bounds to which the kit's operators on bytes clamp their result: attributes "low" and "high", or those of the
// type.
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
// Why the attributes don't have a scale and a zero point for each of so many operands and for y, or "".
std::string CheckQuantizedEnds(const ir::Node& node, size_t operands);

// Why input i, if it is there, isn't of type `type`, or "". `name` is for the message.
std::string ExpectType(const NodeCheck& check, size_t i, EpElementType type, std::string_view name);

// The stride by which a shader walks input i: 0 if it has one element, 1 if it has one for each of `items`. Throws if
// it has any other number. `name` and `item` are for the message: "a_scale", "row".
int64_t ParameterStride(const Recording& r, size_t i, int64_t items, std::string_view name, std::string_view item);

}  // namespace epiphyte::vulkan
