#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/split_product.cpp"
#include "plugins/cpu/simd/gemm/split_product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/gemm/amx-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/inline/small_floats-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

#ifndef EPIPHYTE_SPLIT_PRODUCT_ONCE
#define EPIPHYTE_SPLIT_PRODUCT_ONCE
namespace epiphyte::cpu::simd {
namespace {
// Rows of W in a block. Both parts of a panel's block stay in the first-level cache beside rows of the left side.
constexpr int64_t kSplitBlock = 256;
constexpr int64_t kSplitPart = kSplitBlock * kSplitPanel;  // numbers
constexpr int64_t kPanelTile = kSplitPartsBlock;           // numbers of 32 rows of a panel
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

// Packs floats as bfloat16. They are rounded to nearest if kPackedRounds; otherwise they must be bfloat16 already.
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
// The upper part is rounded to nearest. The remainder is exact before it is rounded in turn, by Packed if
// kPackedRounds.
HWY_INLINE Parts PartsOf(Vector v) {
  const Floats d;
  const auto rounded = [d](Vector x) EPIPHYTE_INLINE {
    const Vector large = InRegister(hn::Mul(x, hn::Set(d, 0x1p16f + 1)));
    return hn::Sub(large, InRegister(hn::Sub(large, x)));
  };
  const Vector high = InRegister(rounded(v)), left = hn::Sub(v, high);
  return {high, kPackedRounds ? left : rounded(left)};
}
// Splits 16-bit floats. The upper part has all but three of the bits.
HWY_INLINE Parts PartsOfHalf(Vector v) {
  const Floats d;
  const Bits bits;
  const Vector high = hn::BitCast(d, hn::And(hn::BitCast(bits, v), hn::Set(bits, 0xFFFF0000u)));
  return {high, hn::Sub(v, high)};
}

// Splits two vectors. `check` is a NaN as soon as one number wasn't finite.
HWY_INLINE void SplitTwo(Vector first, Vector second, Vector& check, hn::Vec<Halves>* high, hn::Vec<Halves>* low) {
  const Floats d;
  const Parts a = PartsOf(first), b = PartsOf(second);
  check = hn::MulAdd(a.high, hn::Zero(d), hn::MulAdd(b.high, hn::Zero(d), check));
  *high = Packed(a.high, b.high);
  *low = Packed(a.low, b.low);
}

// Loads the first `n` numbers of a vector that begins at `at`; the others are 0.
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

void SplitAllWeights(const float* panels, int64_t n, uint16_t* parts) {
  const Floats d;
  const Halves half;
  for (; n > 0; n -= kPanelTile, panels += kPanelTile, parts += 2 * kPanelTile) {
    for (int64_t i = 0; i < kPanelTile; i += 2 * kLanes) {
      const Parts a = PartsOf(hn::LoadU(d, panels + i)), b = PartsOf(hn::LoadU(d, panels + i + kLanes));
      hn::StoreU(Packed(a.high, b.high), half, parts + i);
      hn::StoreU(Packed(a.low, b.low), half, parts + kPanelTile + i);
    }
  }
}

void JoinAllWeights(const uint16_t* parts, int64_t n, float* panels) {
  const Floats d;
  const hn::Rebind<uint16_t, Floats> half;
  const auto wide = [=](const uint16_t* p) EPIPHYTE_INLINE {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(Bits(), hn::LoadU(half, p))));
  };
  for (; n > 0; n -= kPanelTile, panels += kPanelTile, parts += 2 * kPanelTile)
    for (int64_t i = 0; i < kPanelTile; i += kLanes)
      hn::StoreU(hn::Add(wide(parts + i), wide(parts + kPanelTile + i)), d, panels + i);
}

#if EPIPHYTE_HAS_TILES
template <typename T>
HWY_INLINE void SplitPanel(const T* from, int64_t n, uint16_t* high, uint16_t* low) {
  const Floats d;
  const Halves half;
  static_assert(sizeof(T) == sizeof(uint16_t));
  for (int64_t i = 0; i < n; i += 2 * kLanes) {
    const Parts a = PartsOfHalf(LoadFloats(d, from + i)), b = PartsOfHalf(LoadFloats(d, from + i + kLanes));
    hn::Store(Packed(a.high, b.high), half, high + i);
    hn::Store(Packed(a.low, b.low), half, low + i);
  }
}

