#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/small_planes.cpp"
#include "plugins/cpu/simd/window/small_planes.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/window_ops-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

#ifndef EPIPHYTE_SMALL_PLANES_ONCE
#define EPIPHYTE_SMALL_PLANES_ONCE
namespace epiphyte::cpu::simd {
namespace {

// Layout of planes that are interleaved in scratch memory, with padding to the left and to the right.
struct SideBySide {
  explicit SideBySide(const PlaneWindows& w)
      : width(std::max(w.pad_left + w.in_width,
                       (w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x + 1)),
        in(w.in_height * width),
        out(w.out_height * w.out_width) {}
  int64_t width, in, out;  // in positions of one vector each
};

}  // namespace
}  // namespace epiphyte::cpu::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kPlanesTogether>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Transposes: out[i] has lane i of each vector of `in`, in order.
HWY_INLINE void TransposeSquare(const V* in, V* out) {
  const D d;
  const hn::RepartitionToWide<D> pairs;
  constexpr int kGroups = static_cast<int>(kLanes) / 4;
  // Block j of of_four[g][k] is lane 4 j + k of four vectors from 4 g on.
  V of_four[kGroups][4];
  for (int g = 0; g < kGroups; ++g) {
    const V* const row = in + 4 * g;
    const auto low_first = hn::BitCast(pairs, hn::InterleaveLower(d, row[0], row[1]));
    const auto low_second = hn::BitCast(pairs, hn::InterleaveLower(d, row[2], row[3]));
    const auto high_first = hn::BitCast(pairs, hn::InterleaveUpper(d, row[0], row[1]));
    const auto high_second = hn::BitCast(pairs, hn::InterleaveUpper(d, row[2], row[3]));
    of_four[g][0] = hn::BitCast(d, hn::InterleaveLower(pairs, low_first, low_second));
    of_four[g][1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low_first, low_second));
    of_four[g][2] = hn::BitCast(d, hn::InterleaveLower(pairs, high_first, high_second));
    of_four[g][3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high_first, high_second));
  }
  for (int k = 0; k < 4; ++k) {
    if constexpr (kGroups == 1) {
      out[k] = of_four[0][k];
    } else if constexpr (kGroups == 2) {
      out[k] = hn::ConcatLowerLower(d, of_four[1][k], of_four[0][k]);
      out[4 + k] = hn::ConcatUpperUpper(d, of_four[1][k], of_four[0][k]);
    } else {
      const auto join = [](V even, V odd, V* first, V* second) HWY_ATTR {
        *first = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even);
        *second = hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even));
      };
      join(hn::ConcatLowerLower(d, of_four[2][k], of_four[0][k]), hn::ConcatLowerLower(d, of_four[3][k], of_four[1][k]),
           out + k, out + 4 + k);
      join(hn::ConcatUpperUpper(d, of_four[2][k], of_four[0][k]), hn::ConcatUpperUpper(d, of_four[3][k], of_four[1][k]),
           out + 8 + k, out + 12 + k);
    }
  }
}

// Begin of the block at `at`; it reaches back if the block would exceed all n positions.
HWY_INLINE int64_t ReachingBack(int64_t at, int64_t n) { return at + kLanes <= n || n < kLanes ? at : n - kLanes; }

// Interleaves planes of `rows` by `columns`, with `width` positions for each row. Lanes beyond the last plane repeat
// it.
HWY_INLINE void PutSideBySide(const float* x, int64_t planes, int64_t rows, int64_t columns, float* to, int64_t width) {
  const D d;
  const int64_t n = rows * columns;
  for (int64_t next = 0; next < n; next += kLanes) {
    const int64_t at = ReachingBack(next, n), count = std::min(kLanes, n - at);
    V in[kLanes], out[kLanes];
    for (int64_t p = 0; p < kLanes; ++p) {
      const float* const from = x + std::min(p, planes - 1) * n + at;
      in[p] = count == kLanes ? hn::LoadU(d, from) : LoadPart(d, from, static_cast<size_t>(count));
    }
    TransposeSquare(in, out);
    int64_t row = at / columns, column = at % columns;
    for (int64_t i = 0; i < count; ++i) {
      hn::StoreU(out[i], d, to + (row * width + column) * kLanes);
      if (++column == columns) column = 0, ++row;
    }
  }
}

