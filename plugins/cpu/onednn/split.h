// Products of floats by AMX, as simd/split_product.h makes them, on the context's threads: for models of float16, whose
// type is less precise than they are.
//
//   const std::optional<MemoryDesc> desc = SplitMatrixDesc(k, n);       // what PackWeights shall make
//   if (IsSplit(packed) && HasSplitProducts()) …
//   SplitOperands operands = …;
//   if (!MultiplySplit(context, operands)) …                            // not all numbers are finite
#pragma once

#include <optional>

#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/weights.h"
#include "plugins/cpu/simd/split_product.h"

namespace epiphyte::cpu {

bool HasSplitProducts();

// Panels of a matrix [k, n], as a layout of floats. Nullopt where oneDNN has no such one.
std::optional<MemoryDesc> SplitMatrixDesc(int64_t k, int64_t n);
// Whether weights have that layout, or SplitWindowDesc's (split_window.h), and are parts or of 16 bits.
bool IsSplit(const PackedWeights& packed);

// Whether constant input `input`, or a part of it of dimensions `dims`, may be packed for them under `key`: it is large
// and finite, and KernelInit says so, or a context holds it like that.
bool MaySplit(const KernelInit& init, size_t input, std::string_view key, std::span<const int64_t> dims);

struct SplitOperands {
  PackedWeights weights;
  const float* a = nullptr;  // [rows, k]
  int64_t rows = 0, k = 0, n = 0;
  const float* bias = nullptr;
  const float* sum = nullptr;  // what is added, of the shape of y; may be y
  Activation activation;
  float* y = nullptr;  // [rows, n]
};
// y = activation(a W + bias + sum). False when a number on the left isn't finite: nothing has been written then.
bool MultiplySplit(OpContext& context, const SplitOperands& operands);

}  // namespace epiphyte::cpu