static_assert(kSplitTileRows == kTileRows && kSplitTileColumns * 2 == kTileBytes);
constexpr int64_t kColumnsOfTile = kTileBytes / 4;
constexpr int64_t kPanelRow = kSplitPanel * 4;  // bytes of two rows of W

// Prefetches weights that are read soon into the second-level cache, some lines at a time.
class Fetch {
 public:
  // Spreads the prefetch over `steps` calls of Some.
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

// Place of the left side of some steps.
struct LeftSide {
  const uint16_t* a;
  int64_t second;          // from the first tile of rows to the second one
  const int64_t* offsets;  // planar layout (SplitProduct); unused for tiles
};

// Place of the right side: parts of tiles, each `step` numbers after the last one.
struct RightSide {
  const uint16_t *high, *low;
  int64_t step;
};

// Adds the products of some steps of up to 32 rows to `sums`.
template <int kRowTiles, bool kPlanes>
HWY_INLINE void AddProducts(const LeftSide& left, RightSide b, int64_t count, bool first, Fetch& fetch, float* sums) {
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
    // The lower parts come first, because a tile of the upper part is reused by the products that follow.
    const auto products = [&]() EPIPHYTE_INLINE {
      AddBfloat16Products<0, 4, 6>();
      AddBfloat16Products<1, 4, 7>();
      if constexpr (kRowTiles == 2) {
        AddBfloat16Products<2, 5, 6>();
        AddBfloat16Products<3, 5, 7>();
      }
    };
    LoadTile<6>(b.high, kPanelRow);
    LoadTile<7>(b.high + kSplitPanel, kPanelRow);
    LoadTile<4>(a + kLower, kLeftRow);
    if constexpr (kRowTiles == 2) LoadTile<5>(a + second + kLower, kLeftRow);
    products();
    LoadTile<4>(a, kLeftRow);
    if constexpr (kRowTiles == 2) LoadTile<5>(a + second, kLeftRow);
    products();
    LoadTile<6>(b.low, kPanelRow);
    LoadTile<7>(b.low + kSplitPanel, kPanelRow);
    products();
    if constexpr (!kPlanes) a += 2 * kSplitTile;
    b.high += b.step;
    b.low += b.step;
  }
  StoreTile<0>(sums, kSumsRow);
  StoreTile<1>(sums + kColumnsOfTile, kSumsRow);
  if constexpr (kRowTiles == 2) {
    StoreTile<2>(lower_sums, kSumsRow);
    StoreTile<3>(lower_sums + kColumnsOfTile, kSumsRow);
  }
}

// Destination of the sums of one panel, some rows after others.
class Results {
 public:
  HWY_INLINE Results(const SplitProduct& p, int64_t column)
      : p_(p), columns_(std::min(kSplitPanel, p.columns - column)), at_(column), in_line_(p.first) {
    static_assert(kLanes == kColumnsOfTile);
    const Floats d;
    const auto bias = [&](int64_t from) EPIPHYTE_INLINE {
      return p.bias == nullptr ? hn::Zero(d) : LoadUpTo(p.bias + column, columns_, from);
    };
    first_bias_ = bias(0);
    second_bias_ = bias(kLanes);
  }
  // `sums` must be aligned.
  HWY_INLINE void Take(const float* sums, int64_t rows) {
    if (columns_ == kSplitPanel) return TakeRows<true>(sums, rows);
    TakeRows<false>(sums, rows);
  }

 private:
  template <bool kWhole>
  HWY_INLINE void TakeRows(const float* sums, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r, sums += kSplitPanel) {
      if (p_.line != 0) {
        if (in_line_ == p_.line) in_line_ = 0;
        if (in_line_++ >= p_.used) continue;
      }
      Put<kWhole>(sums, first_bias_, columns_, at_);
      if (kWhole || columns_ > kLanes) Put<kWhole>(sums + kLanes, second_bias_, columns_ - kLanes, at_ + kLanes);
      at_ += p_.y_stride;
    }
  }
  template <bool kWhole>
  HWY_INLINE void Put(const float* sums, Vector bias, int64_t columns, int64_t at) const {
    const Floats d;
    const bool whole = kWhole || columns >= kLanes;
    Vector sum = hn::Add(hn::Load(d, sums), bias);
    if (p_.sum != nullptr) sum = hn::Add(sum, kWhole ? hn::LoadU(d, p_.sum + at) : LoadUpTo(p_.sum + at, columns, 0));
    if (p_.relu) sum = hn::IfThenElse(hn::Lt(sum, hn::Zero(d)), hn::Zero(d), sum);
    if (whole) {
      hn::StoreU(sum, d, p_.y + at);
    } else {
      StorePart(d, sum, p_.y + at, static_cast<size_t>(columns));
    }
  }

  const SplitProduct& p_;
  const int64_t columns_;
  int64_t at_, in_line_;
  Vector first_bias_, second_bias_;
};

