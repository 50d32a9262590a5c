// How a QuantizeLinear or DequantizeLinear node maps numbers: real = (quantised - zero point) * scale.
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

// Of ai.onnx, and of com.microsoft, where 16-bit types came first.
bool IsQuantize(const ir::Node& node);
bool IsDequantize(const ir::Node& node);

// Of a type of quantised numbers, int2 to int32; 0 bits for any other.
int BitsOf(EpElementType type);
bool IsSigned(EpElementType type);
int64_t LowestOf(EpElementType type);
int64_t HighestOf(EpElementType type);

struct Quantization {
  EpElementType type = EP_TYPE_UNDEFINED;  // of the quantised numbers
  int64_t axis = -1;                       // whose indices have scales of their own; -1: one scale for all
  int64_t block = 0;                       // indices of the axis that share a scale; 0: none do
  ir::Tensor scale;                        // positive numbers; of blocks they haven't been looked at
  ir::Tensor zero_point;                   // as many, of `type`; undefined: 0

  bool IsPerTensor() const { return axis < 0; }
  size_t Count() const { return static_cast<size_t>(scale.Count()); }
  double Scale(size_t index) const;
  int64_t ZeroPoint(size_t index) const;
};

// What the node does, if its parameters are constants that fit it; otherwise nothing, and `why` says "its scale …".
// The tensors are views of the graph's constants.
std::optional<Quantization> ReadQuantization(const ir::Graph& graph, const ir::Node& node, std::string* why);

// Type, axis, blocks, scales and zero points: quantising by one what the other dequantised changes nothing.
bool SameQuantization(const Quantization& a, const Quantization& b);

}  // namespace epiphyte::kit::qdq
