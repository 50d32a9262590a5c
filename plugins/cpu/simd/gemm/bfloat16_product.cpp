#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/bfloat16_product.cpp"
#include "plugins/cpu/simd/gemm/bfloat16_product.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/gemm/amx-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if EPIPHYTE_HAS_TILES
using Floats = hn::ScalableTag<float>;
using Halves = hn::Repartition<uint16_t, Floats>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
static_assert(kBfloat16TileRows == kTileRows && kBfloat16TileColumns * 2 == kTileBytes && kLanes * 4 == kTileBytes);

constexpr int64_t kTile = kBfloat16TileRows * kBfloat16TileColumns;  // numbers
constexpr int64_t kPanelRow = kBfloat16Panel * 4;                    // bytes of two rows of W
// Rows of W in a block. A block of a panel stays in the first-level cache beside two tiles of rows of the left side.
constexpr int64_t kBlock = 256;
// Sums that are computed side by side: two tiles by two.
constexpr int64_t kSumRows = 2 * kTileRows, kSumColumns = 2 * kLanes;
constexpr int64_t kSums = kSumRows * kSumColumns;

// Loads the first `n` numbers of a vector that begins at `at`; the others are 0.
HWY_INLINE Vector LoadUpTo(const float* from, int64_t n, int64_t at) {
  const Floats d;
  if (n - at >= kLanes) return hn::LoadU(d, from + at);
  return n > at ? LoadPart(d, from + at, static_cast<size_t>(n - at)) : hn::Zero(d);
}

HWY_INLINE hn::Vec<Halves> Rounded(Vector first, Vector second) {
  hn::Vec<Halves> rounded;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(rounded.raw) : "v"(first.raw), "v"(second.raw));
  return rounded;
}

void RoundAllToTiles(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles) {
  for (int64_t r = 0; r < rows; ++r, a += a_stride) {
    uint16_t* to = tiles + Bfloat16RowBegin(r / kTileRows * kTileRows, k) + r % kTileRows * kBfloat16TileColumns;
    for (int64_t at = 0; at < k; at += kBfloat16TileColumns, to += kTile) {
      hn::StoreU(Rounded(LoadUpTo(a, k, at), LoadUpTo(a, k, at + kLanes)), Halves(), to);
    }
  }
}

void RoundAllToPanels(const float* w, int64_t w_stride, int64_t k, int64_t n, kit::BFloat16* panels) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> pair;
  const int64_t depth = Bfloat16Depth(k);
  for (int64_t row = 0; row < depth; row += 2) {
    for (int64_t c = 0; c < n; c += kLanes) {
      const auto load = [&](int64_t r)
                            EPIPHYTE_INLINE { return r < k ? LoadUpTo(w + r * w_stride, n, c) : hn::Zero(d); };
      const hn::Vec<Halves> both = Rounded(load(row), load(row + 1));
      const auto first = hn::PromoteTo(pair, hn::LowerHalf(both));
      const auto second = hn::PromoteTo(pair, hn::UpperHalf(hn::Half<Halves>(), both));
      kit::BFloat16* const to =
          panels + c / kBfloat16Panel * kBfloat16Panel * depth + (row * kBfloat16Panel + c % kBfloat16Panel * 2);
      hn::StoreU(hn::Or(first, hn::ShiftLeft<16>(second)), pair, reinterpret_cast<uint32_t*>(to));
    }
  }
}

// Prefetches weights that are read soon into the second-level cache, some lines at a time. It alternates between
// several places. Prefetches from one place after the other would delay the lines that the tiles wait for.
class Fetch {
 public:
  // Spreads the prefetch over `steps` calls of Some. `bytes` must be a multiple of 32 rows of a panel.
  HWY_INLINE Fetch(const void* from, int64_t bytes, int64_t steps)
      : at_(static_cast<const char*>(from)),
        part_(bytes / kParts),
        end_(at_ + part_),
        step_((part_ / kLine + steps - 1) / steps * kLine) {}
  HWY_INLINE void Some() {
    for (const char* const to = std::min(at_ + step_, end_); at_ < to; at_ += kLine) {
      for (int64_t part = 0; part < kParts; ++part) __builtin_prefetch(at_ + part * part_, 0, 2);
    }
  }

 private:
  static constexpr int64_t kLine = 64, kParts = 8;
  static_assert(kBfloat16TileColumns / 2 * kPanelRow % (kLine * kParts) == 0);
  const char* at_;
  int64_t part_;
  const char* end_;
  int64_t step_;
};

