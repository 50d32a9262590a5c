// Strides: offsets of a tensor's elements, and iteration over two layouts of the same elements.
//
//   kit::StridedBlock block{dims, from_strides, to_strides};
//   block = kit::Simplify(block);                      // fewer and longer axes
//   kit::Odometer at(block, block.dims.size() - 1, 0); // over all rows along the last axis
//   for (int64_t row = 0; row < rows; ++row, at.Next()) Copy(from + at.from(), to + at.to(), block.dims.back());
//
// Transpose, Slice, Concat, Split, Expand, Tile and DepthToSpace are moves of such blocks. Source strides may be 0
// (repeat) or negative (reverse).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// Strides in elements of a row-major tensor. The element count must have been checked (see CheckedCount).
inline Dims RowMajorStrides(std::span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// A move of `dims` elements. The element at index i has offset sum(i * from) in the source and sum(i * to) in the
// destination.
struct StridedBlock {
  Dims dims;
  Dims from;  // strides
  Dims to;
};

// The same move without axes of size 1, and with axes merged that are contiguous on both sides. At least one axis
// remains.
inline StridedBlock Simplify(const Dims& dims, const Dims& from, const Dims& to) {
  StridedBlock block;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!block.dims.empty() && block.from.back() == from[i] * dims[i] && block.to.back() == to[i] * dims[i]) {
      block.dims.back() *= dims[i];
      block.from.back() = from[i];
      block.to.back() = to[i];
    } else {
      block.dims.push_back(dims[i]);
      block.from.push_back(from[i]);
      block.to.push_back(to[i]);
    }
  }
  if (block.dims.empty()) {
    block.dims.push_back(1);
    block.from.push_back(1);
    block.to.push_back(1);
  }
  return block;
}
inline StridedBlock Simplify(const StridedBlock& block) { return Simplify(block.dims, block.from, block.to); }

// Iterates over the first `rank` axes of a block in row-major order, starting at any position. The block must outlive
// the iteration.
class Odometer {
 public:
  Odometer(const StridedBlock& block, size_t rank, int64_t position) : block_(block), at_(rank, 0) {
    for (size_t i = rank; i-- > 0;) {
      at_[i] = position % block.dims[i];
      position /= block.dims[i];
      from_ += at_[i] * block.from[i];
      to_ += at_[i] * block.to[i];
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  void Next() {
    for (size_t i = at_.size(); i-- > 0;) {
      from_ += block_.from[i];
      to_ += block_.to[i];
      if (++at_[i] < block_.dims[i]) return;
      from_ -= at_[i] * block_.from[i];
      to_ -= at_[i] * block_.to[i];
      at_[i] = 0;
    }
  }

 private:
  const StridedBlock& block_;
  Dims at_;
  int64_t from_ = 0;
  int64_t to_ = 0;
};

}  // namespace epiphyte::kit
