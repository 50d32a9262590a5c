#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/panel_product.cpp"
#include "plugins/cpu/simd/gemm/panel_product.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));
constexpr int kRegisters = HWY_CAP_GE512 || HWY_ARCH_ARM_A64 ? 32 : 16;
// Rows of a panel between two checks for lines to prefetch.
constexpr int64_t kRun = 4;
// Maximum number of rows in a block of a panel. The block stays in the second-level cache, and the matching part of the
// rows of A in the first-level cache.
constexpr int64_t kBlock = 384;
constexpr int64_t kLine = 64;  // bytes of a cache line

// Number of vectors of a panel's row that are multiplied by `rows` rows of A at a time. Sums and weights are then in
// registers, and one register is left. The weights of a single row may stay in memory.
constexpr int VectorsBeside(int rows, int panel_vectors) {
  for (int v = std::min(8, panel_vectors); v > 1; --v) {
    if (panel_vectors % v == 0 && rows * v + (rows == 1 ? 0 : v) < kRegisters) return v;
  }
  return 1;
}
// Number of rows of A that are multiplied at a time.
constexpr int MostRows(int panel_vectors) {
  if (kRegisters < 32) return 6;
  return panel_vectors % 4 == 0 ? 6 : panel_vectors % 3 == 0 ? 8 : 12;
}

// Rows of A for a block: elements [first, first + depth) of each row, for `taps` rows of the input per row of the
// result.
struct Left {
  const float* a;
  int64_t a_stride;
  const int64_t* places;  // place of the first row for the first tap; nullptr: one tap, rows are a_stride apart
  int64_t places_stride;  // from tap to tap
  const float* zeros;
  int64_t taps, first, depth;

  const float* Row(int64_t tap, int64_t r) const {
    if (places == nullptr) return a + r * a_stride + first;
    const int64_t place = places[tap * places_stride + r];
    return (place < 0 ? zeros : a + place) + first;
  }
  void Skip(int64_t rows) {
    if (places == nullptr) {
      a += rows * a_stride;
    } else {
      places += rows;
    }
  }
};

// Destination of a tile and the operands that are added to it; pointers refer to its first column.
struct To {
  float* y;
  int64_t y_stride;
  const float* sum;  // added to the product; nullptr if there is none
  int64_t sum_stride;
  const float* bias;  // added to each row; nullptr if there is none
  bool bounded;       // clamps the result to [low, high]
  float low, high;
};

// Prefetches lines from `at` on while a tile is multiplied.
struct Fetch {
  const char* at = nullptr;
  int64_t lines = 0;
};

template <int kRows, int kVectors>
HWY_INLINE void AddRow(const float* const (&a)[kRows], int64_t i, const float* row, Vector (&sums)[kRows][kVectors]) {
  const Tag d;
  Vector weights[kVectors];
  for (int v = 0; v < kVectors; ++v) weights[v] = hn::LoadU(d, row + v * kLanes);
  for (int r = 0; r < kRows; ++r) {
    const Vector factor = hn::Set(d, a[r][i]);
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weights[v], factor, sums[r][v]);
  }
}

// Multiplies some rows by some vectors of columns; `panel` points to the first of these columns.
template <int64_t kWidth, int kRows, int kVectors>
HWY_INLINE void Tile(const Left& left, const float* panel, const To& to, int64_t columns, Fetch fetch) {
  const Tag d;
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const int64_t steps = left.taps * left.depth, k = left.depth;
  const int64_t lines = steps == 0 ? 0 : (fetch.lines * kRun + steps - 1) / steps;
  for (int64_t tap = 0; tap < left.taps; ++tap) {
    const float* a[kRows];
    for (int r = 0; r < kRows; ++r) a[r] = left.Row(tap, r);
    int64_t i = 0;
    for (; i + kRun <= k; i += kRun, panel += kRun * kWidth) {
      for (int64_t line = 0; line < lines; ++line, fetch.at += kLine) __builtin_prefetch(fetch.at, 0, 2);
      for (int64_t step = 0; step < kRun; ++step) AddRow<kRows, kVectors>(a, i + step, panel + step * kWidth, sums);
    }
    for (; i < k; ++i, panel += kWidth) AddRow<kRows, kVectors>(a, i, panel, sums);
  }
  if (columns >= kVectors * kLanes) {
    if (to.bias != nullptr) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector bias = hn::LoadU(d, to.bias + v * kLanes);
        for (int r = 0; r < kRows; ++r) sums[r][v] = hn::Add(sums[r][v], bias);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        Vector& sum = sums[r][v];
        if (to.sum != nullptr) sum = hn::Add(sum, hn::LoadU(d, to.sum + r * to.sum_stride + v * kLanes));
        if (to.bounded) sum = AtMost(d, AtLeast(d, sum, to.low), to.high);
        hn::StoreU(sum, d, to.y + r * to.y_stride + v * kLanes);
      }
    }
    return;
  }
  HWY_ALIGN float row[kVectors * kLanes];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[r][v], d, row + v * kLanes);
    for (int64_t c = 0; c < columns; ++c) {
      if (to.bias != nullptr) row[c] += to.bias[c];
      if (to.sum != nullptr) row[c] += to.sum[r * to.sum_stride + c];
      if (to.bounded) row[c] = row[c] < to.low ? to.low : row[c] > to.high ? to.high : row[c];
      to.y[r * to.y_stride + c] = row[c];
    }
  }
}

