// Float GEMMs by AMX (simd/gemm/split_product.h) on the context's threads. They are for float16 models: the type is
// less precise than they are.
//
//   const std::optional<MemoryDesc> desc = SplitMatrixDesc(k, n);       // layout for PackWeights
//   if (IsSplit(packed) && HasSplitProducts()) …
//   SplitOperands operands = …;
//   if (!MultiplySplit(context, operands)) …                            // a number is not finite
#pragma once

#include <optional>

#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/weights.h"
#include "plugins/cpu/simd/gemm/split_product.h"

namespace epiphyte::cpu {

bool HasSplitProducts();

// Panels of a matrix [k, n], as a layout of floats. Nullopt when oneDNN lacks it.
std::optional<MemoryDesc> SplitMatrixDesc(int64_t k, int64_t n);
// True when weights have that layout or SplitWindowDesc's (split_window.h), and are bfloat16 parts or 16-bit numbers.
bool IsSplit(const PackedWeights& packed);

// True when constant input `input`, or its part with dimensions `dims`, may be packed for these GEMMs under `key`. It
// must be large and finite, and either KernelInit allows it or a context holds it in that form.
bool MaySplit(const KernelInit& init, size_t input, std::string_view key, std::span<const int64_t> dims);

struct SplitOperands {
  PackedWeights weights;
  const float* a = nullptr;  // [rows, k]
  int64_t rows = 0, k = 0, n = 0;
  const float* bias = nullptr;
  const float* sum = nullptr;  // addend with the shape of y; may be y
  Activation activation;
  float* y = nullptr;  // [rows, n]
};
// y = activation(a W + bias + sum). Returns false, with y unchanged, when a number in `a` is not finite.
bool MultiplySplit(OpContext& context, const SplitOperands& operands);

}  // namespace epiphyte::cpu
