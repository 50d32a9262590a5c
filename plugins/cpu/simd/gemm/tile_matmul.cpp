#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/tile_matmul.cpp"
#include "plugins/cpu/simd/gemm/tile_matmul.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

namespace epiphyte::cpu::simd {
// For vectors of two elements, which don't make up for a product that consists of three.
void MultiplyLongsOneByOne(const TileOperands<uint64_t>& operands);
}  // namespace epiphyte::cpu::simd

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// a b + sum
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AddProduct(D d, V a, V b, V sum) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_floating_point_v<T>) {
    return hn::MulAdd(a, b, sum);
  } else if constexpr (sizeof(T) == 4 || HWY_CAP_GE512) {
    return hn::Add(hn::Mul(a, b), sum);
  } else {
    // One of the four products of halves lies entirely beyond 64 bits.
    const hn::Repartition<uint32_t, D> halves;
    const auto even = [&](V x, V z) HWY_ATTR { return hn::MulEven(hn::BitCast(halves, x), hn::BitCast(halves, z)); };
    const V crossed = hn::Add(even(hn::ShiftRight<32>(a), b), even(a, hn::ShiftRight<32>(b)));
    return hn::Add(sum, hn::Add(even(a, b), hn::ShiftLeft<32>(hn::BitCast(d, crossed))));
  }
}

// Access to all columns of a vector. Its counterpart accesses only the first few.
struct Whole {
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, const hn::TFromD<D>* p) const {
    return hn::LoadU(d, p);
  }
  template <class D>
  HWY_INLINE void Store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    hn::StoreU(v, d, p);
  }
};
struct First {
  size_t count;
  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, const hn::TFromD<D>* p) const {
    return LoadPart(d, p, count);
  }
  template <class D>
  HWY_INLINE void Store(hn::Vec<D> v, D d, hn::TFromD<D>* p) const {
    StorePart(d, v, p, count);
  }
};

// Multiplies some rows by some vectors of columns. With `continues`, y holds the sums of the earlier part of k.
template <int kRows, int kVectors, class D, class T, class Access>
HWY_INLINE void Block(D d, const TileOperands<T>& o, int64_t row, int64_t column, bool continues,
                      const Access& access) {
  using V = hn::Vec<D>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  const T* const left = o.a + row * o.a_stride;
  const T* right = o.b + column;
  T* const result = o.y + row * o.y_stride + column;
  const int64_t a_stride = o.a_stride, b_stride = o.b_stride, k = o.k;
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = continues ? access.Load(d, result + r * o.y_stride + v * kLanes) : hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i, right += b_stride) {
    V values[kVectors];
    for (int v = 0; v < kVectors; ++v) values[v] = access.Load(d, right + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, left[r * a_stride + i]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = AddProduct(d, values[v], factor, sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    T* const out = result + r * o.y_stride;
    if (o.replaces) {
      for (int v = 0; v < kVectors; ++v) access.Store(sums[r][v], d, out + v * kLanes);
      continue;
    }
    for (int v = 0; v < kVectors; ++v)
      access.Store(hn::Add(access.Load(d, out + v * kLanes), sums[r][v]), d, out + v * kLanes);
  }
}

// Multiplies the last rows, at most kRows.
template <int kRows, int kVectors, class D, class T, class Access>
HWY_INLINE void LastRows(D d, const TileOperands<T>& o, int64_t row, int64_t column, bool continues,
                         const Access& access) {
  if (o.m - row == kRows) return Block<kRows, kVectors>(d, o, row, column, continues, access);
  if constexpr (kRows > 1) LastRows<kRows - 1, kVectors>(d, o, row, column, continues, access);
}

// Takes as many rows at a time as there are registers for sums, but not so few sums that each step waits for the last
// one.
template <int kVectors, class D, class T, class Access>
HWY_INLINE void AllRows(D d, const TileOperands<T>& o, int64_t column, bool continues, const Access& access) {
  constexpr bool kManyRegisters = std::is_floating_point_v<T> && (HWY_CAP_GE256 || HWY_ARCH_ARM_A64);
  constexpr int kRows = !kManyRegisters ? 4 : kVectors == 1 ? 8 : 6;
  int64_t row = 0;
  for (; row + kRows <= o.m; row += kRows) Block<kRows, kVectors>(d, o, row, column, continues, access);
  if (row < o.m) LastRows<kRows - 1, kVectors>(d, o, row, column, continues, access);
}

// Multiplies the last columns, fewer than fill a vector twice as long as `d`.
template <class D, class T>
HWY_INLINE void LastColumns(D d, const TileOperands<T>& o, int64_t column, bool continues) {
  if (o.n - column >= static_cast<int64_t>(hn::MaxLanes(D()))) {
    AllRows<1>(d, o, column, continues, Whole());
    column += static_cast<int64_t>(hn::MaxLanes(D()));
  }
  if constexpr (hn::MaxLanes(D()) > 1) LastColumns(hn::Half<D>(), o, column, continues);
}

// Vectors of columns beside the rows of AllRows; more don't fit into the registers.
constexpr int kBlockVectors = HWY_CAP_GE512 || HWY_ARCH_ARM_A64 ? 4 : 2;

template <class T>
HWY_INLINE void MultiplyPart(const TileOperands<T>& o, bool continues) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  constexpr int kVectors = kBlockVectors;
  constexpr int kRowVectors = 8;  // a single row has room for sums enough to keep the CPU busy
  int64_t column = 0;
  if (o.m == 1)
    for (; column + kRowVectors * kLanes <= o.n; column += kRowVectors * kLanes)
      Block<1, kRowVectors>(d, o, 0, column, continues, Whole());
  for (; column + kVectors * kLanes <= o.n; column += kVectors * kLanes)
    AllRows<kVectors>(d, o, column, continues, Whole());
  if constexpr (kVectors > 2)
    for (; column + 2 * kLanes <= o.n; column += 2 * kLanes) AllRows<2>(d, o, column, continues, Whole());
  for (; column + kLanes <= o.n; column += kLanes) AllRows<1>(d, o, column, continues, Whole());
  if (column == o.n) return;
#if HWY_CAP_GE256
  AllRows<1>(d, o, column, continues, First{static_cast<size_t>(o.n - column)});
#else
  if constexpr (kLanes > 1) LastColumns(hn::Half<hn::ScalableTag<T>>(), o, column, continues);
#endif
}

