// Element-wise part of an RNN step, beside its GEMMs, over the hidden values of one sequence. LstmStep and GruStep
// include the usual activation functions. The other functions are the pieces for other activations.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

// One step of an LSTM: gates[4][n], `stride` apart, are the input, output, forget and cell gates, before sigmoid and
// tanh; c = sigmoid(forget) c + sigmoid(input) tanh(cell), h = sigmoid(output) tanh(c).
void LstmStep(const float* gates, int64_t stride, float* c, float* h, int64_t n);

// One step of a GRU: with the update gate z, after its function, and the candidate, before tanh:
// h = (1 - z) tanh(candidate + product) + z h. With `reset`, the product is multiplied by it.
void GruStep(const float* z, const float* candidate, const float* product, const float* reset, float* h, int64_t n);

// y += a b
void MultiplyAdd(const float* a, const float* b, float* y, int64_t n);
// c = forget c + input candidate
void UpdateCell(const float* input, const float* forget, const float* candidate, float* c, int64_t n);
// h = (1 - z) candidate + z h
void Blend(const float* z, const float* candidate, float* h, int64_t n);

}  // namespace epiphyte::cpu::simd
