#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/byte_product.cpp"
#include "plugins/cpu/simd/byte_product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/per_target.h"
// After the policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/dispatch.h"
#include "plugins/cpu/simd/math-inl.h"
#include "plugins/cpu/simd/rows-inl.h"

#ifndef EPIPHYTE_BYTE_PRODUCT_ONCE
#define EPIPHYTE_BYTE_PRODUCT_ONCE
namespace epiphyte::cpu::simd {
namespace {
// Set when the library is loaded, before which products go without.
bool g_has_vnni = false;
}  // namespace
}  // namespace epiphyte::cpu::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
using Sum = hn::Vec<Sums>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Sums()));
constexpr int kPanelVectors = static_cast<int>(kBytePanel) / kLanes;

// Even and odd bytes apart, as 16-bit numbers, so that no product and no sum of two is too large.
struct ByWords {
#if HWY_CAP_GE512
  static constexpr int kRows = 6, kVectors = 2;
#else
  static constexpr int kRows = 4, kVectors = 2;
#endif
  using Words = hn::Repartition<int16_t, Sums>;
  struct Pair {
    hn::Vec<Words> even, odd;
  };
  static HWY_INLINE Pair Weights(Sum bytes) {
    const auto words = hn::BitCast(Words(), bytes);
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(words)), hn::ShiftRight<8>(words)};
  }
  static HWY_INLINE Pair Factors(int32_t four) {
    return {hn::BitCast(Words(), hn::Set(Sums(), four & 0x00FF00FF)),
            hn::BitCast(Words(), hn::Set(Sums(), static_cast<int32_t>(static_cast<uint32_t>(four) >> 8 & 0x00FF00FF)))};
  }
  static HWY_INLINE Sum PairSums(hn::Vec<Words> a, hn::Vec<Words> b) {
#if HWY_ARCH_X86
    Sum none = hn::Zero(Sums());
    return hn::ReorderWidenMulAccumulate(Sums(), a, b, hn::Zero(Sums()), none);  // pmaddwd
#else
    const Sum products = hn::BitCast(Sums(), hn::Mul(a, b));  // -128 * 255 is an int16
    return hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(products)), hn::ShiftRight<16>(products));
#endif
  }
  static HWY_INLINE Sum Add(Sum sum, const Pair& factors, const Pair& weights) {
    return hn::Add(sum, hn::Add(PairSums(factors.even, weights.even), PairSums(factors.odd, weights.odd)));
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
struct ByVnni {
  static constexpr int kRows = 6, kVectors = 4;
  static HWY_INLINE Sum Weights(Sum bytes) { return bytes; }
  static HWY_INLINE Sum Factors(int32_t four) { return hn::Set(Sums(), four); }
  static HWY_INLINE Sum Add(Sum sum, Sum factors, Sum weights) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(factors.raw), "v"(weights.raw));
    return sum;
  }
};
#endif

// Some rows times some vectors of columns.
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

HWY_INLINE Sum Requantized(Sum sum, hn::Vec<hn::ScalableTag<float>> factor, Sum zero, Sum low, Sum high) {
  const hn::ScalableTag<float> df;
  constexpr float kBeyond = 0x1p20f;
  const auto lowest = hn::Set(df, -kBeyond);
  const auto value = hn::Mul(hn::ConvertTo(df, sum), factor);
#if HWY_ARCH_X86
  const auto above = hn::Max(value, lowest);  // of which x86 gives the second one when there is a NaN
#else
  const auto above = hn::IfThenElse(hn::Gt(value, lowest), value, lowest);
#endif
  const Sum number = hn::NearestInt(hn::Min(above, hn::Set(df, kBeyond)));
  return hn::Min(hn::Max(hn::Add(number, zero), low), high);
}

// The low byte of each.
HWY_INLINE auto LowBytes(Sum v) {
  const hn::RebindToUnsigned<Sums> du;
  return hn::U8FromU32(hn::And(hn::BitCast(du, v), hn::Set(du, 255u)));
}

