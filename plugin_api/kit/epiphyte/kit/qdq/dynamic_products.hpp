// QuantizeProducts: dynamic quantisation of the GEMMs and convolutions of a float model. It does at compile time what
// model quantisers do offline.
//
//   qdq::QuantizeProducts(editor);
//   // MatMul, Gemm or Conv with constant weights  →  DynamicQuantizeLinear of its input, MatMulInteger or ConvInteger
//   //                                                with int8 weights, Cast, Mul by the scales, Add of its bias
//   fuse::FuseIntegerProducts(editor);             // and that as one operator
//
// Weights become int8 with one scale for each column or filter and no zero point; the scale comes from the largest
// magnitude. Inputs become uint8 with one scale for the tensor, computed in each run. Both add noise of about 1/250 of
// the largest magnitude. An input that several operators read is quantised once.
//
// These stay as they are: operators of types other than float, with computed weights, with weights that are not finite,
// or with fewer than 64 products in each sum (quantising costs more than it saves there); convolutions with groups;
// Gemms that transpose their first operand or scale their addend.
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::qdq {

// `made` is called with the number of bytes of new weights whenever some are made.
void QuantizeProducts(ir::Editor& editor, const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::kit::qdq