// The reverse of PutSideBySide, for n positions.
HWY_INLINE void PutApart(const float* from, int64_t n, float* y, int64_t planes) {
  const D d;
  for (int64_t next = 0; next < n; next += kLanes) {
    const int64_t at = ReachingBack(next, n), count = std::min(kLanes, n - at);
    V in[kLanes], out[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) in[i] = hn::LoadU(d, from + (at + std::min(i, count - 1)) * kLanes);
    TransposeSquare(in, out);
    for (int64_t p = 0; p < std::min(kLanes, planes); ++p) {
      float* const to = y + p * n + at;
      if (count == kLanes) {
        hn::StoreU(out[p], d, to);
      } else {
        StorePart(d, out[p], to, static_cast<size_t>(count));
      }
    }
  }
}

// Calls make(first plane, interleaved x, interleaved y) for all planes.
template <class Make>
HWY_INLINE void ForEachBlock(const PlaneWindows& w, float identity, const float* x, float* y, int64_t planes,
                             float* scratch, const Make& make) {
  const SideBySide sizes(w);
  const int64_t in_plane = w.in_height * w.in_width;
  float* const results = scratch + sizes.in * kLanes;
  std::fill_n(scratch, sizes.in * kLanes, identity);  // the padding stays as it is from here on
  for (int64_t first = 0; first < planes; first += kLanes) {
    const int64_t count = std::min(kLanes, planes - first);
    PutSideBySide(x + first * in_plane, count, w.in_height, w.in_width, scratch + w.pad_left * kLanes, sizes.width);
    make(first, scratch, results);
    PutApart(results, sizes.out, y + first * sizes.out, count);
  }
}

// Joins the columns of some rows first, then neighbouring columns.
template <class Join, class Finish>
HWY_INLINE void JoinPlanes(const PlaneWindows& w, const float* x, float* y, int64_t planes, float* scratch,
                           const Finish& finish) {
  const D d;
  const Join join;
  const SideBySide sizes(w);
  float* const joined = scratch + (sizes.in + sizes.out) * kLanes;
  ForEachBlock(w, Join::kIdentity, x, y, planes, scratch, [=](int64_t, const float* from, float* to) HWY_ATTR {
    const int64_t step = w.dilation_y * sizes.width * kLanes;
    for (int64_t r = 0; r < w.out_height; ++r) {
      const TapRows rows(w, r);
      const float* const top = from + rows.first * sizes.width * kLanes;
      for (int64_t i = 0; i < sizes.width * kLanes; i += kLanes) {
        V v = hn::Set(d, Join::kIdentity);
        if (rows.count > 0) v = hn::LoadU(d, top + i);
        for (int64_t t = 1; t < rows.count; ++t) v = join(v, hn::LoadU(d, top + t * step + i));
        hn::StoreU(v, d, joined + i);
      }
      for (int64_t c = 0; c < w.out_width; ++c, to += kLanes) {
        const float* const tap = joined + c * w.stride_x * kLanes;
        V v = hn::LoadU(d, tap);
        for (int64_t t = 1; t < w.kernel_width; ++t) v = join(v, hn::LoadU(d, tap + t * w.dilation_x * kLanes));
        hn::StoreU(finish(v, r, c), d, to);
      }
    }
  });
}

void LargestOfBlocks(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch) {
  JoinPlanes<MaxOp>(windows, x, y, planes, scratch, [](V v, int64_t, int64_t) HWY_ATTR { return v; });
}

void AverageOfBlocks(const PlaneWindows& windows, const float* x, const float* row_counts, const float* column_counts,
                     float* y, int64_t planes, float* scratch) {
  JoinPlanes<SumOp>(windows, x, y, planes, scratch, [=](V v, int64_t row, int64_t column) HWY_ATTR {
    return hn::Div(v, hn::Set(D(), row_counts[row] * column_counts[column]));
  });
}

// Computes kColumns consecutive results from `rows` rows of taps, from `row` and `weights` on.
template <int kColumns>
HWY_INLINE void ConvolveColumns(const PlaneWindows& w, int64_t width, const float* weights, V bias, const float* row,
                                int64_t rows, float* to) {
  const D d;
  const int64_t kernel_width = w.kernel_width, tap_step = w.dilation_x * kLanes, step = w.stride_x * kLanes;
  V sums[kColumns];
  for (int c = 0; c < kColumns; ++c) sums[c] = bias;
  for (int64_t ky = 0; ky < rows; ++ky, row += w.dilation_y * width * kLanes) {
    const float* tap = row;
    for (int64_t kx = 0; kx < kernel_width; ++kx, tap += tap_step, weights += kLanes) {
      const V factor = hn::LoadU(d, weights);
      for (int c = 0; c < kColumns; ++c) sums[c] = hn::MulAdd(hn::LoadU(d, tap + c * step), factor, sums[c]);
    }
  }
  for (int c = 0; c < kColumns; ++c) hn::StoreU(sums[c], d, to + c * kLanes);
}