// Takes the lines of the result from other CPUs' caches before they are written.
class Own {
 public:
  // Spreads the lines over `steps` calls of Some.
  HWY_INLINE Own(const float* y, int64_t stride, int64_t rows, int64_t columns, int64_t steps)
      : at_(y),
        stride_(stride),
        rows_(rows),
        second_(columns > kLanes ? kLanes : 0),
        step_((rows + steps - 1) / steps) {}
  HWY_INLINE void Some() {
    for (int64_t i = std::min(step_, rows_); i > 0; --i, --rows_, at_ += stride_) {
      Line(at_);
      Line(at_ + second_);
    }
  }

 private:
  static HWY_INLINE void Line(const float* at) { asm volatile("prefetchw %0" : : "m"(*at)); }
  const float* at_;
  int64_t stride_, rows_, second_, step_;
};

// Visits the tiles of sums with the place of row 0 of each. `stride` is in numbers, from row to row.
template <int kRowTiles, typename Each>
HWY_INLINE void ForSums(float* sums, int64_t stride, const Each& each) {
  each.template operator()<0>(sums);
  each.template operator()<1>(sums + kLanes);
  if constexpr (kRowTiles == 2) {
    each.template operator()<2>(sums + kTileRows * stride);
    each.template operator()<3>(sums + kTileRows * stride + kLanes);
  }
}
template <int kRowTiles>
HWY_INLINE void LoadSums(float* from, int64_t stride) {
  ForSums<kRowTiles>(from, stride, [=]<int kTo>(const float* at) EPIPHYTE_INLINE { LoadTile<kTo>(at, stride * 4); });
}
template <int kRowTiles>
HWY_INLINE void StoreSums(float* to, int64_t stride) {
  ForSums<kRowTiles>(to, stride, [=]<int kFrom>(float* at) EPIPHYTE_INLINE { StoreTile<kFrom>(at, stride * 4); });
}

// One panel of the product.
class Panel {
 public:
  HWY_INLINE Panel(const Bfloat16Product& p, int64_t column, float* scratch)
      : p_(p), column_(column), columns_(std::min(kBfloat16Panel, p.columns - column)), bias_(scratch) {
    const Floats d;
    sums_ = scratch + kBfloat16Panel;
    for (int64_t c = 0; c < kBfloat16Panel; c += kLanes)
      hn::Store(p.bias == nullptr ? hn::Zero(d) : LoadUpTo(p.bias + column, columns_, c), d, bias_ + c);
  }

  // Adds the products of some rows of W, from row `at` on, for up to 32 rows of the left side.
  template <int kRowTiles>
  HWY_INLINE void Add(const kit::BFloat16* block, int64_t at, int64_t depth, int64_t row, int64_t rows,
                      Fetch& fetch) const {
    const uint16_t* const left = p_.tiles + row * p_.depth + kTileRows * at;
    const bool last = at + depth == p_.depth;
    for (int64_t half = 0; half * kSumColumns < columns_; ++half) {
      const int64_t first = half * kSumColumns, begin = row * p_.y_stride + column_ + first;
      float* const sums = sums_ + (p_.depth <= kBlock ? 0 : (row / kSumRows * 2 + half) * kSums);
      if (at == 0) {
        ForSums<kRowTiles>(bias_ + first, 0,
                           []<int kTo>(const float* from) EPIPHYTE_INLINE { LoadTile<kTo>(from, 0); });
      } else {
        LoadSums<kRowTiles>(sums, kSumColumns);
      }
      Own own(p_.y + begin, p_.y_stride, last ? rows : 0, columns_ - first, depth / kBfloat16TileColumns);
      Multiply<kRowTiles>(left, block + first * 2, depth, fetch, own);
      if (last && p_.sum == nullptr && columns_ >= first + kSumColumns) {
        StoreSums<kRowTiles>(p_.y + begin, p_.y_stride);
      } else {
        StoreSums<kRowTiles>(sums, kSumColumns);
        if (last) Finish(sums, begin, rows, std::min(columns_ - first, kSumColumns));
      }
    }
  }

 private:
  template <int kRowTiles>
  HWY_INLINE void Multiply(const uint16_t* left, const kit::BFloat16* right, int64_t depth, Fetch& fetch,
                           Own& own) const {
    const uint16_t* const second = left + kTileRows * p_.depth;
    for (int64_t i = 0; i < depth; i += kBfloat16TileColumns, right += kBfloat16TileColumns * kBfloat16Panel) {
      fetch.Some();
      own.Some();
      LoadTile<6>(right, kPanelRow);
      LoadTile<4>(left + kTileRows * i, kTileBytes);
      AddBfloat16Products<0, 4, 6>();
      LoadTile<7>(right + 2 * kLanes, kPanelRow);
      AddBfloat16Products<1, 4, 7>();
      if constexpr (kRowTiles == 2) {
        LoadTile<5>(second + kTileRows * i, kTileBytes);
        AddBfloat16Products<2, 5, 6>();
        AddBfloat16Products<3, 5, 7>();
      }
    }
  }