template <class T>
HWY_INLINE void Multiply(const TileOperands<T>& o) {
  // With many rows each block of columns is read repeatedly. So k is split into parts that keep the block in the
  // first-level cache.
  constexpr int64_t kManyRows = 12;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  constexpr int64_t kDepth = (int64_t{24} << 10) / (kBlockVectors * kLanes * static_cast<int64_t>(sizeof(T)));
  if (!o.replaces || o.m < kManyRows || o.k <= kDepth) return MultiplyPart(o, false);
  const int64_t parts = (o.k + kDepth - 1) / kDepth, depth = (o.k + parts - 1) / parts;
  for (int64_t at = 0; at < o.k; at += depth) {
    TileOperands<T> part = o;
    part.a += at;
    part.b += at * o.b_stride;
    part.k = std::min(depth, o.k - at);
    MultiplyPart(part, at > 0);
  }
}

void MultiplyFloats(const TileOperands<float>& o) { Multiply(o); }
void MultiplyDoubles(const TileOperands<double>& o) { Multiply(o); }
void MultiplyWords(const TileOperands<uint32_t>& o) { Multiply(o); }
#if HWY_CAP_GE256
void MultiplyLongs(const TileOperands<uint64_t>& o) { Multiply(o); }
#else
void MultiplyLongs(const TileOperands<uint64_t>& o) { MultiplyLongsOneByOne(o); }
#endif

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

void MultiplyLongsOneByOne(const TileOperands<uint64_t>& operands) {
  const TileOperands<uint64_t> o =
      operands;  // a local copy, so that the compiler knows that stores to y do not change it
  constexpr int64_t kRows = 4, kColumns = 16;
  for (int64_t row = 0; o.replaces && row < o.m; ++row) std::fill_n(o.y + row * o.y_stride, o.n, uint64_t{0});
  for (int64_t column = 0; column < o.n; column += kColumns) {
    const int64_t columns = std::min(kColumns, o.n - column);
    const uint64_t* const right = o.b + column;
    for (int64_t row = 0; row < o.m; row += kRows) {
      const int64_t rows = std::min(kRows, o.m - row);
      const uint64_t* const left = o.a + row * o.a_stride;
      uint64_t* const out = o.y + row * o.y_stride + column;
      if (rows == kRows && columns == kColumns) {
        uint64_t sums[kRows][kColumns] = {};
        for (int64_t i = 0; i < o.k; ++i) {
          for (int64_t r = 0; r < kRows; ++r) {
            for (int64_t c = 0; c < kColumns; ++c) sums[r][c] += left[r * o.a_stride + i] * right[i * o.b_stride + c];
          }
        }
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t c = 0; c < kColumns; ++c) out[r * o.y_stride + c] += sums[r][c];
        }
        continue;
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < o.k; ++i) {
          const uint64_t factor = left[r * o.a_stride + i];
          for (int64_t c = 0; c < columns; ++c) out[r * o.y_stride + c] += factor * right[i * o.b_stride + c];
        }
      }
    }
  }
}

EPIPHYTE_EXPORT(MultiplyFloats);
EPIPHYTE_EXPORT(MultiplyDoubles);
EPIPHYTE_EXPORT(MultiplyWords);
EPIPHYTE_EXPORT(MultiplyLongs);
void TileMatMul(const TileOperands<float>& operands) { EPIPHYTE_DISPATCH(MultiplyFloats)(operands); }
void TileMatMul(const TileOperands<double>& operands) { EPIPHYTE_DISPATCH(MultiplyDoubles)(operands); }
void TileMatMul(const TileOperands<uint32_t>& operands) { EPIPHYTE_DISPATCH(MultiplyWords)(operands); }
void TileMatMul(const TileOperands<uint64_t>& operands) { EPIPHYTE_DISPATCH(MultiplyLongs)(operands); }

}  // namespace epiphyte::cpu::simd
#endif
