// QDQ units (qdq/units.hpp) as operators on the quantised numbers themselves.
//
//   fuse::FuseQuantized(editor, {.takes = HasKernel});
//   // DequantizeLinear (three), Conv, Relu, QuantizeLinear  →  QLinearConv
//
// - Conv becomes QLinearConv; MatMul and Gemm become QLinearMatMul: ONNX's, or the kit's (operators.hpp) where there is
//   a bias to add, a matrix to be transposed, or a Relu or Clip that does something. Not where a sum might be more than
//   int32 holds, as a bias that a quantiser has clipped makes it: floats don't wrap.
// - What moves elements between equal quantisations (Reshape, Transpose, MaxPool, …; Concat, Slice, … where all ends are
//   equal) becomes the same operator on integers; Relu and Clip between equal ones become a Clip. Inputs that are
//   quantised otherwise than the result are brought to that first.
// - Add, Mul, Sigmoid and whatever else an instruction of an ElementwiseProgram is becomes the kit's
//   QLinearElementwise; AveragePool and GlobalAveragePool become its QLinearAveragePool, Softmax along the last axis its
//   QLinearSoftmax, and LayerNormalization with float parameters its QLinearLayerNormalization.
//
// Results are at most one quantum away from what the float operators give, and equal for operators that only move.
// Runs first: other recognisers take away the operators of units.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct QuantizedOptions {
  // Whether a node may take a unit's place; empty: every one. It isn't part of the graph yet, but its values are.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
  // MatMul of two computed matrices, or of batches of them, becomes a QLinearMatMul, too.
  bool computed_products = false;
};

void FuseQuantized(ir::Editor& editor, const QuantizedOptions& options = {});

}  // namespace epiphyte::kit::fuse
