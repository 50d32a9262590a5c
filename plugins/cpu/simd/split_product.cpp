#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/split_product.cpp"
#include "plugins/cpu/simd/split_product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/per_target.h"
// After the policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/amx-inl.h"
#include "plugins/cpu/simd/dispatch.h"
#include "plugins/cpu/simd/rows-inl.h"
#include "plugins/cpu/simd/small_floats-inl.h"

#ifndef EPIPHYTE_SPLIT_PRODUCT_ONCE
#define EPIPHYTE_SPLIT_PRODUCT_ONCE
namespace epiphyte::cpu::simd {
namespace {
// Rows of W at a time, of which both parts of a panel stay in the first cache beside rows of the left side.
constexpr int64_t kSplitBlock = 256;
constexpr int64_t kSplitPart = kSplitBlock * kSplitPanel;  // numbers
}  // namespace
}  // namespace epiphyte::cpu::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Bits = hn::RebindToUnsigned<Floats>;
using Halves = hn::Repartition<uint16_t, Floats>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

// Floats as bfloat16s: those that are such already or, where kPackedRounds, rounded to nearest.
constexpr bool kPackedRounds = EPIPHYTE_HAS_TILES != 0;
HWY_INLINE hn::Vec<Halves> Packed(Vector first, Vector second) {
#if EPIPHYTE_HAS_TILES
  hn::Vec<Halves> packed;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(packed.raw) : "v"(first.raw), "v"(second.raw));
  return packed;
#else
  const hn::Rebind<uint16_t, Floats> half;
  const auto cut = [=](Vector v)
                       EPIPHYTE_INLINE { return hn::TruncateTo(half, hn::ShiftRight<16>(hn::BitCast(Bits(), v))); };
  return hn::Combine(Halves(), cut(second), cut(first));
#endif
}

struct Parts {
  Vector high, low;
};
// The upper part is rounded to nearest, and what is left is exact before it is rounded in turn, by Packed if that does.
HWY_INLINE Parts PartsOf(Vector v) {
  const Floats d;
  const auto rounded = [d](Vector x) EPIPHYTE_INLINE {
    const Vector large = InRegister(hn::Mul(x, hn::Set(d, 0x1p16f + 1)));
    return hn::Sub(large, InRegister(hn::Sub(large, x)));
  };
  const Vector high = InRegister(rounded(v)), left = hn::Sub(v, high);
  return {high, kPackedRounds ? left : rounded(left)};
}
// Of a number of 16 bits, of which the upper part has all but three.
HWY_INLINE Parts PartsOfHalf(Vector v) {
  const Floats d;
  const Bits bits;
  const Vector high = hn::BitCast(d, hn::And(hn::BitCast(bits, v), hn::Set(bits, 0xFFFF0000u)));
  return {high, hn::Sub(v, high)};
}

// Splits two vectors. `check` is a NaN from the first number on that isn't finite.
HWY_INLINE void SplitTwo(Vector first, Vector second, Vector& check, hn::Vec<Halves>* high, hn::Vec<Halves>* low) {
  const Floats d;
  const Parts a = PartsOf(first), b = PartsOf(second);
  check = hn::MulAdd(a.high, hn::Zero(d), hn::MulAdd(b.high, hn::Zero(d), check));
  *high = Packed(a.high, b.high);
  *low = Packed(a.low, b.low);
}

// `n` of a vector's numbers, from `at` on; what is beyond them is 0.
HWY_INLINE Vector LoadUpTo(const float* from, int64_t n, int64_t at) {
  const Floats d;
  if (n - at >= kLanes) return hn::LoadU(d, from + at);
  return n > at ? LoadPart(d, from + at, static_cast<size_t>(n - at)) : hn::Zero(d);
}

