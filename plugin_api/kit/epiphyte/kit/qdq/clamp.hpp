// Clamp: the effect on quantised numbers of a Relu or Clip between an operator and its QuantizeLinear. Quantisation is
// monotonic, so clamping before and after it gives the same:
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

// Computes min(max(q, low), high); low and high lie in the range of the quantised type.
struct Clamp {
  int64_t low = 0;
  int64_t high = 0;

  // True when the clamp changes no number of the type, as with a redundant Clip.
  bool IsIdle(EpElementType type) const { return low <= LowestOf(type) && high >= HighestOf(type); }
};

bool IsClamp(const ir::Node& node);

// Reads the clamp of a node before a QuantizeLinear with one scale. Bounds must be constants or dequantised constants;
// `bounds` receives the indices of these DequantizeLinear nodes. Otherwise returns nothing, and `why` says "its bounds
// …".
std::optional<Clamp> ReadClamp(const ir::Editor& editor, const ir::Node& node, const Quantization& quantization,
                               std::vector<int32_t>* bounds, std::string* why);

}  // namespace epiphyte::kit::qdq
