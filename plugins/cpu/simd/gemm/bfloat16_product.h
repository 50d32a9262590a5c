// GEMM in bfloat16 by AMX, with float sums, for weights that are read from memory. While some rows of a panel are
// multiplied, the next ones are prefetched into the second-level cache.
//
// W [k, n] is stored as oneDNN packs it for such GEMMs: in panels of kBfloat16Panel columns. A panel holds, for each
// two rows of W, the two numbers of each of its columns. Rows and columns beyond W are zeros. The number of rows is
// Bfloat16Depth(k).
//
//     RoundToTiles(a, a_stride, rows, k, tiles);      // Bfloat16TileNumbers(rows, k) of them, aligned to 64 bytes
//     Bfloat16Product product;
//     …
//     RunBfloat16Product(product, panels);            // y[rows, n] = a W + bias + sum
//
// Only for CPUs with AMX (UsesAmxBfloat16, amx.h), which have vector instructions for bfloat16 as well.
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::cpu::simd {

inline constexpr int64_t kBfloat16Panel = 64;

// k rounded up to whole tiles.
constexpr int64_t Bfloat16Depth(int64_t k) { return (k + 31) / 32 * 32; }

// The left side has one tile for each 16 rows and 32 columns. Rows beyond the last one are not written.
inline constexpr int64_t kBfloat16TileRows = 16, kBfloat16TileColumns = 32;
constexpr int64_t Bfloat16TileNumbers(int64_t rows, int64_t k) {
  return (rows + kBfloat16TileRows - 1) / kBfloat16TileRows * kBfloat16TileRows * Bfloat16Depth(k);
}
// Offset in `tiles` of row `row`, a multiple of kBfloat16TileRows.
constexpr int64_t Bfloat16RowBegin(int64_t row, int64_t k) { return row * Bfloat16Depth(k); }
void RoundToTiles(const float* a, int64_t a_stride, int64_t rows, int64_t k, uint16_t* tiles);

// Packs the right side from rows of W: all panels, aligned to 64 bytes. Columns beyond W are not written, because no
// result depends on them.
constexpr int64_t Bfloat16PanelNumbers(int64_t k, int64_t n) {
  return (n + kBfloat16Panel - 1) / kBfloat16Panel * kBfloat16Panel * Bfloat16Depth(k);
}
void RoundToPanels(const float* w, int64_t w_stride, int64_t k, int64_t n, kit::BFloat16* panels);

struct Bfloat16Product {
  const uint16_t* tiles = nullptr;
  int64_t rows = 0, columns = 0, depth = 0;  // depth: Bfloat16Depth(k)
  bool more = false;                         // another panel follows these and is used next
  const float* bias = nullptr;               // by column; null: none
  const float* sum = nullptr;                // added to the result, with the layout of y; may be y, or null
  float* y = nullptr;
  int64_t y_stride = 0;     // between rows
  void* scratch = nullptr;  // Bfloat16ScratchBytes(rows) bytes, aligned to 64 bytes
};
uint64_t Bfloat16ScratchBytes(int64_t rows);
// `panels` holds the panels of product.columns.
void RunBfloat16Product(const Bfloat16Product& product, const kit::BFloat16* panels);

}  // namespace epiphyte::cpu::simd
