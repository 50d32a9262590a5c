// FuseQuantized: replaces QDQ units (qdq/units.hpp) by operators on the quantised numbers.
//
//   fuse::FuseQuantized(editor, {.takes = HasKernel});
//   // DequantizeLinear (three), Conv, Relu, QuantizeLinear  →  QLinearConv
//
// - Conv becomes QLinearConv. MatMul and Gemm become QLinearMatMul: ONNX's, or the kit's (operators.hpp) if there is a
//   bias, a transposed matrix, or a Relu or Clip with an effect. A unit is left alone if int32 can't hold every sum,
//   for example with a bias that a quantiser clipped: integers wrap, floats don't.
// - Operators that move elements between equal quantisations become the same operator on integers: Reshape, Transpose,
//   MaxPool, …; also Concat, Slice, … if all inputs and outputs have one scale and zero point. Relu and Clip between
//   equal quantisations become a Clip. Inputs with another quantisation than the result are requantised first.
// - Add, Mul, Sigmoid and other operators that are an instruction of an ElementwiseProgram become the kit's
//   QLinearElementwise. AveragePool and GlobalAveragePool become its QLinearAveragePool, Softmax along the last axis
//   its QLinearSoftmax, and LayerNormalization with float parameters its QLinearLayerNormalization.
//
// Results are at most one quantum away from those of the float operators. They are equal for operators that only move
// elements.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct QuantizedOptions {
  // Returns whether a node may replace a unit; empty: all may. The node is not part of the graph yet, but its values
  // are.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
  // Also replaces MatMul of two computed matrices, or of batches of them, by a QLinearMatMul.
  bool computed_products = false;
};

void FuseQuantized(ir::Editor& editor, const QuantizedOptions& options = {});

}  // namespace epiphyte::kit::fuse