  // Converts sums in separate memory to results, from p_.y + at on.
  HWY_INLINE void Finish(const float* sums, int64_t at, int64_t rows, int64_t columns) const {
    const Floats d;
    for (int64_t r = 0; r < rows; ++r, sums += kSumColumns, at += p_.y_stride) {
      for (int64_t c = 0; c < columns; c += kLanes) {
        Vector v = hn::Load(d, sums + c);
        if (p_.sum != nullptr) v = hn::Add(v, LoadUpTo(p_.sum + at, columns, c));
        if (columns - c >= kLanes) {
          hn::StoreU(v, d, p_.y + at + c);
        } else {
          StorePart(d, v, p_.y + at + c, static_cast<size_t>(columns - c));
        }
      }
    }
  }

  const Bfloat16Product& p_;
  const int64_t column_, columns_;
  float *bias_, *sums_;
};

void ProductOfPanels(const Bfloat16Product& p, const kit::BFloat16* panels) {
  const int64_t whole = p.rows / kSumRows * kSumRows, rest = p.rows - whole;
  // Rows of all panels, including the next one.
  const int64_t all = ((p.columns + kBfloat16Panel - 1) / kBfloat16Panel + (p.more ? 1 : 0)) * p.depth;
  const TileConfig all_rows(kSumRows), last_rows(rest);
  const TileScope scope(whole == 0 ? last_rows : all_rows);
  int64_t begun = 0;
  for (int64_t column = 0; column < p.columns; column += kBfloat16Panel) {
    const Panel panel(p, column, static_cast<float*>(p.scratch));
    for (int64_t at = 0; at < p.depth; at += kBlock) {
      const int64_t depth = std::min(kBlock, p.depth - at);
      const kit::BFloat16* const block = panels + begun * kBfloat16Panel;
      begun += depth;
      // The block that follows belongs to this panel or to the next one.
      const int64_t following = std::min(at + depth < p.depth ? p.depth - at - depth : p.depth, all - begun);
      Fetch fetch(block + depth * kBfloat16Panel, std::min(kBlock, following) * kBfloat16Panel * 2,
                  depth / kBfloat16TileColumns * 2 * ((p.rows + kSumRows - 1) / kSumRows));
      for (int64_t row = 0; row < whole; row += kSumRows) panel.Add<2>(block, at, depth, row, kSumRows, fetch);
      if (rest == 0) continue;
      if (whole != 0) TileScope::Set(last_rows);
      if (rest > kTileRows) {
        panel.Add<2>(block, at, depth, whole, rest, fetch);
      } else {
        panel.Add<1>(block, at, depth, whole, rest, fetch);
      }
      if (whole != 0) TileScope::Set(all_rows);
    }
  }
}
#else
void RoundAllToTiles(const float*, int64_t, int64_t, int64_t, uint16_t*) {}
void RoundAllToPanels(const float*, int64_t, int64_t, int64_t, kit::BFloat16*) {}
void ProductOfPanels(const Bfloat16Product&, const kit::BFloat16*) {}
#endif

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

uint64_t Bfloat16ScratchBytes(int64_t rows) {
  return static_cast<uint64_t>(((rows + 31) / 32 * 32 + 1) * kBfloat16Panel) * sizeof(float);
}

EPIPHYTE_EXPORT(RoundAllToTiles);
EPIPHYTE_EXPORT(RoundAllToPanels);
EPIPHYTE_EXPORT(ProductOfPanels);
void RoundToTiles(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles) {
  EPIPHYTE_DISPATCH(RoundAllToTiles)(a, a_stride, rows, k, tiles);
}
void RoundToPanels(const float* w, int64_t w_stride, int64_t k, int64_t n, kit::BFloat16* panels) {
  EPIPHYTE_DISPATCH(RoundAllToPanels)(w, w_stride, k, n, panels);
}
void RunBfloat16Product(const Bfloat16Product& product, const kit::BFloat16* panels) {
  EPIPHYTE_DISPATCH(ProductOfPanels)(product, panels);
}

}  // namespace epiphyte::cpu::simd
#endif
