#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/window/plane_windows.cpp"
#include "plugins/cpu/simd/window/plane_windows.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/window_ops-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Number of columns of the plane that any window sees.
HWY_INLINE int64_t ColumnsRead(const PlaneWindows& w) {
  const int64_t end = (w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x + 1 - w.pad_left;
  return std::clamp<int64_t>(end, 0, w.in_width);
}
// Values that are the same for all rows of windows.
struct Geometry {
  explicit Geometry(const PlaneWindows& w)
      : columns(ColumnsRead(w)), part(w.PartFloats()), row_floats(w.RowFloats()), band(w.BandHeight()) {}
  int64_t columns, part, row_floats, band;

  // Offset of tap `column` of the first window in a row of the scratch memory.
  int64_t TapOffset(const PlaneWindows& w, int64_t column) const {
    const int64_t at = column * w.dilation_x;
    if (w.stride_x <= 2) return w.stride_x == 1 ? at : (at & 1) * part + (at >> 1);  // no division for each tap
    return at % w.stride_x * part + at / w.stride_x;
  }
};

// Copies a row of the plane into the scratch memory's layout. whole(i) gives a vector from column i on; first(i, n)
// gives one in which n columns count. `line` is room for a row of the plane.
template <class Whole, class First>
HWY_INLINE void SpreadRow(const PlaneWindows& w, const Geometry& g, const Whole& whole, const First& first, float* row,
                          float* line) {
  const D d;
  const int64_t columns = g.columns;
  int64_t i = 0;
  if (w.stride_x == 2) {
    // Column i + pad_left goes to the part of its parity.
    float* const even = row + w.pad_left % 2 * g.part + w.pad_left / 2;
    float* const odd = row + (w.pad_left + 1) % 2 * g.part + (w.pad_left + 1) / 2;
    if (columns < 2 * kLanes) {
      const auto load = [&](int64_t at) HWY_ATTR {
        const int64_t n = columns - at;
        return n >= kLanes ? whole(at) : n > 0 ? first(at, static_cast<size_t>(n)) : hn::Zero(d);
      };
      const auto store = [&](V v, float* to, int64_t n) HWY_ATTR {
        if (n == kLanes) return hn::StoreU(v, d, to);
        if (n > 0) StorePart(d, v, to, static_cast<size_t>(n));
      };
      const V low = load(0), high = load(kLanes);
      store(hn::ConcatEven(d, high, low), even, (columns + 1) / 2);
      store(hn::ConcatOdd(d, high, low), odd, columns / 2);
      return;
    }
    const auto pair = [&](int64_t at) HWY_ATTR {
      const V low = whole(at), high = whole(at + kLanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, even + at / 2);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, odd + at / 2);
    };
    for (; i + 2 * kLanes <= columns; i += 2 * kLanes) pair(i);
    if (i + 1 < columns) pair(columns / 2 * 2 - 2 * kLanes);
    if (columns % 2 != 0) even[columns / 2] = hn::GetLane(first(columns - 1, 1));
    return;
  }
  float* const to = w.stride_x == 1 ? row + w.pad_left : line;
  for (; i + kLanes <= columns; i += kLanes) hn::StoreU(whole(i), d, to + i);
  if (i < columns) {
    if (columns >= kLanes) {
      hn::StoreU(whole(columns - kLanes), d, to + columns - kLanes);
    } else {
      const auto count = static_cast<size_t>(columns);
      StorePart(d, first(0, count), to, count);
    }
  }
  if (w.stride_x == 1) return;
  int64_t part = w.pad_left % w.stride_x, at = w.pad_left / w.stride_x;
  for (int64_t c = 0; c < columns; ++c) {
    row[part * g.part + at] = line[c];
    if (++part == w.stride_x) part = 0, ++at;
  }
}

