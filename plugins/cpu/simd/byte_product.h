// Products of bytes, summed exactly in int32, which wraps: unsigned bytes times a matrix of signed ones that is packed
// once and used many times. By AMX (amx.h) or AVX-512's VNNI where the CPU has them, elsewhere by products of 16-bit
// numbers; nothing saturates, and the numbers are the same everywhere.
//
// W [k, n] is stored in panels of kBytePanel columns; a panel has, for each four rows of W, the four bytes of each of
// its columns. Rows and columns beyond W are zeros.
//
//     PackBytePanels(w, panels, sums);                 // BytePanelBytes(n, k) of them, aligned to 64 bytes
//     ByteProduct product;
//     product.a = a;                                   // uint8 [rows, k], of which 4 * ByteSteps(k) bytes are readable
//     product.panels = panels;
//     …
//     RunByteProduct(product);                         // y[rows, n] = start + a W
//
// int8 on the left is uint8 after FlipBytes, with a zero point that is 128 more; uint8 on the right is int8 likewise.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

inline constexpr int64_t kBytePanel = 64;

constexpr int64_t ByteSteps(int64_t k) { return (k + 3) / 4; }
constexpr int64_t BytePanelColumns(int64_t n) { return (n + kBytePanel - 1) / kBytePanel * kBytePanel; }
constexpr int64_t BytePanelBytes(int64_t n, int64_t k) { return BytePanelColumns(n) * ByteSteps(k) * 4; }

// A matrix of bytes with outer * inner rows: element (o, i) of a column is o * outer_stride + i * inner_stride bytes
// behind the column's first one. `flip` is 0 for int8, 0x80 for uint8, which then counts from -128.
struct ByteMatrix {
  const uint8_t* data = nullptr;
  uint8_t flip = 0;
  int64_t columns = 0, outer = 1, inner = 0;
  int64_t column_stride = 1, outer_stride = 0, inner_stride = 0;
};

// Packs columns [first, first + count), of which `first` is a panel's. `subtracted`: what each column of the matrix is
// lessened by, which must leave int8; may be null. `sums`: of each packed column, or null.
void PackBytePanels(const ByteMatrix& w, int64_t first, int64_t count, const int32_t* subtracted, int8_t* panels,
                    int32_t* sums);

// to[i] = from[i] ^ 0x80; `to` may be `from`.
void FlipBytes(const uint8_t* from, uint8_t* to, int64_t n);
// The sum of row[i] ^ flip.
int32_t SumOfBytes(const uint8_t* row, int64_t n, uint8_t flip = 0);

// What becomes of a sum.
enum class ByteResult : uint8_t {
  kSums,         // int32
  kRequantized,  // bytes: within low and high, round(float(sum) * factor) + zero; halves to even, NaN is the lowest
  kScaled,       // float: float(sum) * factor + bias, rounded twice
};

struct ByteProduct {
  const uint8_t* a = nullptr;
  int64_t a_stride = 0;  // in bytes
  int64_t rows = 0, columns = 0, steps = 0;
  const int8_t* panels = nullptr;  // of these columns
  // Panels that are in no cache of this core are fetched while the ones before are multiplied; `next`: one of as many
  // steps that comes after these, or null.
  bool fetches_ahead = false;
  const int8_t* next = nullptr;
  // By column, as many as whole panels have: what a sum begins with.
  const int32_t* start = nullptr;
  // Each pair that isn't null adds row_terms[row] * column_terms[column]; column terms as `start`.
  const int32_t* row_terms[2] = {nullptr, nullptr};
  const int32_t* column_terms[2] = {nullptr, nullptr};

  ByteResult result = ByteResult::kSums;
  void* y = nullptr;
  int64_t y_stride = 0;           // in elements
  const float* factor = nullptr;  // by column, as `start`
  const float* bias = nullptr;    // of kScaled, as `start`; null: none
  int32_t zero = 0, low = 0, high = 255;
};

void RunByteProduct(const ByteProduct& product);
// With AMX, rows of the left side that are multiplied by weights while these are in the registers; else 0.
int64_t ByteTileRows();

// n sums to bytes as kRequantized has it, with a factor for each.
void RequantizeRow(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high, uint8_t* y,
                   int64_t n);

// Whether products go through VNNI, without which they don't go through AMX either. While it lives, a WithoutVnni keeps
// them from it, for tests; no other thread may be inside a product when it is made or goes.
bool UsesVnni();
class WithoutVnni {
 public:
  WithoutVnni();
  ~WithoutVnni();
  WithoutVnni(const WithoutVnni&) = delete;
  WithoutVnni& operator=(const WithoutVnni&) = delete;
};

}  // namespace epiphyte::cpu::simd