void ConvolveBlocks(const PlaneWindows& windows, const float* weights, const float* biases, const float* x, float* y,
                    int64_t planes, float* scratch) {
  const D d;
  const PlaneWindows w = windows;
  const SideBySide sizes(w);
  const int64_t taps = w.kernel_height * w.kernel_width;
  float* const factors = scratch + (sizes.in + sizes.out) * kLanes;
  ForEachBlock(w, 0.0f, x, y, planes, scratch, [=](int64_t first, const float* from, float* to) HWY_ATTR {
    const int64_t count = std::min(kLanes, planes - first);
    PutSideBySide(weights + first * taps, count, 1, taps, factors, taps);
    V bias = hn::Zero(d);
    if (biases != nullptr)
      bias = count == kLanes ? hn::LoadU(d, biases + first) : LoadPart(d, biases + first, static_cast<size_t>(count));
    for (int64_t r = 0; r < w.out_height; ++r, to += w.out_width * kLanes) {
      const TapRows rows(w, r);
      const float* const row = from + rows.first * sizes.width * kLanes;
      const float* const of_rows = factors + rows.skipped * w.kernel_width * kLanes;
      constexpr int kMost = 8;  // sums enough to keep the CPU busy
      // The last results reach back.
      for (int64_t next = 0; next < w.out_width; next += kMost) {
        const int64_t c = w.out_width >= kMost ? std::min(next, w.out_width - kMost) : 0;
        const float* const at = row + c * w.stride_x * kLanes;
        float* const out = to + c * kLanes;
        switch (std::min<int64_t>(kMost, w.out_width)) {
          case 1: ConvolveColumns<1>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          case 2: ConvolveColumns<2>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          case 3: ConvolveColumns<3>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          case 4: ConvolveColumns<4>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          case 5: ConvolveColumns<5>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          case 6: ConvolveColumns<6>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          case 7: ConvolveColumns<7>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
          default: ConvolveColumns<8>(w, sizes.width, of_rows, bias, at, rows.count, out); break;
        }
      }
    }
  });
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

bool SuitsSmallPlanes(const PlaneWindows& windows) {
  // Beyond the first limit vectors of rows are full. Beyond the second one interleaved planes leave the second-level
  // cache.
  constexpr int64_t kMostColumns = 32, kMostPositions = 2048;
  const SideBySide sizes(windows);
  return windows.out_width <= kMostColumns && sizes.in <= kMostPositions && sizes.out <= kMostPositions;
}

int64_t SmallPlaneScratchFloats(const PlaneWindows& windows) {
  const SideBySide sizes(windows);
  // `more` is room for a joined row or for the weights.
  const int64_t more = std::max(sizes.width, windows.kernel_height * windows.kernel_width);
  return (sizes.in + sizes.out + more + 1) * kPlanesTogether;
}

namespace {
// Vectors that cross cache lines take twice as long.
float* Aligned(float* scratch) {
  constexpr uintptr_t kLine = kPlanesTogether * sizeof(float);
  const uintptr_t beyond = reinterpret_cast<uintptr_t>(scratch) % kLine;
  return beyond == 0 ? scratch : scratch + (kLine - beyond) / sizeof(float);
}
}  // namespace

EPIPHYTE_EXPORT(LargestOfBlocks);
EPIPHYTE_EXPORT(AverageOfBlocks);
EPIPHYTE_EXPORT(ConvolveBlocks);
void LargestOfSmallPlanes(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch) {
  EPIPHYTE_DISPATCH(LargestOfBlocks)(windows, x, y, planes, Aligned(scratch));
}
void AverageOfSmallPlanes(const PlaneWindows& windows, const float* x, const float* row_counts,
                          const float* column_counts, float* y, int64_t planes, float* scratch) {
  EPIPHYTE_DISPATCH(AverageOfBlocks)(windows, x, row_counts, column_counts, y, planes, Aligned(scratch));
}
void ConvolveSmallPlanes(const PlaneWindows& windows, const float* weights, const float* biases, const float* x,
                         float* y, int64_t planes, float* scratch) {
  EPIPHYTE_DISPATCH(ConvolveBlocks)(windows, weights, biases, x, y, planes, Aligned(scratch));
}

}  // namespace epiphyte::cpu::simd
#endif