// Joins the columns of some rows first, then neighbouring columns. finish(v, row, column) makes a result.
template <class Join, class Finish>
HWY_INLINE void JoinWindows(const PlaneWindows& w, const float* x, float* y, int64_t planes, float* scratch,
                            const Finish& finish) {
  const D d;
  const Join join;
  const Geometry g(w);
  const int64_t row_floats = g.row_floats, band = g.band, width = w.out_width;
  int64_t taps[PlaneWindows::kMostTaps];
  for (int64_t t = 0; t < w.kernel_width; ++t) taps[t] = g.TapOffset(w, t);
  float* const line = scratch + w.BandRows() * row_floats;
  std::fill_n(scratch, band * row_floats, Join::kIdentity);  // the padding stays as it is from here on
  for (int64_t plane = 0; plane < planes; ++plane, x += w.in_height * w.in_width, y += w.out_height * w.out_width) {
    for (int64_t from = 0; from < w.out_height; from += band) {
      const int64_t height = std::min(band, w.out_height - from);
      for (int64_t r = 0; r < height; ++r) {
        const TapRows rows(w, from + r);
        const float* const top = x + rows.first * w.in_width;
        const int64_t step = w.dilation_y * w.in_width;
        if (rows.count <= 0) {
          std::fill_n(scratch + r * row_floats, row_floats, Join::kIdentity);
          continue;
        }
        SpreadRow(
            w, g,
            [=](int64_t i) HWY_ATTR {
              V v = hn::LoadU(d, top + i);
              for (int64_t t = 1; t < rows.count; ++t) v = join(v, hn::LoadU(d, top + t * step + i));
              return v;
            },
            [=](int64_t i, size_t n) HWY_ATTR {
              V v = LoadPart(d, top + i, n);
              for (int64_t t = 1; t < rows.count; ++t) v = join(v, LoadPart(d, top + t * step + i, n));
              return v;
            },
            scratch + r * row_floats, line);
      }
      for (int64_t r = 0; r < height; ++r) {
        float* const out = y + (from + r) * w.out_width;
        for (int64_t c = 0; c < width; c += kLanes) {
          const float* const row = scratch + r * row_floats + c;
          V v = hn::LoadU(d, row);
          for (int64_t t = 1; t < w.kernel_width; ++t) v = join(v, hn::LoadU(d, row + taps[t]));
          v = finish(v, from + r, c);
          if (c + kLanes <= width) {
            hn::StoreU(v, d, out + c);
          } else {
            StorePart(d, v, out + c, static_cast<size_t>(width - c));
          }
        }
      }
    }
  }
}

void LargestOfWindows(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch) {
  JoinWindows<MaxOp>(windows, x, y, planes, scratch, [](V v, int64_t, int64_t) HWY_ATTR { return v; });
}

void AverageOfWindows(const PlaneWindows& windows, const float* x, const float* row_counts, const float* column_counts,
                      float* y, int64_t planes, float* scratch) {
  const D d;
  const int64_t width = windows.out_width;
  JoinWindows<SumOp>(windows, x, y, planes, scratch, [=](V v, int64_t row, int64_t column) HWY_ATTR {
    const V counts = column + kLanes <= width
                         ? hn::LoadU(d, column_counts + column)
                         : LoadPart(d, column_counts + column, static_cast<size_t>(width - column));
    return hn::Div(v, hn::Mul(counts, hn::Set(d, row_counts[row])));
  });
}

// Kernels that are processed together share their loads, most of which cross cache lines.
constexpr int kKernelsTogether = HWY_CAP_GE512 || HWY_ARCH_ARM_A64 ? 4 : 2;

// Some kernels and the places of their taps in the scratch memory, relative to the first tap of a window. Weights of
// each kernel are `weights_step` after those of the one before it.
struct PlaneKernels {
  const float* weights;
  int64_t weights_step;
  const int64_t* offsets;
  int64_t taps;
  const float* biases;  // null: none
};

