// BroadcastShape and BroadcastLoop: numpy's broadcasting, iterated in as few and long rows as the shapes allow.
//
//   const kit::Dims out = kit::BroadcastShape(a, b);
//   const kit::BroadcastLoop<2> loop(out, {&a, &b});
//   loop.Run(0, loop.count(), [&](int64_t n, int64_t out, const kit::BroadcastLoop<2>::Operands& in) {
//     // out[0..n) from in[k].offset, where in[k].stride is 1, or 0 for a scalar
//   });
//
// Neighbouring dimensions that broadcast alike are merged. So equal shapes give one row, as do a tensor and a scalar;
// [N,C,H,W] with [C,1,1] gives N*C rows of H*W. Memory is row-major.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

// The shape that all `shapes` broadcast to. Throws Error(EP_STATUS_INVALID_ARGUMENT) when they do not broadcast. The
// caller must check the element count with CheckedCount.
Dims BroadcastShape(std::span<const Dims* const> shapes);
Dims BroadcastShape(const Dims& a, const Dims& b);

template <size_t kInputs>
class BroadcastLoop {
 public:
  struct Operand {
    int64_t offset;
    int64_t stride;  // stride of the innermost loop: 0 or 1
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
  // The merged dimensions, innermost first; at least one. Stride: the stride of operand k along a dimension.
  std::span<const int64_t> sizes() const { return {sizes_.data(), sizes_.size()}; }
  int64_t Stride(size_t dimension, size_t k) const { return strides_[dimension][k]; }

  // Calls row(n, out, operands) for the output elements [begin, end), in order, row by row.
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
  // Adds a dimension outside of the present ones, or merges it with the outermost one.
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

}  // namespace epiphyte::kit
