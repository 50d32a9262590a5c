// Quantized form: a float case as exporters quantize it, with DequantizeLinear nodes before the operator and
// QuantizeLinear nodes after it.
//
//   random.DrawOnGrid();
//   op.make(random, c);
//   if (Quantize(&c, random)) runner.Run(c, random);
//
// Inputs lie on a grid of 8 bits. Therefore the dequantized numbers are exact, and the case's reference holds for them.
// An output may be one step from the rounded reference; moved elements must be equal.
#pragma once

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

// Gives the case's tensors scales and zero points by the kit's rules for units (kit/qdq/rules.hpp). Returns false when
// the operator has no quantized form or the case's numbers don't fit into 8 bits; the case is then in an unspecified
// state.
bool Quantize(Case* c, Random& random);

}  // namespace epiphyte::operators