// Computes kVectors vectors of results for each of some kernels, from the taps at `row` and beyond. Results of each
// kernel are `out_step` after those of the one before it.
template <int kKernels, int kVectors>
HWY_INLINE void ConvolveColumns(const PlaneKernels& kernels, const float* row, float* out, int64_t out_step,
                                int64_t columns) {
  const auto [weights, weights_step, offsets, taps, biases] = kernels;
  const D d;
  V sums[kKernels][kVectors];
  for (int k = 0; k < kKernels; ++k)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = biases == nullptr ? hn::Zero(d) : hn::Set(d, biases[k]);
  for (int64_t t = 0; t < taps; ++t) {
    const float* const tap = row + offsets[t];
    V values[kVectors];
    for (int v = 0; v < kVectors; ++v) values[v] = hn::LoadU(d, tap + v * kLanes);
    for (int k = 0; k < kKernels; ++k) {
      const V factor = hn::Set(d, weights[k * weights_step + t]);
      for (int v = 0; v < kVectors; ++v) sums[k][v] = hn::MulAdd(values[v], factor, sums[k][v]);
    }
  }
  if (columns >= kVectors * kLanes) {
    for (int k = 0; k < kKernels; ++k)
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[k][v], d, out + k * out_step + v * kLanes);
    return;
  }
  HWY_ALIGN float last[kKernels * kVectors * kLanes];
  for (int k = 0; k < kKernels; ++k)
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[k][v], d, last + (k * kVectors + v) * kLanes);
  for (int k = 0; k < kKernels; ++k) std::copy_n(last + k * kVectors * kLanes, columns, out + k * out_step);
}

