// GEMMs of double and of 32- and 64-bit integers, for which there is no library: any size, on all threads. Floats use
// oneDNN, except for GEMMs with few rows and for operands that oneDNN would reorder first.
//
//     const BlockedProduct<double> product{a, k, 1, b, n, 1, y, n, m, n, k};   // all row-major
//     MultiplyBlocked<double>(context, 1, [&](int64_t) { return product; });
//
// A task is a range of rows times some panels of columns. One block of a panel of B at a time is copied into memory
// that stays in the cache while all rows are multiplied with it (simd/gemm/tile_matmul.h). An element is a sum of sums
// over kDepth steps each, in the order of k, independent of the number of threads. Integers are unsigned and wrap. With
// few rows and contiguous columns of B, each element is one dot product (simd/gemm/row_dots.h).
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/gemm/row_dots.h"
#include "plugins/cpu/simd/gemm/tile_matmul.h"

namespace epiphyte::cpu {

// Type in which numbers of type T are multiplied: unsigned for integers.
template <typename T>
using UnsignedNumber =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

// y[m, n] = a[m, k] b[k, n] without overlap; strides in elements.
template <typename T>
struct BlockedProduct {
  const T* a = nullptr;
  int64_t a_row = 0;  // row stride; elements of a row are contiguous
  const T* b = nullptr;
  int64_t b_row = 0, b_column = 1;
  T* y = nullptr;
  int64_t y_row = 0;
  int64_t m = 0, n = 0, k = 0;
  const T* start = nullptr;  // initial value of the sums in each row of y; null: 0
};

namespace blocked_product {

inline constexpr int64_t kDepth = 96;  // rows of B in a block of a panel: it stays in the L1 cache
template <typename T>
inline constexpr int64_t kWidth = 256 / static_cast<int64_t>(sizeof(T));  // columns of a panel
// Up to this number of rows, copying B takes longer than multiplying by it.
inline constexpr int64_t kThinRows = 4;
// Wide rows are read in long runs, because memory delivers them faster than short ones.
inline constexpr int64_t kThinWidth = 4096, kThinDepth = 64;

template <typename T>
bool IsThin(const BlockedProduct<T>& p) {
  return p.m <= kThinRows && p.b_column == 1 && p.start == nullptr;
}
// A GEMM with few rows and contiguous columns of B uses dot products.
inline constexpr int64_t kDotWidth = 16;
template <typename T>
bool IsThinOfDots(const BlockedProduct<T>& p) {
  return p.m <= kThinRows && p.b_row == 1 && p.start == nullptr;
}

// Sets the elements of some rows and columns to their values before the first sum.
template <typename T>
void Begin(const BlockedProduct<T>& p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  for (int64_t r = row; r < row + rows; ++r)
    std::fill_n(p.y + r * p.y_row + column, columns, p.start == nullptr ? T(0) : p.start[r]);
}

// Copies b[at, at + depth) of some columns to rows of kWidth elements.
template <typename T>
void CopyPanel(const BlockedProduct<T>& p, int64_t at, int64_t depth, int64_t column, int64_t columns, T* to) {
  const T* from = p.b + at * p.b_row + column * p.b_column;
  if (p.b_column == 1) {
    for (int64_t i = 0; i < depth; ++i) std::copy_n(from + i * p.b_row, columns, to + i * kWidth<T>);
    return;
  }
  constexpr int64_t kRun = 8;  // rows with cache lines that are written together
  for (int64_t i = 0; i < depth; i += kRun) {
    const int64_t end = std::min(depth, i + kRun);
    if (p.b_row == 1 && end == i + kRun) {  // fixed number of steps, so the loop is unrolled
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t j = 0; j < kRun; ++j) to[(i + j) * kWidth<T> + c] = from[i + j + c * p.b_column];
      continue;
    }
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t j = i; j < end; ++j) to[j * kWidth<T> + c] = from[j * p.b_row + c * p.b_column];
  }
}

// `panel`: memory for kDepth * kWidth elements.
template <typename T>
void MultiplyPanel(const BlockedProduct<T>& p, int64_t row, int64_t rows, int64_t column, T* panel) {
  const int64_t columns = std::min(kWidth<T>, p.n - column);
  const bool begins = p.k == 0 || p.start != nullptr;
  if (begins) Begin(p, row, rows, column, columns);
  for (int64_t at = 0; at < p.k; at += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - at);
    const bool is_panel = p.b_column == 1 && p.b_row == kWidth<T>;
    if (!is_panel) CopyPanel(p, at, depth, column, columns, panel);
    simd::TileMatMul(simd::TileOperands<T>{
        p.a + row * p.a_row + at, p.a_row, is_panel ? p.b + at * p.b_row + column : panel, kWidth<T>,
        p.y + row * p.y_row + column, p.y_row, rows, columns, depth, at == 0 && !begins});
  }
}

