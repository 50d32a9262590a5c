// Dynamic quantisation of a float model's products: what quantisers of models write, done while a model is compiled.
//
//   qdq::QuantizeProducts(editor);
//   // MatMul, Gemm or Conv with constant weights  →  DynamicQuantizeLinear of its input, MatMulInteger or ConvInteger
//   //                                                with int8 weights, Cast, Mul by the scales, Add of its bias
//   fuse::FuseIntegerProducts(editor);             // and that as one operator
//
// Weights become int8 with one scale for each column or filter, from its largest number, and no zero point; inputs
// uint8 with one scale for the tensor, in each run. Both add noise: about a part in 250 of the largest number each. An
// input that several products read is quantised once.
//
// What is left as it is: products of other types than float, of computed weights, with weights that are not finite,
// with fewer than 64 products in each sum, for which quantising costs more than it saves; convolutions with groups;
// Gemms that transpose their first operand or scale what they add.
#pragma once

#include <cstdint>
#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::qdq {

// `made` hears of the bytes of weights that were made, as they are.
void QuantizeProducts(ir::Editor& editor, const std::function<void(uint64_t bytes)>& made = {});

}  // namespace epiphyte::kit::qdq