// A block of a panel and the rows that it is multiplied by.
struct Block {
  Left left;
  const float* panel;
  To to;
  int64_t columns;
  const char* fetched = nullptr;  // begin of the lines that are prefetched meanwhile
  int64_t lines_of_row = 0;       // lines that are prefetched for each row of A
};

// Multiplies kRows rows and advances the block behind them.
template <int64_t kWidth, int kRows>
HWY_INLINE void MultiplyRows(Block& block) {
  constexpr int kVectors = VectorsBeside(kRows, static_cast<int>(kWidth) / kLanes);
  constexpr int64_t kStep = kVectors * kLanes;
  constexpr int64_t kTiles = kWidth / kStep;
  const int64_t lines = (block.lines_of_row * kRows + kTiles - 1) / kTiles;
  const auto moved = [](const float* p, int64_t by) { return p == nullptr ? p : p + by; };
  To& to = block.to;
  for (int64_t at = 0; at < block.columns; at += kStep) {
    To part = to;
    part.y += at;
    part.sum = moved(to.sum, at);
    part.bias = moved(to.bias, at);
    Tile<kWidth, kRows, kVectors>(block.left, block.panel + at, part, block.columns - at, {block.fetched, lines});
    block.fetched += lines * kLine;
  }
  block.left.Skip(kRows);
  to.y += kRows * to.y_stride;
  to.sum = moved(to.sum, kRows * to.sum_stride);
}

template <int64_t kWidth>
HWY_INLINE void MultiplyBlock(Block block, int64_t rows) {
  constexpr int kMost = MostRows(static_cast<int>(kWidth) / kLanes);
  for (; rows >= kMost; rows -= kMost) MultiplyRows<kWidth, kMost>(block);
  for (; rows >= 4; rows -= 4) MultiplyRows<kWidth, 4>(block);
  switch (rows) {
    case 3: return MultiplyRows<kWidth, 3>(block);
    case 2: return MultiplyRows<kWidth, 2>(block);
    case 1: return MultiplyRows<kWidth, 1>(block);
    default: return;
  }
}

template <int64_t kWidth>
HWY_INLINE void Multiply(const PanelProduct& p) {
  const int64_t count = (p.n + kWidth - 1) / kWidth;
  // A block is part of a tap, all of one size but for the last one, or it covers several whole taps.
  const int64_t parts = std::max<int64_t>(1, (p.k + kBlock - 1) / kBlock);
  const int64_t depth = std::max(kRun, (p.k + parts * kRun - 1) / (parts * kRun) * kRun);
  const int64_t taps = parts > 1 ? 1 : std::max<int64_t>(1, kBlock / std::max<int64_t>(1, p.k));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = p.last_first ? count - 1 - i : i;
    const float* const panel = p.panels + number * p.panel_stride;
    const int64_t column = number * kWidth;
    float* const y = p.y + column;
    To to{y,
          p.y_stride,
          p.sum == nullptr ? nullptr : p.sum + column,
          p.y_stride,
          p.bias == nullptr ? nullptr : p.bias + column,
          false,
          p.low,
          p.high};
    // The loop also runs once if k is 0.
    for (int64_t tap = 0, first = 0; tap < p.taps;) {
      const bool last_part = first + depth >= p.k;
      const Left left{p.a,
                      p.a_stride,
                      p.places == nullptr ? nullptr : p.places + tap * p.places_stride,
                      p.places_stride,
                      p.zeros,
                      std::min(taps, p.taps - tap),
                      first,
                      std::min(depth, p.k - first)};
      to.bounded = p.bounded && last_part && tap + left.taps == p.taps;
      Block block{left, panel + (tap * p.k + first) * kWidth, to, std::min(kWidth, p.n - column)};
      const int64_t size = left.taps * left.depth * kWidth;
      tap += last_part ? left.taps : 0;
      first = last_part ? 0 : first + depth;
      const float* const next = tap < p.taps ? block.panel + size : panel + p.panel_stride;
      if (p.fetched_end != nullptr && next < p.fetched_end) {
        const int64_t bytes = std::min(size, p.fetched_end - next) * static_cast<int64_t>(sizeof(float));
        block.fetched = reinterpret_cast<const char*>(next);
        block.lines_of_row = (bytes + kLine * p.rows - 1) / (kLine * p.rows);
      }
      MultiplyBlock<kWidth>(block, p.rows);
      to.sum = y;
      to.bias = nullptr;
    }
  }
}

void MultiplyPanels(const PanelProduct& p) {
  switch (p.width) {
    case 64: return Multiply<64>(p);
    case 48: return Multiply<48>(p);
    case 32: return Multiply<32>(p);
    default: return Multiply<16>(p);
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

void PackPanels(const float* w, int64_t n, int64_t k, float* panels) {
  for (int64_t column = 0; column < n; column += kPanelWidth) {
    const int64_t columns = std::min(kPanelWidth, n - column);
    for (int64_t i = 0; i < k; ++i, panels += kPanelWidth) {
      for (int64_t c = 0; c < columns; ++c) panels[c] = w[(column + c) * k + i];
      std::fill(panels + columns, panels + kPanelWidth, 0.0f);
    }
  }
}

EPIPHYTE_EXPORT(MultiplyPanels);
void RunPanelProduct(const PanelProduct& product) {
  if (product.rows > 0 && product.n > 0) EPIPHYTE_DISPATCH(MultiplyPanels)(product);
}

}  // namespace epiphyte::cpu::simd
#endif