void RequantizeSums(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high, uint8_t* y,
                    int64_t n) {
  const Sums d;
  const hn::ScalableTag<float> df;
  const Sum vector_zero = hn::Set(d, zero), vector_low = hn::Set(d, low), vector_high = hn::Set(d, high);
  Make(hn::Rebind<uint8_t, Sums>(), y, n, [=](const auto& load) EPIPHYTE_INLINE {
    return LowBytes(Requantized(load(d, sums), load(df, factor), vector_zero, vector_low, vector_high));
  });
}

// `columns` sums of each row to where they go, from a panel's first column.
HWY_INLINE void Finish(const ByteProduct& p, int64_t row, int64_t rows, int64_t column, int64_t columns, int32_t* sums) {
  const Sums d;
  const hn::ScalableTag<float> df;
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
      case ByteResult::kSums: std::memcpy(static_cast<int32_t*>(p.y) + at, sums, static_cast<size_t>(columns) * 4); break;
      case ByteResult::kRequantized:
        RequantizeSums(sums, p.factor + column, p.zero, p.low, p.high, static_cast<uint8_t*>(p.y) + at, columns);
        break;
      case ByteResult::kScaled: {
        const float* const factor = p.factor + column;
        const float* const bias = p.bias == nullptr ? nullptr : p.bias + column;
        if (bias == nullptr) {
          Make(df, static_cast<float*>(p.y) + at, columns, [=](const auto& load) EPIPHYTE_INLINE {
            return hn::Mul(hn::ConvertTo(df, load(d, sums)), load(df, factor));
          });
        } else {
          Make(df, static_cast<float*>(p.y) + at, columns, [=](const auto& load) EPIPHYTE_INLINE {
            return hn::Add(InRegister(hn::Mul(hn::ConvertTo(df, load(d, sums)), load(df, factor))), load(df, bias));
          });
        }
        break;
      }
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
void ProductByVnni(const ByteProduct& p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  Product<ByVnni>(p);
#else
  Product<ByWords>(p);
#endif
}

void Flip(const uint8_t* from, uint8_t* to, int64_t n) {
  const hn::ScalableTag<uint8_t> d;
  Map(d, from, to, n, [d](auto v) EPIPHYTE_INLINE { return hn::Xor(v, hn::Set(d, uint8_t{0x80})); });
}

int32_t SumBytes(const uint8_t* row, int64_t n) {
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  constexpr auto kBytes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<uint8_t>()));
  auto sums = hn::Zero(d64);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(d, row + i)));
  auto sum = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(d64, sums)));
  for (; i < n; ++i) sum += row[i];
  return static_cast<int32_t>(sum);
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

const bool g_vnni_known = (g_has_vnni = HasVnni(), true);

}  // namespace

void PackBytePanels(const ByteMatrix& w, int64_t first, int64_t count, const int32_t* subtracted, int8_t* panels,
                    int32_t* sums) {
  const int64_t k = w.outer * w.inner, steps = ByteSteps(k);
  for (int64_t panel = first; panel < first + count; panel += kBytePanel) {
    int8_t* const to = panels + (panel - first) * steps * 4;
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
EPIPHYTE_EXPORT(RequantizeSums);
EPIPHYTE_EXPORT(Flip);
EPIPHYTE_EXPORT(SumBytes);

void RunByteProduct(const ByteProduct& product) {
  if (g_has_vnni) return EPIPHYTE_DISPATCH(ProductByVnni)(product);
  return EPIPHYTE_DISPATCH(ProductByWords)(product);
}
void RequantizeRow(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high, uint8_t* y,
                   int64_t n) {
  EPIPHYTE_DISPATCH(RequantizeSums)(sums, factor, zero, low, high, y, n);
}
void FlipBytes(const uint8_t* from, uint8_t* to, int64_t n) { EPIPHYTE_DISPATCH(Flip)(from, to, n); }
int32_t SumOfBytes(const uint8_t* row, int64_t n) { return EPIPHYTE_DISPATCH(SumBytes)(row, n); }

bool UsesVnni() { return g_has_vnni; }
WithoutVnni::WithoutVnni() { g_has_vnni = false; }
WithoutVnni::~WithoutVnni() { g_has_vnni = HasVnni(); }

}  // namespace epiphyte::cpu::simd
#endif
