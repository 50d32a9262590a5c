// Float Softmax and LogSoftmax: along rows, and along adjacent columns.
//
//     SoftmaxAlong(context, view, x, y, logarithm);   // along the axis of a kit::AxisView; y may be x
#pragma once

#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/elementwise/unary.h"
#include "plugins/cpu/simd/reduce/normalize.h"
#include "plugins/cpu/simd/reduce/reduce.h"

namespace epiphyte::cpu {

// Cost of one element, in additions.
inline constexpr int64_t kSoftmaxCost = 16;

inline void SoftmaxRow(const float* x, float* y, int64_t n, bool logarithm) {
  const simd::NormalizeLoops& loops = simd::ChosenNormalizeLoops();
  logarithm ? loops.log_softmax(x, y, n) : loops.softmax(x, y, n);
}

// Softmax of `columns` adjacent columns with n elements of stride `stride`.
inline void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns, bool logarithm) {
  constexpr int64_t kMostColumns = 512;
  const simd::ReduceLoop largest(simd::Reduction::kLargest), sum(simd::Reduction::kSum);
  const simd::BinaryLoop subtract(simd::Binary::kSub), multiply(simd::Binary::kMul);
  const simd::UnaryLoop exponential(simd::Unary::kExp), log(simd::Unary::kLog), reciprocal(simd::Unary::kReciprocal);
  float tops[kMostColumns], sums[kMostColumns], row[kMostColumns];
  for (int64_t first = 0; first < columns; first += kMostColumns) {
    const int64_t width = std::min(kMostColumns, columns - first);
    const float* const from = x + first;
    float* const to = y + first;
    std::copy_n(from, width, tops);
    for (int64_t i = 1; i < n; ++i) largest.Accumulate(from + i * stride, tops, width);
    std::fill_n(sums, width, 0.0f);
    for (int64_t i = 0; i < n; ++i) {
      float* const shifted = to + i * stride;
      subtract(from + i * stride, 1, tops, 1, shifted, width);
      float* const powers = logarithm ? row : shifted;
      exponential(shifted, powers, width);
      sum.Accumulate(powers, sums, width);
    }
    logarithm ? log(sums, sums, width) : reciprocal(sums, sums, width);
    for (int64_t i = 0; i < n; ++i)
      (logarithm ? subtract : multiply)(to + i * stride, 1, sums, 1, to + i * stride, width);
  }
}

inline void SoftmaxAlong(OpContext& context, const kit::AxisView& view, const float* x, float* y, bool logarithm) {
  ParallelLoop(context, view.outer * view.inner, view.size * kSoftmaxCost, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin / view.inner, column = begin % view.inner;
      const int64_t columns = std::min(end - begin, view.inner - column);
      const int64_t offset = row * view.size * view.inner + column;
      if (view.inner == 1) {
        SoftmaxRow(x + offset, y + offset, view.size, logarithm);
      } else {
        SoftmaxColumns(x + offset, y + offset, view.size, view.inner, columns, logarithm);
      }
      begin += columns;
    }
  });
}

}  // namespace epiphyte::cpu