// Computes kRows rows of windows side by side, so that their sums don't wait for each other. The rows are at most as
// long as a vector.
template <int kRows>
HWY_INLINE void ConvolveRows(const float* weights, const int64_t* offsets, int64_t taps, V bias, const float* row,
                             int64_t row_step, float* out, int64_t columns) {
  const D d;
  V sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = bias;
  for (int64_t t = 0; t < taps; ++t) {
    const V factor = hn::Set(d, weights[t]);
    const float* const tap = row + offsets[t];
    for (int r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(hn::LoadU(d, tap + r * row_step), factor, sums[r]);
  }
  for (int r = 0; r < kRows; ++r) {
    if (columns == kLanes) {
      hn::StoreU(sums[r], d, out + r * columns);
    } else {
      StorePart(d, sums[r], out + r * columns, static_cast<size_t>(columns));
    }
  }
}

// Rows [from, from + height) of windows, and their part of the plane in the scratch memory.
struct PlaneBand {
  int64_t from, height;
  const float* scratch;
  int64_t row_floats;
};

// Computes a band for some kernels with all their taps.
template <int kKernels>
HWY_INLINE void ConvolveBand(const PlaneWindows& w, const PlaneBand& band, const PlaneKernels& kernels, float* y) {
  const int64_t from = band.from, height = band.height, row_floats = band.row_floats;
  const float *const weights = kernels.weights, *const biases = kernels.biases, *const scratch = band.scratch;
  const int64_t all_taps = kernels.taps;
  const int64_t* const offsets = kernels.offsets;
  const int64_t out_plane = w.out_height * w.out_width;
  for (int64_t r = from; r < from + height; ++r) {
    const TapRows rows(w, r);
    // The first tap inside the plane; offsets are relative to the window's first tap.
    const int64_t skipped = rows.skipped * w.kernel_width, taps = std::max<int64_t>(rows.count, 0) * w.kernel_width;
    const float* const first = scratch + (r - from) * w.stride_y * row_floats;
    float* const out = y + r * w.out_width;
    constexpr int kTogether = 4;
    if (w.out_width <= kLanes && r + kTogether <= from + height && taps == all_taps &&
        TapRows(w, r + kTogether - 1).count == w.kernel_height) {
      for (int k = 0; k < kKernels; ++k) {
        const V bias = hn::Set(D(), biases == nullptr ? 0.0f : biases[k]);
        ConvolveRows<kTogether>(weights + k * all_taps, offsets, taps, bias, first, w.stride_y * row_floats,
                                out + k * out_plane, w.out_width);
      }
      r += kTogether - 1;
      continue;
    }
    for (int64_t c = 0; c < w.out_width;) {
      const int64_t left = w.out_width - c;
      const auto columns = [&](auto vectors) HWY_ATTR {
        constexpr int kVectors = decltype(vectors)::value;
        ConvolveColumns<kKernels, kVectors>({weights + skipped, all_taps, offsets + skipped, taps, biases}, first + c,
                                            out + c, out_plane, left);
        c += kVectors * kLanes;
      };
      if (left > 3 * kLanes) {
        columns(std::integral_constant<int, 4>());
      } else if (left > 2 * kLanes) {
        columns(std::integral_constant<int, 3>());
      } else if (left > kLanes) {
        columns(std::integral_constant<int, 2>());
      } else {
        columns(std::integral_constant<int, 1>());
      }
    }
  }
}

void ConvolvePlane(const PlaneWindows& windows, const float* weights, const float* biases, int64_t kernels,
                   const float* x, float* y, float* scratch) {
  const PlaneWindows w = windows;
  const D d;
  const Geometry g(w);
  const int64_t row_floats = g.row_floats, band = g.band;
  int64_t offsets[PlaneWindows::kMostTaps];
  for (int64_t kx = 0; kx < w.kernel_width; ++kx) {
    offsets[kx] = g.TapOffset(w, kx);
    for (int64_t ky = 1; ky < w.kernel_height; ++ky)
      offsets[ky * w.kernel_width + kx] = ky * w.dilation_y * row_floats + offsets[kx];
  }
  float* const line = scratch + w.BandRows() * row_floats;
  std::fill_n(scratch, w.BandRows() * row_floats, 0.0f);
  for (int64_t from = 0; from < w.out_height; from += band) {
    const int64_t height = std::min(band, w.out_height - from);
    const int64_t top = from * w.stride_y - w.pad_top;  // plane row that the first row of the scratch memory holds
    const int64_t end =
        std::min(w.in_height, top + (height - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y + 1);
    for (int64_t r = std::max<int64_t>(top, 0); r < end; ++r) {
      const float* const line_of_x = x + r * w.in_width;
      SpreadRow(
          w, g, [=](int64_t i) HWY_ATTR { return hn::LoadU(d, line_of_x + i); },
          [=](int64_t i, size_t n) HWY_ATTR { return LoadPart(d, line_of_x + i, n); }, scratch + (r - top) * row_floats,
          line);
    }
    const int64_t kernel = w.kernel_height * w.kernel_width, out_plane = w.out_height * w.out_width;
    const auto convolve = [&](auto together, int64_t k) HWY_ATTR {
      ConvolveBand<decltype(together)::value>(
          w, {from, height, scratch, row_floats},
          {weights + k * kernel, kernel, offsets, kernel, biases == nullptr ? nullptr : biases + k}, y + k * out_plane);
    };
    int64_t k = 0;
    for (; k + kKernelsTogether <= kernels; k += kKernelsTogether)
      convolve(std::integral_constant<int, kKernelsTogether>(), k);
    for (; k < kernels; ++k) convolve(std::integral_constant<int, 1>(), k);
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(LargestOfWindows);
EPIPHYTE_EXPORT(AverageOfWindows);
EPIPHYTE_EXPORT(ConvolvePlane);
void LargestOfWindows(const PlaneWindows& windows, const float* x, float* y, int64_t planes, float* scratch) {
  EPIPHYTE_DISPATCH(LargestOfWindows)(windows, x, y, planes, scratch);
}
void AverageOfWindows(const PlaneWindows& windows, const float* x, const float* row_counts, const float* column_counts,
                      float* y, int64_t planes, float* scratch) {
  EPIPHYTE_DISPATCH(AverageOfWindows)(windows, x, row_counts, column_counts, y, planes, scratch);
}
void ConvolvePlane(const PlaneWindows& windows, const float* weights, const float* biases, int64_t kernels,
                   const float* x, float* y, float* scratch) {
  EPIPHYTE_DISPATCH(ConvolvePlane)(windows, weights, biases, kernels, x, y, scratch);
}

}  // namespace epiphyte::cpu::simd
#endif
