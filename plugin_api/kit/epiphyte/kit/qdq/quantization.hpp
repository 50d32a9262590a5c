// Quantization: the mapping of a QuantizeLinear or DequantizeLinear node: real = (quantised - zero point) * scale.
//
//   std::string why;
//   const std::optional<qdq::Quantization> x = qdq::ReadQuantization(graph, node, &why);
//   if (!x) return Decline(why);                                // "its scale isn't a constant"
//   if (x->IsPerTensor()) Emit(x->type, x->Scale(0), x->ZeroPoint(0));
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::qdq {

// True for the operators of ai.onnx and of com.microsoft. The latter had 16-bit types first.
bool IsQuantize(const ir::Node& node);
bool IsDequantize(const ir::Node& node);

// Width in bits of a type of quantised numbers, int2 to int32; 0 for any other type.
int BitsOf(EpElementType type);
bool IsSigned(EpElementType type);
int64_t LowestOf(EpElementType type);
int64_t HighestOf(EpElementType type);

struct Quantization {
  EpElementType type = EP_TYPE_UNDEFINED;  // type of the quantised numbers
  int64_t axis = -1;      // axis with a scale for each index or block of indices; -1: one scale for all
  int64_t block = 0;      // number of indices of the axis that share a scale; 0: each has its own
  ir::Tensor scale;       // positive numbers; the scales of blocks have not been checked
  ir::Tensor zero_point;  // as many as scales, of type `type`; type UNDEFINED: all 0

  bool IsPerTensor() const { return axis < 0; }
  size_t Count() const { return static_cast<size_t>(scale.Count()); }
  double Scale(size_t index) const;
  int64_t ZeroPoint(size_t index) const;
};

// Reads a node's parameters if they are constants that fit the node. Otherwise returns nothing, and `why` says "its
// scale …". The tensors are views of the graph's constants.
std::optional<Quantization> ReadQuantization(const ir::Graph& graph, const ir::Node& node, std::string* why);

// True when type, axis, blocks, scales and zero points are equal. Requantising from one to the other then changes
// nothing.
bool SameQuantization(const Quantization& a, const Quantization& b);

}  // namespace epiphyte::kit::qdq