bool SplitAllRows(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles) {
  const Floats d;
  const Halves half;
  static_assert(kSplitTileColumns % (2 * kLanes) == 0);
  Vector check = hn::Zero(d);
  hn::Vec<Halves> upper, lower;
  for (int64_t r = 0; r < rows; ++r, a += a_stride) {
    uint16_t* to = tiles + SplitRowBegin(r, k);
    for (int64_t at = 0; at < k; at += kSplitTileColumns, to += 2 * kSplitTile) {
      for (int64_t c = 0; c < kSplitTileColumns; c += 2 * kLanes) {
        SplitTwo(LoadUpTo(a, k, at + c), LoadUpTo(a, k, at + c + kLanes), check, &upper, &lower);
        hn::StoreU(upper, half, to + c);
        hn::StoreU(lower, half, to + kSplitTile + c);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(check, check));
}

bool SplitAllPixels(const float* x, int64_t stride, int64_t pixels, int64_t channels, uint16_t* to, int64_t plane) {
  const Floats d;
  const Halves half;
  Vector check = hn::Zero(d);
  hn::Vec<Halves> upper, lower;
  for (int64_t i = 0; i < pixels; ++i, x += stride, to += kSplitPixel) {
    uint16_t* at = to;
    for (int64_t c = 0; c < channels; c += kSplitTileColumns, at += plane) {
      for (int64_t j = 0; j < kSplitTileColumns; j += 2 * kLanes) {
        SplitTwo(LoadUpTo(x, channels, c + j), LoadUpTo(x, channels, c + j + kLanes), check, &upper, &lower);
        hn::StoreU(upper, half, at + j);
        hn::StoreU(lower, half, at + kSplitTileColumns + j);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(check, check));
}

#if EPIPHYTE_HAS_TILES
template <typename T>
HWY_INLINE void SplitPanel(const T* from, int64_t n, uint16_t* high, uint16_t* low) {
  const Floats d;
  const Halves half;
  const auto parts = [d](const T* p) EPIPHYTE_INLINE {
    if constexpr (sizeof(T) == sizeof(float)) {
      return PartsOf(LoadFloats(d, p));
    } else {
      return PartsOfHalf(LoadFloats(d, p));
    }
  };
  for (int64_t i = 0; i < n; i += 2 * kLanes) {
    const Parts a = parts(from + i), b = parts(from + i + kLanes);
    hn::Store(Packed(a.high, b.high), half, high + i);
    hn::Store(Packed(a.low, b.low), half, low + i);
  }
}

static_assert(kSplitTileRows == kTileRows && kSplitTileColumns * 2 == kTileBytes);
constexpr int64_t kColumnsOfTile = kTileBytes / 4;
constexpr int64_t kPanelRow = kSplitPanel * 4;               // bytes of two rows of W
constexpr int64_t kPanelTile = kTileRows * kSplitPanel * 2;  // numbers of 32 rows of W

// What will be read soon, fetched into the second cache some lines at a time.
class Fetch {
 public:
  // In `steps` calls of Some.
  HWY_INLINE Fetch(const void* from, int64_t bytes, int64_t steps)
      : at_(static_cast<const char*>(from)), end_(at_ + bytes), step_((bytes / kLine + steps - 1) / steps * kLine) {}
  HWY_INLINE void Some() {
    for (const char* const to = std::min(at_ + step_, end_); at_ < to; at_ += kLine) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr int64_t kLine = 64;
  const char *at_, *end_;
  int64_t step_;
};

// Where the left side of some steps is.
struct LeftSide {
  const uint16_t* a;
  int64_t second;          // where the second tile of rows is behind the first one
  const int64_t* offsets;  // of planes (SplitProduct); not looked at for tiles
};

// Some steps of up to 32 rows, added to `sums`.
template <int kRowTiles, bool kPlanes>
HWY_INLINE void AddProducts(const LeftSide& left, const uint16_t* b_high, const uint16_t* b_low, int64_t count,
                            bool first, Fetch& fetch, float* sums) {
  constexpr int64_t kLeftRow = kPlanes ? kSplitPixel * 2 : kTileBytes;  // bytes
  constexpr int64_t kLower = kPlanes ? kSplitTileColumns : kSplitTile;  // numbers
  const uint16_t* a = left.a;
  const int64_t second = left.second;
  constexpr int64_t kSumsRow = kSplitPanel * 4;  // bytes
  float* const lower_sums = sums + kTileRows * kSplitPanel;
  if (first) {
    ClearTile<0>();
    ClearTile<1>();
    if constexpr (kRowTiles == 2) {
      ClearTile<2>();
      ClearTile<3>();
    }
  } else {
    LoadTile<0>(sums, kSumsRow);
    LoadTile<1>(sums + kColumnsOfTile, kSumsRow);
    if constexpr (kRowTiles == 2) {
      LoadTile<2>(lower_sums, kSumsRow);
      LoadTile<3>(lower_sums + kColumnsOfTile, kSumsRow);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    fetch.Some();
    if constexpr (kPlanes) a = left.a + left.offsets[i];
    // The parts below first: a tile of the upper one is used for what follows.
    const auto products = [&]() EPIPHYTE_INLINE {
      AddBfloat16Products<0, 4, 6>();
      AddBfloat16Products<1, 4, 7>();
      if constexpr (kRowTiles == 2) {
        AddBfloat16Products<2, 5, 6>();
        AddBfloat16Products<3, 5, 7>();
      }
    };
    LoadTile<6>(b_high, kPanelRow);
    LoadTile<7>(b_high + kSplitPanel, kPanelRow);
    LoadTile<4>(a + kLower, kLeftRow);
    if constexpr (kRowTiles == 2) LoadTile<5>(a + second + kLower, kLeftRow);
    products();
    LoadTile<4>(a, kLeftRow);
    if constexpr (kRowTiles == 2) LoadTile<5>(a + second, kLeftRow);
    products();
    LoadTile<6>(b_low, kPanelRow);
    LoadTile<7>(b_low + kSplitPanel, kPanelRow);
    products();
    if constexpr (!kPlanes) a += 2 * kSplitTile;
    b_high += kPanelTile;
    b_low += kPanelTile;
  }
  StoreTile<0>(sums, kSumsRow);
  StoreTile<1>(sums + kColumnsOfTile, kSumsRow);
  if constexpr (kRowTiles == 2) {
    StoreTile<2>(lower_sums, kSumsRow);
    StoreTile<3>(lower_sums + kColumnsOfTile, kSumsRow);
  }
}

// The sums of one panel to where they go.
HWY_INLINE void Finish(const SplitProduct& p, const float* sums, int64_t column) {
  const Floats d;
  static_assert(kLanes == kColumnsOfTile);
  const int64_t columns = std::min(kSplitPanel, p.columns - column);
  for (int64_t c = 0; c < columns; c += kLanes) {
    const auto rest = static_cast<size_t>(std::min(kLanes, columns - c));
    const bool whole = rest == kLanes;
    const float* const bias = p.bias == nullptr ? nullptr : p.bias + column + c;
    const auto more = bias == nullptr ? hn::Zero(d) : whole ? hn::LoadU(d, bias) : LoadPart(d, bias, rest);
    int64_t at = column + c;
    for (int64_t r = 0, in_line = p.first; r < p.rows; ++r, ++in_line) {
      if (p.line != 0) {
        if (in_line == p.line) in_line = 0;
        if (in_line >= p.used) continue;
      }
      auto sum = hn::Add(hn::Load(d, sums + r * kSplitPanel + c), more);
      if (p.sum != nullptr) sum = hn::Add(sum, whole ? hn::LoadU(d, p.sum + at) : LoadPart(d, p.sum + at, rest));
      if (p.relu) sum = hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Zero(d), sum);
      if (whole) {
        hn::StoreU(sum, d, p.y + at);
      } else {
        StorePart(d, sum, p.y + at, rest);
      }
      at += p.y_stride;
    }
  }
}

template <bool kPlanes, typename T>
HWY_INLINE void ProductOf(const SplitProduct& p, const T* panels) {
  constexpr int64_t kRows = 2 * kTileRows;
  auto* const b_high = static_cast<uint16_t*>(p.scratch);
  uint16_t* const b_low = b_high + kSplitPart;
  auto* const sums = reinterpret_cast<float*>(b_low + kSplitPart);
  const int64_t whole = p.rows / kRows * kRows, rest = p.rows - whole;
  const TileConfig all_rows(kRows), last_rows(rest);
  const TileScope scope(whole == 0 ? last_rows : all_rows);
  for (int64_t column = 0; column < p.columns; column += kSplitPanel) {
    const T* const panel = panels + column * p.depth;
    for (int64_t at = 0; at < p.depth; at += kSplitBlock) {
      const int64_t depth = std::min(kSplitBlock, p.depth - at), count = depth / kSplitTileColumns;
      SplitPanel(panel + at * kSplitPanel, depth * kSplitPanel, b_high, b_low);
      // The weights of the next block, which follows this one, or of the next panel.
      const int64_t left =
          (p.columns - column + kSplitPanel - 1) / kSplitPanel * kSplitPanel * p.depth - at * kSplitPanel;
      const int64_t numbers = std::min(kSplitPart, left - depth * kSplitPanel);
      Fetch fetch(panel + (at + depth) * kSplitPanel, numbers * static_cast<int64_t>(sizeof(T)),
                  count * ((p.rows + kRows - 1) / kRows));
      const auto add = [&](auto&& rows, int64_t row) EPIPHYTE_INLINE {
        const LeftSide left =
            kPlanes ? LeftSide{p.tiles + row * kSplitPixel, kTileRows * kSplitPixel, p.offsets + at / kSplitTileColumns}
                    : LeftSide{p.tiles + (row * p.depth + kTileRows * at) * 2, kTileRows * p.depth * 2, nullptr};
        rows(left, b_high, b_low, count, at == 0, fetch, sums + row * kSplitPanel);
      };
      for (int64_t row = 0; row < whole; row += kRows) add(AddProducts<2, kPlanes>, row);
      if (rest == 0) continue;
      if (whole != 0) TileScope::Set(last_rows);
      add(rest > kTileRows ? AddProducts<2, kPlanes> : AddProducts<1, kPlanes>, whole);
      if (whole != 0) TileScope::Set(all_rows);
    }
    Finish(p, sums, column);
  }
}
template <typename T>
void Product(const SplitProduct& p, const T* panels) {
  if (p.offsets == nullptr) return ProductOf<false>(p, panels);
  ProductOf<true>(p, panels);
}
#else
template <typename T>
void Product(const SplitProduct&, const T*) {}
#endif
void ProductOfHalves(const SplitProduct& p, const kit::Float16* panels) { Product(p, panels); }
void ProductOfBfloat16s(const SplitProduct& p, const kit::BFloat16* panels) { Product(p, panels); }
void ProductOfFloats(const SplitProduct& p, const float* panels) { Product(p, panels); }

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

uint64_t SplitScratchBytes(int64_t rows) {
  return static_cast<uint64_t>(2 * kSplitPart * 2 + (rows + 31) / 32 * 32 * kSplitPanel * 4);
}

EPIPHYTE_EXPORT(SplitAllRows);
EPIPHYTE_EXPORT(SplitAllPixels);
EPIPHYTE_EXPORT(ProductOfHalves);
EPIPHYTE_EXPORT(ProductOfBfloat16s);
EPIPHYTE_EXPORT(ProductOfFloats);
bool SplitRows(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles) {
  return EPIPHYTE_DISPATCH(SplitAllRows)(a, a_stride, rows, k, tiles);
}
bool SplitPixels(const float* x, int64_t stride, int64_t pixels, int64_t channels, uint16_t* to, int64_t plane) {
  return EPIPHYTE_DISPATCH(SplitAllPixels)(x, stride, pixels, channels, to, plane);
}
void RunSplitProduct(const SplitProduct& product, const kit::Float16* panels) {
  EPIPHYTE_DISPATCH(ProductOfHalves)(product, panels);
}
void RunSplitProduct(const SplitProduct& product, const kit::BFloat16* panels) {
  EPIPHYTE_DISPATCH(ProductOfBfloat16s)(product, panels);
}
void RunSplitProduct(const SplitProduct& product, const float* panels) {
  EPIPHYTE_DISPATCH(ProductOfFloats)(product, panels);
}

}  // namespace epiphyte::cpu::simd
#endif
