// ByteWeights: right operands of integer GEMMs in panels (simd/gemm/byte_product.h), with precomputed data for each
// column. There is one matrix for each group of a convolution, or for each matrix of a batch.
//
//     BytesToPack bytes = …;                                          // int8 or uint8 data and its column strides
//     const ByteWeights weights = StoreByteWeights(init, 3, bytes);   // packed when the plan is made; kept in contexts
//     const ByteWeights weights = PackByteWeights(context, bytes);    // packed for one run
//     const ByteWeights weights = ReserveByteWeights(context, bytes); // packed by the threads that multiply by them
//
// A column's zero point is subtracted from its weights if the differences fit in bytes. Otherwise its negative is in
// `minus_zeros`, and the GEMM needs the sum of each left row.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/gemm/byte_product.h"

namespace epiphyte::cpu {

// Element i of an 8-bit tensor.
inline int32_t ByteAt(const Tensor& tensor, int64_t i) {
  return tensor.type == EP_TYPE_INT8 ? tensor.as<int8_t>()[i] : tensor.as<uint8_t>()[i];
}

struct ByteWeights {
  int64_t groups = 0, columns = 0, k = 0;  // columns: of one group
  const int8_t* panels = nullptr;          // null: no weights
  // By column. Groups follow each other, each padded to whole panels. `sums`: sum of the column's weights minus its
  // zero point.
  const int32_t* sums = nullptr;
  const int32_t* minus_zeros = nullptr;  // null: all are 0

  explicit operator bool() const { return panels != nullptr; }
  int64_t padded() const { return simd::BytePanelColumns(columns); }
  const int8_t* PanelsOf(int64_t group) const { return panels + group * simd::BytePanelBytes(columns, k); }
};

struct BytesToPack {
  simd::ByteMatrix first;  // matrix of group 0; its data may be null when it was dropped
  int64_t groups = 1;
  int64_t group_stride = 0;  // bytes between the matrices of two groups
  // same type as the data; one value, one for each column, or one for each column of each group
  const Tensor* zero = nullptr;
  bool is_signed = false;
};

// Packs the constant input `input` and drops it. Packed data in a context is used directly.
ByteWeights StoreByteWeights(const KernelInit& init, size_t input, const BytesToPack& bytes);
// Packs the weights of a depthwise convolution, with one column in each group, in the format of simd/window/byte_rows.h
// and as one group of all columns. Returns none when a zero point can't be subtracted, or when a context has none.
ByteWeights StoreDepthwiseWeights(const KernelInit& init, size_t input, const BytesToPack& bytes);
// Packs weights in scratch memory.
ByteWeights PackByteWeights(OpContext& context, const BytesToPack& bytes);
// Reserves scratch memory for packed weights. Until PackReserved has packed the panels, the result only tells whether
// minus_zeros is null.
ByteWeights ReserveByteWeights(OpContext& context, const BytesToPack& bytes);
// Packs the panel that starts at column `first` of a group, to `panel`; null: to its own place. [any thread]
void PackReserved(const BytesToPack& bytes, const ByteWeights& reserved, int64_t group, int64_t first, int8_t* panel);

}  // namespace epiphyte::cpu
