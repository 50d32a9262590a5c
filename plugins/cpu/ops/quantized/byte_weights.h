// ByteWeights: the right sides of integer products in panels (simd/byte_product.h), with what is known of each column
// before anything runs. One matrix for each group of a convolution, or for each matrix of a batch.
//
//     BytesToPack bytes = …;                                          // int8 or uint8 data, where each column lies
//     const ByteWeights weights = StoreByteWeights(init, 3, bytes);   // packed when the plan is made; kept in contexts
//     const ByteWeights weights = PackByteWeights(context, bytes);    // packed for one run
//     const ByteWeights weights = ReserveByteWeights(context, bytes); // to be packed by whoever multiplies by them
//
// A zero point is subtracted from its column where the differences are bytes; what it is elsewhere stands in
// `minus_zeros`, and the sum of each row of the left side is needed.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/byte_product.h"

namespace epiphyte::cpu {

// Element i of an 8-bit tensor.
inline int32_t ByteAt(const Tensor& tensor, int64_t i) {
  return tensor.type == EP_TYPE_INT8 ? tensor.as<int8_t>()[i] : tensor.as<uint8_t>()[i];
}

struct ByteWeights {
  int64_t groups = 0, columns = 0, k = 0;  // columns of one group
  const int8_t* panels = nullptr;          // null: there are none
  // By column, groups one after another, each as whole panels have it. Sums of what is left of the zero point.
  const int32_t* sums = nullptr;
  const int32_t* minus_zeros = nullptr;  // null: all are 0

  explicit operator bool() const { return panels != nullptr; }
  int64_t padded() const { return simd::BytePanelColumns(columns); }
  const int8_t* PanelsOf(int64_t group) const { return panels + group * simd::BytePanelBytes(columns, k); }
};

struct BytesToPack {
  simd::ByteMatrix first;  // of group 0; its data may be null when it was dropped
  int64_t groups = 1;
  int64_t group_stride = 0;      // bytes from a group's matrix to the next one's
  const Tensor* zero = nullptr;  // of int8 or uint8, as the data; one, one for each column, or for each of each group
  bool is_signed = false;
};

// The constant input `input` packed, and dropped; what a context holds is used as it is.
ByteWeights StoreByteWeights(const KernelInit& init, size_t input, const BytesToPack& bytes);
// The same of a depthwise convolution, whose groups have one column each: packed as simd/byte_rows.h has it, with one
// group that has all columns. None where a zero point can't be subtracted, or a context holds none.
ByteWeights StoreDepthwiseWeights(const KernelInit& init, size_t input, const BytesToPack& bytes);
// In scratch memory.
ByteWeights PackByteWeights(OpContext& context, const BytesToPack& bytes);
// The same, of which only minus_zeros being null is known, until PackReserved has packed the panels.
ByteWeights ReserveByteWeights(OpContext& context, const BytesToPack& bytes);
// The panel that begins with column `first` of a group, to `panel`, or to its own place when that is null. [any thread]
void PackReserved(const BytesToPack& bytes, const ByteWeights& reserved, int64_t group, int64_t first, int8_t* panel);

}  // namespace epiphyte::cpu