// T is uint16_t for split parts. Otherwise it is a 16-bit format, and some rows of a panel at a time are split here.
template <bool kPlanes, typename T>
HWY_INLINE void ProductOf(const SplitProduct& p, const T* panels) {
  constexpr bool kParts = std::is_same_v<T, uint16_t>;
  constexpr int64_t kRows = 2 * kTileRows, kNumbers = kParts ? 2 : 1;  // numbers of T for each of W
  auto* const b_high = static_cast<uint16_t*>(p.scratch);
  uint16_t* const b_low = b_high + kSplitPart;
  auto* const sums = reinterpret_cast<float*>(b_low + kSplitPart);
  const int64_t whole = p.rows / kRows * kRows, rest = p.rows - whole;
  const TileConfig all_rows(kRows), last_rows(rest);
  const TileScope scope(whole == 0 ? last_rows : all_rows);
  for (int64_t column = 0; column < p.columns; column += kSplitPanel) {
    const T* const panel = panels + column * p.depth * kNumbers;
    Results results(p, column);
    for (int64_t at = 0; at < p.depth; at += kSplitBlock) {
      const int64_t depth = std::min(kSplitBlock, p.depth - at), count = depth / kSplitTileColumns;
      const T* const block = panel + at * kSplitPanel * kNumbers;
      RightSide right{b_high, b_low, kPanelTile};
      if constexpr (kParts) {
        right = {block, block + kPanelTile, 2 * kPanelTile};
      } else {
        SplitPanel(block, depth * kSplitPanel, b_high, b_low);
      }
      // The weights of the next block, which follows this one, or of the next panel.
      const int64_t left =
          (p.columns - column + kSplitPanel - 1) / kSplitPanel * kSplitPanel * p.depth - at * kSplitPanel;
      const int64_t numbers = std::min(kSplitPart, left - depth * kSplitPanel) * kNumbers;
      Fetch fetch(block + depth * kSplitPanel * kNumbers, numbers * static_cast<int64_t>(sizeof(T)),
                  count * ((p.rows + kRows - 1) / kRows));
      const auto add = [&](auto&& products, int64_t row, int64_t rows) EPIPHYTE_INLINE {
        const LeftSide side =
            kPlanes ? LeftSide{p.tiles + row * kSplitPixel, kTileRows * kSplitPixel, p.offsets + at / kSplitTileColumns}
                    : LeftSide{p.tiles + (row * p.depth + kTileRows * at) * 2, kTileRows * p.depth * 2, nullptr};
        // Sums that are complete after one block need no memory beyond the first-level cache.
        float* const to = sums + (p.depth <= kSplitBlock ? 0 : row * kSplitPanel);
        products(side, right, count, at == 0, fetch, to);
        if (at + depth == p.depth) results.Take(to, rows);
      };
      for (int64_t row = 0; row < whole; row += kRows) add(AddProducts<2, kPlanes>, row, kRows);
      if (rest == 0) continue;
      if (whole != 0) TileScope::Set(last_rows);
      add(rest > kTileRows ? AddProducts<2, kPlanes> : AddProducts<1, kPlanes>, whole, rest);
      if (whole != 0) TileScope::Set(all_rows);
    }
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
void ProductOfParts(const SplitProduct& p, const uint16_t* parts) { Product(p, parts); }

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
EPIPHYTE_EXPORT(ProductOfParts);
EPIPHYTE_EXPORT(SplitAllWeights);
EPIPHYTE_EXPORT(JoinAllWeights);
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
void RunSplitProduct(const SplitProduct& product, const uint16_t* parts) {
  EPIPHYTE_DISPATCH(ProductOfParts)(product, parts);
}
void SplitWeights(const float* panels, int64_t n, uint16_t* parts) {
  EPIPHYTE_DISPATCH(SplitAllWeights)(panels, n, parts);
}
void JoinWeights(const uint16_t* parts, int64_t n, float* panels) {
  EPIPHYTE_DISPATCH(JoinAllWeights)(parts, n, panels);
}

}  // namespace epiphyte::cpu::simd
#endif
