// Relu and Clip between an operator and its QuantizeLinear, as what they do to quantised numbers. Rounding and shifting
// keep the order of numbers, so that it makes no difference whether they come before or after:
//
//   quantize(clip(x, a, b)) == min(max(quantize(x), quantize(a)), quantize(b))
//
//   std::string why;
//   std::vector<int32_t> bounds;
//   const auto clamp = qdq::ReadClamp(editor, relu, quantization, &bounds, &why);
//   if (clamp && !clamp->IsIdle(quantization.type)) EmitClamp(clamp->low, clamp->high);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"

namespace epiphyte::kit::qdq {

// min(max(q, low), high), within the range of the quantised type.
struct Clamp {
  int64_t low = 0;
  int64_t high = 0;

  // It changes no number of the type: a redundant Clip.
  bool IsIdle(EpElementType type) const { return low <= LowestOf(type) && high >= HighestOf(type); }
};

bool IsClamp(const ir::Node& node);

// What the node does before a QuantizeLinear with one scale. Bounds are constants, or dequantised ones: `bounds` gets
// the numbers of those DequantizeLinear nodes. Otherwise nothing, and `why` says "its bounds …".
std::optional<Clamp> ReadClamp(const ir::Editor& editor, const ir::Node& node, const Quantization& quantization,
                               std::vector<int32_t>* bounds, std::string* why);

}  // namespace epiphyte::kit::qdq
