// Broadcasting: numpy's rules, and an iteration that is as long and flat as the shapes allow.
//
//     const Dims out = BroadcastShape(a.dims, b.dims);
//     const BroadcastLoop<2> loop(out, {&a.dims, &b.dims});
//     loop.Run(0, loop.count(), [&](int64_t n, int64_t out, const std::array<BroadcastLoop<2>::Operand, 2>& in) {
//       // out[0..n) from in[k].offset, where in[k].stride is 1, or 0 for a scalar
//     });
//
// Neighbouring dimensions that are broadcast alike are joined, so equal shapes give one row, a tensor and a scalar too,
// and [N,C,H,W] with [C,1,1] gives N*C rows of H*W. Memory is row-major.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// The shape that all of `shapes` broadcast to; throws where they don't.
inline Dims BroadcastShape(std::span<const Dims* const> shapes) {
  size_t rank = 0;
  for (const Dims* shape : shapes) rank = std::max(rank, shape->size());
  Dims out(rank, 1);
  for (const Dims* shape : shapes) {
    const size_t shift = rank - shape->size();
    for (size_t i = 0; i < shape->size(); ++i) {
      const int64_t dim = (*shape)[i];
      int64_t& result = out[shift + i];
      if (dim == result || dim == 1) continue;
      if (result != 1) {
        FailOp("shapes {} and {} do not broadcast: {} and {} in dimension {} from the right", ShapeText(*shapes[0]),
               ShapeText(*shape), result, dim, shape->size() - i);
      }
      result = dim;
    }
  }
  return out;
}
inline Dims BroadcastShape(const Dims& a, const Dims& b) {
  const Dims* shapes[] = {&a, &b};
  return BroadcastShape(shapes);
}

template <size_t kInputs>
class BroadcastLoop {
 public:
  struct Operand {
    int64_t offset;
    int64_t stride;  // of the innermost loop: 0 or 1
  };
  using Operands = std::array<Operand, kInputs>;

  // Every shape must broadcast to `out`.
  BroadcastLoop(const Dims& out, const std::array<const Dims*, kInputs>& shapes) : count_(out.Count()) {
    std::array<int64_t, kInputs> step;
    step.fill(1);
    for (size_t i = out.size(); i-- > 0;) {
      if (out[i] == 1) continue;
      std::array<int64_t, kInputs> stride;
      for (size_t k = 0; k < kInputs; ++k) {
        const Dims& shape = *shapes[k];
        const size_t from_right = out.size() - i;
        const int64_t dim = from_right <= shape.size() ? shape[shape.size() - from_right] : 1;
        stride[k] = dim == 1 ? 0 : step[k];
        step[k] *= dim;
      }
      AddOuter(out[i], stride);
    }
    if (sizes_.empty()) sizes_.push_back(1), strides_.emplace_back();
  }

  int64_t count() const { return count_; }

  // Calls row(n, out, operands) for the elements [begin, end) of the output, in order, row by row.
  template <typename Row>
  void Run(int64_t begin, int64_t end, const Row& row) const {
    if (begin >= end) return;
    const int64_t inner = sizes_[0];
    const size_t rank = sizes_.size();
    int64_t position = begin % inner;
    Dims index(rank, 0);
    Operands operands;
    for (size_t k = 0; k < kInputs; ++k) operands[k] = {position * strides_[0][k], strides_[0][k]};
    int64_t rest = begin / inner;
    for (size_t d = 1; d < rank; ++d) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (size_t k = 0; k < kInputs; ++k) operands[k].offset += index[d] * strides_[d][k];
    }
    for (int64_t out = begin;;) {
      const int64_t n = std::min(inner - position, end - out);
      row(n, out, operands);
      out += n;
      if (out >= end) return;
      for (size_t k = 0; k < kInputs; ++k) operands[k].offset -= position * strides_[0][k];
      position = 0;
      for (size_t d = 1; d < rank; ++d) {
        for (size_t k = 0; k < kInputs; ++k) operands[k].offset += strides_[d][k];
        if (++index[d] < sizes_[d]) break;
        for (size_t k = 0; k < kInputs; ++k) operands[k].offset -= sizes_[d] * strides_[d][k];
        index[d] = 0;
      }
    }
  }

 private:
  // Adds a dimension outside of those that are there, or joins it with the outermost one.
  void AddOuter(int64_t size, const std::array<int64_t, kInputs>& stride) {
    if (!sizes_.empty()) {
      bool joins = true;
      for (size_t k = 0; k < kInputs; ++k) joins = joins && stride[k] == strides_.back()[k] * sizes_.back();
      if (joins) {
        sizes_.back() *= size;
        return;
      }
    }
    sizes_.push_back(size);
    strides_.push_back(stride);
  }

  int64_t count_;
  Dims sizes_;  // innermost first
  std::vector<std::array<int64_t, kInputs>> strides_;
};

}  // namespace epiphyte::cpu
