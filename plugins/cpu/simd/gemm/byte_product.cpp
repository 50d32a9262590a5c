#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/byte_product.cpp"
#include "plugins/cpu/simd/gemm/byte_product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/gemm/amx.h"
#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/gemm/amx-inl.h"
#include "plugins/cpu/simd/inline/byte_dot-inl.h"
#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Multiplies some rows by some vectors of columns.
template <class Way, int kRows, int kVectors>
HWY_INLINE void Tile(const uint8_t* a, int64_t a_stride, const int8_t* panel, int64_t steps, const int32_t* start,
                     int32_t* to) {
  const Sums d;
  Sum sums[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const Sum first = hn::LoadU(d, start + v * kLanes);
    for (int r = 0; r < kRows; ++r) sums[r][v] = first;
  }
  for (int64_t i = 0; i < steps; ++i, panel += kBytePanel * 4, a += 4) {
    decltype(Way::Weights(sums[0][0])) weights[kVectors];
    for (int v = 0; v < kVectors; ++v)
      weights[v] = Way::Weights(hn::Load(d, reinterpret_cast<const int32_t*>(panel) + v * kLanes));
    for (int r = 0; r < kRows; ++r) {
      int32_t four;
      std::memcpy(&four, a + r * a_stride, sizeof(four));
      const auto factors = Way::Factors(four);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Way::Add(sums[r][v], factors, weights[v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[r][v], d, to + r * kBytePanel + v * kLanes);
  }
}

template <class Way, int kRows>
HWY_INLINE void TileRows(const uint8_t* a, int64_t a_stride, const int8_t* panel, int64_t steps, const int32_t* start,
                         int64_t columns, int32_t* to) {
  for (int64_t at = 0; at < columns;) {
    const int8_t* const from = panel + at * 4;
    const int64_t rest = columns - at;
    if (Way::kVectors >= 4 && rest <= kLanes) {
      Tile<Way, kRows, 1>(a, a_stride, from, steps, start + at, to + at);
      return;
    }
    if (Way::kVectors >= 4 && rest <= 2 * kLanes) {
      Tile<Way, kRows, 2>(a, a_stride, from, steps, start + at, to + at);
      return;
    }
    Tile<Way, kRows, Way::kVectors>(a, a_stride, from, steps, start + at, to + at);
    at += Way::kVectors * kLanes;
  }
}

// Writes `columns` sums of each row as results. Rows of `sums` are as far apart as a panel is wide.
HWY_INLINE void Finish(const ByteProduct& p, int64_t row, int64_t rows, int64_t column, int64_t columns,
                       int32_t* sums) {
  const Sums d;
  const Rounding rounding(p.zero, p.low, p.high);
  for (int64_t r = row; r < row + rows; ++r, sums += kBytePanel) {
    for (int t = 0; t < 2; ++t) {
      if (p.column_terms[t] == nullptr) continue;
      const Sum term = hn::Set(d, p.row_terms[t][r]);
      for (int64_t c = 0; c < columns; c += kLanes) {
        const Sum by = hn::LoadU(d, p.column_terms[t] + column + c);
        hn::Store(hn::Add(hn::Load(d, sums + c), hn::Mul(term, by)), d, sums + c);
      }
    }
    const int64_t at = r * p.y_stride + column;
    switch (p.result) {
      case ByteResult::kSums:
        // memcpy is avoided here: GCC turns it into a string instruction, which is slow to start.
        Make(d, static_cast<int32_t*>(p.y) + at, columns,
             [=](const auto& load) EPIPHYTE_INLINE { return load(d, sums); });
        break;
      case ByteResult::kRequantized:
        RequantizeSums(sums, p.factor + column, rounding, static_cast<uint8_t*>(p.y) + at, columns);
        break;
      case ByteResult::kScaled:
        ScaleSums(sums, p.factor + column, p.bias == nullptr ? nullptr : p.bias + column, static_cast<float*>(p.y) + at,
                  columns);
        break;
    }
  }
}

template <class Way>
HWY_INLINE void Product(const ByteProduct& p) {
  HWY_ALIGN int32_t sums[Way::kRows * kBytePanel];
  for (int64_t column = 0; column < p.columns; column += kBytePanel) {
    const int8_t* const panel = p.panels + column * p.steps * 4;
    const int64_t columns = std::min(kBytePanel, p.columns - column);
    const int32_t* const start = p.start + column;
    int64_t row = 0;
    for (; row + Way::kRows <= p.rows; row += Way::kRows) {
      TileRows<Way, Way::kRows>(p.a + row * p.a_stride, p.a_stride, panel, p.steps, start, columns, sums);
      Finish(p, row, Way::kRows, column, columns, sums);
    }
    if (Way::kRows > 4 && row + 4 <= p.rows) {
      TileRows<Way, 4>(p.a + row * p.a_stride, p.a_stride, panel, p.steps, start, columns, sums);
      Finish(p, row, 4, column, columns, sums);
      row += 4;
    }
    if (row + 3 <= p.rows) {
      TileRows<Way, 3>(p.a + row * p.a_stride, p.a_stride, panel, p.steps, start, columns, sums);
      Finish(p, row, 3, column, columns, sums);
      row += 3;
    }
    if (row + 2 <= p.rows) {
      TileRows<Way, 2>(p.a + row * p.a_stride, p.a_stride, panel, p.steps, start, columns, sums);
      Finish(p, row, 2, column, columns, sums);
      row += 2;
    }
    if (row < p.rows) {
      TileRows<Way, 1>(p.a + row * p.a_stride, p.a_stride, panel, p.steps, start, columns, sums);
      Finish(p, row, 1, column, columns, sums);
    }
  }
}

void ProductByWords(const ByteProduct& p) { Product<ByWords>(p); }
void ProductByVnni(const ByteProduct& p) { Product<ByVnni>(p); }

#if EPIPHYTE_HAS_TILES
constexpr int64_t kTileSteps = kTileBytes / 4;
constexpr int64_t kTileColumns = kTileBytes / 4;
constexpr int64_t kPairColumns = 2 * kTileColumns;

// The last steps of a GEMM, fewer than a tile has, copied to whole tiles that end with zeros.
struct LastSteps {
  alignas(64) uint8_t a[2 * kTileRows * kTileBytes];
  alignas(64) int8_t panel[kTileSteps * kPairColumns * 4];

  HWY_INLINE void CopyA(const uint8_t* from, int64_t stride, int64_t rows, int64_t steps) {
    const hn::ScalableTag<uint8_t> d;
    const auto some = hn::FirstN(d, static_cast<size_t>(steps * 4));
    for (int64_t r = 0; r < rows; ++r) hn::Store(hn::MaskedLoad(some, d, from + r * stride), d, a + r * kTileBytes);
  }
  void CopyPanel(const int8_t* from, int64_t steps) {
    for (int64_t i = 0; i < steps; ++i)
      std::memcpy(panel + i * kPairColumns * 4, from + i * kBytePanel * 4, static_cast<size_t>(kPairColumns * 4));
    std::memset(panel + steps * kPairColumns * 4, 0, static_cast<size_t>((kTileSteps - steps) * kPairColumns * 4));
  }
};

template <int kRowTiles>
HWY_INLINE void AddTiles(const uint8_t* a, int64_t a_stride, const int8_t* panel, int64_t panel_stride) {
  LoadTile<6>(panel, panel_stride);
  LoadTile<4>(a, a_stride);
  AddByteProducts<0, 4, 6>();
  LoadTile<7>(panel + kTileColumns * 4, panel_stride);
  AddByteProducts<1, 4, 7>();
  if constexpr (kRowTiles == 2) {
    LoadTile<5>(a + kTileRows * a_stride, a_stride);
    AddByteProducts<2, 5, 6>();
    AddByteProducts<3, 5, 7>();
  }
}

// Prefetches into the second-level cache meanwhile: some lines with each step of tiles.
class Ahead {
 public:
  HWY_INLINE Ahead() {}  // nothing
  // Prefetches `bytes` bytes from `from`, spread over `steps` steps; null prefetches nothing.
  HWY_INLINE Ahead(const int8_t* from, int64_t bytes, int64_t steps) {
    if (from == nullptr || steps == 0) return;
    at_ = from;
    end_ = from + bytes;
    bytes_ = (bytes / kLine + steps - 1) / steps * kLine;
  }
  HWY_INLINE void Step() {
    const int8_t* const until = at_ + std::min(bytes_, end_ - at_);
    for (; at_ < until; at_ += kLine) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr int64_t kLine = 64;

  const int8_t* at_ = nullptr;
  const int8_t* end_ = nullptr;
  int64_t bytes_ = 0;  // per step
};

// Multiplies up to 32 rows by two tiles of columns. `last` is null when all steps fill whole tiles.
template <int kRowTiles>
HWY_INLINE void TilePair(const uint8_t* a, int64_t a_stride, const int8_t* panel, int64_t tiles, const LastSteps* last,
                         const int32_t* start, int32_t* to, Ahead& ahead) {
  LoadTile<0>(start, 0);
  LoadTile<1>(start + kTileColumns, 0);
  if constexpr (kRowTiles == 2) {
    LoadTile<2>(start, 0);
    LoadTile<3>(start + kTileColumns, 0);
  }
  for (int64_t i = 0; i < tiles; ++i, a += kTileBytes, panel += kTileSteps * kBytePanel * 4) {
    ahead.Step();
    AddTiles<kRowTiles>(a, a_stride, panel, kBytePanel * 4);
  }
  if (last != nullptr) AddTiles<kRowTiles>(last->a, kTileBytes, last->panel, kPairColumns * 4);
  StoreTile<0>(to, kBytePanel * 4);
  StoreTile<1>(to + kTileColumns, kBytePanel * 4);
  if constexpr (kRowTiles == 2) {
    StoreTile<2>(to + kTileRows * kBytePanel, kBytePanel * 4);
    StoreTile<3>(to + kTileRows * kBytePanel + kTileColumns, kBytePanel * 4);
  }
}

// Requantises all rows of a pair of tiles of columns, two rows at a time. The factors stay in registers.
HWY_INLINE void RequantizePair(const ByteProduct& p, int64_t row, int64_t rows, int64_t column, const int32_t* sums) {
  const Sums d;
  const hn::ScalableTag<float> df;
  const Bytes bytes;
  const hn::Half<Bytes> half;
  const FourRounding rounding(p.zero, p.low, p.high);
  const auto left = hn::LoadU(df, p.factor + column), right = hn::LoadU(df, p.factor + column + kTileColumns);
  const auto order = OrderOfFours();
  const auto value = [=](const int32_t* from, hn::Vec<decltype(df)> factor)
                         EPIPHYTE_INLINE { return hn::Mul(hn::ConvertTo(df, hn::Load(d, from)), factor); };
  auto* to = static_cast<uint8_t*>(p.y) + row * p.y_stride + column;
  for (int64_t r = 0; r < rows; r += 2, sums += 2 * kBytePanel, to += 2 * p.y_stride) {
    // An odd last row is taken twice.
    const int64_t next = r + 1 < rows ? 1 : 0;
    const int32_t* const below = sums + next * kBytePanel;
    const hn::Vec<decltype(df)> values[4] = {value(sums, left), value(sums + kTileColumns, right), value(below, left),
                                             value(below + kTileColumns, right)};
    const auto both = hn::BitCast(bytes, hn::TableLookupLanes(hn::BitCast(d, rounding(values)), order));
    hn::StoreU(hn::LowerHalf(half, both), half, to);
    hn::StoreU(hn::UpperHalf(half, both), half, to + next * p.y_stride);
  }
}

// Multiplies all rows by a pair of tiles of columns, which stays in the first-level cache meanwhile.
void ProductByAmx(const ByteProduct& p) {
  HWY_ALIGN int32_t sums[2 * kTileRows * kBytePanel];
  LastSteps last;
  // A GEMM with few steps uses smaller tiles.
  const bool few = p.steps > 0 && p.steps < kTileSteps;
  const int64_t steps = few ? p.steps : kTileSteps;
  const int64_t tiles = p.steps / steps, last_steps = p.steps % steps;
  const int64_t whole = p.rows / (2 * kTileRows) * (2 * kTileRows);
  const TileConfig all(2 * kTileRows, steps), rest(p.rows - whole, steps);
  const bool requantizes =
      p.result == ByteResult::kRequantized && p.column_terms[0] == nullptr && p.column_terms[1] == nullptr;
  const TileScope scope(whole == 0 ? rest : all);
  const int64_t panel_bytes = p.steps * kBytePanel * 4;
  const int64_t steps_of_pair = (p.rows + 2 * kTileRows - 1) / (2 * kTileRows) * tiles;
  Ahead ahead;
  for (int64_t column = 0; column < p.columns; column += kPairColumns) {
    const int64_t in_panel = column % kBytePanel;
    const int8_t* const panel = p.panels + (column - in_panel) * p.steps * 4 + in_panel * 4;
    const int64_t columns = std::min(kPairColumns, p.columns - column);
    if (p.fetches_ahead && in_panel == 0) {
      const int64_t pairs = p.columns - column > kPairColumns ? 2 : 1;
      const int8_t* const next = column + kBytePanel < p.columns ? panel + panel_bytes : p.next;
      ahead = Ahead(next, panel_bytes, pairs * steps_of_pair);
    }
    if (last_steps != 0) last.CopyPanel(panel + tiles * kTileSteps * kBytePanel * 4, last_steps);
    for (int64_t row = 0; row < p.rows; row += 2 * kTileRows) {
      const int64_t rows = std::min(2 * kTileRows, p.rows - row);
      const uint8_t* const a = p.a + row * p.a_stride;
      if (last_steps != 0) last.CopyA(a + tiles * kTileBytes, p.a_stride, rows, last_steps);
      if (row == whole && whole != 0) TileScope::Set(rest);
      const auto multiply = rows > kTileRows ? TilePair<2> : TilePair<1>;
      multiply(a, p.a_stride, panel, tiles, last_steps != 0 ? &last : nullptr, p.start + column, sums, ahead);
      if (requantizes && columns == kPairColumns) {
        RequantizePair(p, row, rows, column, sums);
      } else {
        Finish(p, row, rows, column, columns, sums);
      }
    }
    if (whole != 0 && whole != p.rows) TileScope::Set(all);
  }
}
#else
void ProductByAmx(const ByteProduct& p) { Product<ByVnni>(p); }
#endif

void RequantizeAll(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high, uint8_t* y,
                   int64_t n) {
  RequantizeSums(sums, factor, Rounding(zero, low, high), y, n);
}

// Interleaves the bytes of four rows of a panel.
class Weave {
 public:
  HWY_INLINE explicit Weave(uint8_t flip) : flip_(hn::Set(Bytes(), flip)) {}

  HWY_INLINE void operator()(const uint8_t* const* from, int8_t* panel) const {
    const Bytes d;
    const Words dw;
    auto* const to = reinterpret_cast<uint16_t*>(panel);
    for (int64_t c = 0; c < kBytePanel; c += kColumns) {
      const auto load = [&](int r) EPIPHYTE_INLINE { return hn::Xor(hn::LoadU(d, from[r] + c), flip_); };
      const auto a = load(0), b = load(1), e = load(2), f = load(3);
      const auto low_ab = hn::BitCast(dw, hn::InterleaveLower(d, a, b));
      const auto high_ab = hn::BitCast(dw, hn::InterleaveUpper(d, a, b));
      const auto low_ef = hn::BitCast(dw, hn::InterleaveLower(d, e, f));
      const auto high_ef = hn::BitCast(dw, hn::InterleaveUpper(d, e, f));
      // Columns 0 to 3 of each 16, then 4 to 7, and so on.
      Store(hn::InterleaveLower(dw, low_ab, low_ef), hn::InterleaveUpper(dw, low_ab, low_ef),
            hn::InterleaveLower(dw, high_ab, high_ef), hn::InterleaveUpper(dw, high_ab, high_ef), to + c * 2);
    }
  }

 private:
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  using Bytes = hn::FixedTag<uint8_t, 64>;
#else
  using Bytes = hn::FixedTag<uint8_t, 16>;
#endif
  using Words = hn::Repartition<uint16_t, Bytes>;
  using Word = hn::Vec<Words>;
  static constexpr int64_t kColumns = static_cast<int64_t>(hn::MaxLanes(Bytes()));

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  // Block i of each vector has the columns from 16 i on.
  static HWY_INLINE void Store(Word a, Word b, Word e, Word f, uint16_t* to) {
    const Words d;
    const auto store = [=](Word ab, Word ef, uint16_t* at) EPIPHYTE_INLINE {
      hn::Store(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(ef), ab), d, at);
      hn::Store(hn::OddEvenBlocks(ef, hn::SwapAdjacentBlocks(ab)), d, at + 32);
    };
    store(hn::ConcatLowerLower(d, e, a), hn::ConcatLowerLower(d, f, b), to);
    store(hn::ConcatUpperUpper(d, e, a), hn::ConcatUpperUpper(d, f, b), to + 64);
  }
#else
  static HWY_INLINE void Store(Word a, Word b, Word e, Word f, uint16_t* to) {
    const Words d;
    hn::Store(a, d, to);
    hn::Store(b, d, to + 8);
    hn::Store(e, d, to + 16);
    hn::Store(f, d, to + 24);
  }
#endif

  hn::Vec<Bytes> flip_;
};

// Packs four rows at a time.
void PackRows(const ByteMatrix& w, int64_t first, int64_t columns, int8_t* panel) {
  constexpr int64_t kAhead = 48;  // rows
  const Weave weave(w.flip);
  HWY_ALIGN uint8_t rows[4][kBytePanel] = {};
  for (int64_t k = 0; k < w.inner; k += 4, panel += 4 * kBytePanel) {
    const uint8_t* from[4];
    for (int64_t r = 0; r < 4; ++r) {
      from[r] = w.data + (k + r) * w.inner_stride + first;
      __builtin_prefetch(from[r] + kAhead * w.inner_stride);
      if (columns == kBytePanel && k + r < w.inner) continue;
      std::fill_n(rows[r], kBytePanel, w.flip);  // 0
      if (k + r < w.inner) std::memcpy(rows[r], from[r], static_cast<size_t>(columns));
      from[r] = rows[r];
    }
    weave(from, panel);
  }
}

template <class Way>
HWY_INLINE void SumPanelBy(const int8_t* panel, int64_t steps, int32_t* sums) {
  const Sums d;
  const auto ones = Way::Factors(0x01010101);
  for (int64_t c = 0; c < kBytePanel; c += kLanes) {
    Sum sum = hn::Zero(d);
    for (int64_t i = 0; i < steps; ++i) {
      const Sum bytes = hn::Load(d, reinterpret_cast<const int32_t*>(panel + (i * kBytePanel + c) * 4));
      sum = Way::Add(sum, ones, Way::Weights(bytes));
    }
    hn::StoreU(sum, d, sums + c);
  }
}
void SumPanelByWords(const int8_t* panel, int64_t steps, int32_t* sums) { SumPanelBy<ByWords>(panel, steps, sums); }
void SumPanelByVnni(const int8_t* panel, int64_t steps, int32_t* sums) { SumPanelBy<ByVnni>(panel, steps, sums); }

void Flip(const uint8_t* from, uint8_t* to, int64_t n) {
  const hn::ScalableTag<uint8_t> d;
  Map(d, from, to, n, [d](auto v) EPIPHYTE_INLINE { return hn::Xor(v, hn::Set(d, uint8_t{0x80})); });
}

int32_t SumBytes(const uint8_t* row, int64_t n, uint8_t flip) {
  const hn::ScalableTag<uint8_t> d;
  const auto flips = hn::Set(d, flip);
  const hn::Repartition<uint64_t, decltype(d)> d64;
  constexpr auto kBytes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<uint8_t>()));
  auto sums = hn::Zero(d64);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) sums = hn::Add(sums, hn::SumsOf8(hn::Xor(hn::LoadU(d, row + i), flips)));
  const auto rest = static_cast<size_t>(n - i);
  if (rest != 0) {
    // Lanes beyond the row are 0 before their bits are flipped.
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(LoadPart(d, row + i, rest), flips)));
    i += kBytes;
  }
  const auto sum = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(d64, sums)));
  return static_cast<int32_t>(sum - static_cast<uint32_t>(i - n) * flip);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace epiphyte::cpu::simd {
namespace {

bool HasVnni() {
#if HWY_ARCH_X86
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

// Set when the library is loaded; before that, GEMMs don't use VNNI.
bool g_has_vnni = HasVnni();

// Fewer rows would leave most of a tile unused.
constexpr int64_t kFewestAmxRows = 3;

}  // namespace

EPIPHYTE_EXPORT(PackRows);
EPIPHYTE_EXPORT(SumPanelByWords);
EPIPHYTE_EXPORT(SumPanelByVnni);
namespace {
void SumPanel(const int8_t* panel, int64_t steps, int32_t* sums) {
  if (g_has_vnni) return EPIPHYTE_DISPATCH(SumPanelByVnni)(panel, steps, sums);
  EPIPHYTE_DISPATCH(SumPanelByWords)(panel, steps, sums);
}
}  // namespace

void PackBytePanels(const ByteMatrix& w, int64_t first, int64_t count, const int32_t* subtracted, int8_t* panels,
                    int32_t* sums) {
  const int64_t k = w.outer * w.inner, steps = ByteSteps(k);
  for (int64_t panel = first; panel < first + count; panel += kBytePanel) {
    int8_t* const to = panels + (panel - first) * steps * 4;
    if (w.column_stride == 1 && w.outer == 1 && subtracted == nullptr) {
      EPIPHYTE_DISPATCH(PackRows)(w, panel, std::min(kBytePanel, first + count - panel), to);
      if (sums != nullptr) SumPanel(to, steps, sums + panel - first);
      continue;
    }
    std::memset(to, 0, static_cast<size_t>(steps * 4 * kBytePanel));
    uint32_t totals[kBytePanel] = {};
    const int64_t columns = std::min(kBytePanel, first + count - panel);
    int64_t at = 0;
    for (int64_t o = 0; o < w.outer; ++o) {
      for (int64_t i = 0; i < w.inner; ++i, ++at) {
        const uint8_t* const from = w.data + o * w.outer_stride + i * w.inner_stride + panel * w.column_stride;
        int8_t* const row = to + at / 4 * kBytePanel * 4 + at % 4;
        for (int64_t c = 0; c < columns; ++c) {
          int32_t number = static_cast<int8_t>(from[c * w.column_stride] ^ w.flip);
          if (subtracted != nullptr) number -= subtracted[panel + c];
          row[c * 4] = static_cast<int8_t>(number);
          totals[c] += static_cast<uint32_t>(number);
        }
      }
    }
    if (sums == nullptr) continue;
    for (int64_t c = 0; c < kBytePanel; ++c) sums[panel - first + c] = static_cast<int32_t>(totals[c]);
  }
}

EPIPHYTE_EXPORT(ProductByWords);
EPIPHYTE_EXPORT(ProductByVnni);
EPIPHYTE_EXPORT(ProductByAmx);
EPIPHYTE_EXPORT(RequantizeAll);
EPIPHYTE_EXPORT(Flip);
EPIPHYTE_EXPORT(SumBytes);

int64_t ByteTileRows() { return g_has_vnni && UsesAmxBytes() ? 32 : 0; }
void RunByteProduct(const ByteProduct& product) {
  if (product.rows >= kFewestAmxRows && ByteTileRows() != 0) return EPIPHYTE_DISPATCH(ProductByAmx)(product);
  if (g_has_vnni) return EPIPHYTE_DISPATCH(ProductByVnni)(product);
  return EPIPHYTE_DISPATCH(ProductByWords)(product);
}
void RequantizeRow(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high, uint8_t* y,
                   int64_t n) {
  EPIPHYTE_DISPATCH(RequantizeAll)(sums, factor, zero, low, high, y, n);
}
void FlipBytes(const uint8_t* from, uint8_t* to, int64_t n) { EPIPHYTE_DISPATCH(Flip)(from, to, n); }
int32_t SumOfBytes(const uint8_t* row, int64_t n, uint8_t flip) { return EPIPHYTE_DISPATCH(SumBytes)(row, n, flip); }

bool UsesVnni() { return g_has_vnni; }
WithoutVnni::WithoutVnni() { g_has_vnni = false; }
WithoutVnni::~WithoutVnni() { g_has_vnni = HasVnni(); }

}  // namespace epiphyte::cpu::simd
#endif