// Columns of a task, chosen such that all threads get equal shares.
inline int64_t ThinWidth(int64_t count, int64_t n, int64_t threads) {
  constexpr int64_t kStep = 64;
  const int64_t fewest = (threads + count - 1) / count;
  const int64_t parts = ((n + kThinWidth - 1) / kThinWidth + fewest - 1) / fewest * fewest;
  return ((n + parts - 1) / parts + kStep - 1) / kStep * kStep;
}

template <typename T>
void MultiplyThin(const BlockedProduct<T>& p, int64_t column, int64_t width) {
  const int64_t columns = std::min(width, p.n - column);
  if (p.k == 0) return Begin(p, 0, p.m, column, columns);
  for (int64_t at = 0; at < p.k; at += kThinDepth)
    simd::TileMatMul(simd::TileOperands<T>{p.a + at, p.a_row, p.b + at * p.b_row + column, p.b_row, p.y + column,
                                           p.y_row, p.m, columns, std::min(kThinDepth, p.k - at), at == 0});
}

template <typename T>
void MultiplyDots(const BlockedProduct<T>& p, int64_t column) {
  const int64_t columns = std::min(kDotWidth, p.n - column);
  for (int64_t row = 0; row < p.m; ++row)
    simd::RowDots(p.a + row * p.a_row, p.b + column * p.b_column, p.b_column, columns, p.k,
                  p.y + row * p.y_row + column);
}

}  // namespace blocked_product

// Runs `count` GEMMs of one shape; product(i) returns the i-th. T: float, double, uint32_t or uint64_t.
template <typename T, typename Product>
void MultiplyBlocked(OpContext& context, int64_t count, const Product& product) {
  namespace bp = blocked_product;
  if (count == 0) return;
  const BlockedProduct<T> first = product(int64_t{0});
  if (first.m == 0 || first.n == 0) return;
  constexpr int64_t kShare = 1 << 16;  // multiplications that are worth waking a thread for
  if (bp::IsThin(first)) {
    const int64_t width = bp::ThinWidth(count, first.n, std::max<int64_t>(1, context.thread_count()));
    const int64_t parts = (first.n + width - 1) / width;
    const int64_t cost = std::max<int64_t>(1, first.m * first.k * std::min(width, first.n));
    context.ParallelFor(count * parts, std::max<int64_t>(1, kShare / cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) bp::MultiplyThin(product(i / parts), i % parts * width, width);
    });
    return;
  }
  if (bp::IsThinOfDots(first)) {
    const int64_t parts = (first.n + bp::kDotWidth - 1) / bp::kDotWidth;
    const int64_t cost = std::max<int64_t>(1, first.m * first.k * std::min(bp::kDotWidth, first.n));
    context.ParallelFor(count * parts, std::max<int64_t>(1, kShare / cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) bp::MultiplyDots(product(i / parts), i % parts * bp::kDotWidth);
    });
    return;
  }
  // Rows are split only when there are too few columns, because each part copies its panels again.
  const int64_t panels = (first.n + bp::kWidth<T> - 1) / bp::kWidth<T>;
  const int64_t wanted = (int64_t{context.thread_count()} * 4 + count * panels - 1) / (count * panels);
  constexpr int64_t kFewestRows = 64;
  const int64_t bands = std::clamp<int64_t>(wanted, 1, (first.m + kFewestRows - 1) / kFewestRows);
  const int64_t band = (first.m + bands - 1) / bands;
  const int64_t cost = std::max<int64_t>(1, band * std::min(bp::kWidth<T>, first.n) * first.k);
  context.ParallelFor(count * bands * panels, std::max<int64_t>(1, kShare / cost), [&](int64_t begin, int64_t end) {
    const std::unique_ptr<T[]> panel(new T[static_cast<size_t>(bp::kDepth * bp::kWidth<T>)]);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / panels % bands * band;
      const int64_t rows = std::min(band, first.m - row);
      if (rows > 0) bp::MultiplyPanel(product(i / panels / bands), row, rows, i % panels * bp::kWidth<T>, panel.get());
    }
  });
}

}  // namespace epiphyte::cpu
