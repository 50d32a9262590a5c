// int8 GEMM: unsigned bytes times a matrix of signed bytes that is packed once and used many times. Sums are exact in
// int32 and wrap. Uses AMX (amx.h) or AVX-512 VNNI if the CPU has them, otherwise 16-bit products. Nothing saturates,
// and results are the same everywhere.
//
// W [k, n] is stored in panels of kBytePanel columns. A panel holds, for each four rows of W, the four bytes of each of
// its columns. Rows and columns beyond W are zeros.
//
//     PackBytePanels(w, panels, sums);                 // BytePanelBytes(n, k) of them, aligned to 64 bytes
//     ByteProduct product;
//     product.a = a;                                   // uint8 [rows, k], of which 4 * ByteSteps(k) bytes are readable
//     product.panels = panels;
//     …
//     RunByteProduct(product);                         // y[rows, n] = start + a W
//
// An int8 left side becomes uint8 by FlipBytes, with a zero point that is 128 higher. A uint8 right side becomes int8
// likewise.
#pragma once

#include <cstdint>

namespace epiphyte::cpu::simd {

inline constexpr int64_t kBytePanel = 64;

constexpr int64_t ByteSteps(int64_t k) { return (k + 3) / 4; }
constexpr int64_t BytePanelColumns(int64_t n) { return (n + kBytePanel - 1) / kBytePanel * kBytePanel; }
constexpr int64_t BytePanelBytes(int64_t n, int64_t k) { return BytePanelColumns(n) * ByteSteps(k) * 4; }

// A matrix of bytes with outer * inner rows. Element (o, i) of a column is o * outer_stride + i * inner_stride bytes
// after the column's first one. `flip` is 0 for int8 and 0x80 for uint8, so that uint8 elements count from -128.
struct ByteMatrix {
  const uint8_t* data = nullptr;
  uint8_t flip = 0;
  int64_t columns = 0, outer = 1, inner = 0;
  int64_t column_stride = 1, outer_stride = 0, inner_stride = 0;
};

// Packs columns [first, first + count); `first` is the first column of a panel. `subtracted` has, for each matrix
// column, a number that is subtracted from its elements; the differences must fit int8. `sums` receives the sum of each
// packed column. `subtracted` and `sums` may be null.
void PackBytePanels(const ByteMatrix& w, int64_t first, int64_t count, const int32_t* subtracted, int8_t* panels,
                    int32_t* sums);

// to[i] = from[i] ^ 0x80; `to` may be `from`.
void FlipBytes(const uint8_t* from, uint8_t* to, int64_t n);
// Returns the sum of row[i] ^ flip.
int32_t SumOfBytes(const uint8_t* row, int64_t n, uint8_t flip = 0);

// Conversion of a sum to a result.
enum class ByteResult : uint8_t {
  kSums,         // int32
  kRequantized,  // bytes: round(float(sum) * factor) + zero in [low, high]; halves to even, NaN gives the lowest
  kScaled,       // float: float(sum) * factor + bias, rounded twice
};

struct ByteProduct {
  const uint8_t* a = nullptr;
  int64_t a_stride = 0;  // bytes between rows
  int64_t rows = 0, columns = 0, steps = 0;
  const int8_t* panels = nullptr;  // panels of these columns
  // True when the panels are in no cache of this core: each panel is then prefetched while the one before it is
  // multiplied. `next` is a panel with as many steps that is used after these, or null.
  bool fetches_ahead = false;
  const int8_t* next = nullptr;
  // Initial sums, by column, padded to whole panels.
  const int32_t* start = nullptr;
  // Each pair that isn't null adds row_terms[row] * column_terms[column]. Column terms are padded as `start` is.
  const int32_t* row_terms[2] = {nullptr, nullptr};
  const int32_t* column_terms[2] = {nullptr, nullptr};

  ByteResult result = ByteResult::kSums;
  void* y = nullptr;
  int64_t y_stride = 0;           // elements between rows
  const float* factor = nullptr;  // by column, padded as `start` is
  const float* bias = nullptr;    // kScaled only; padded as `start` is; null: none
  int32_t zero = 0, low = 0, high = 255;
};

void RunByteProduct(const ByteProduct& product);
// Number of left-side rows that AMX multiplies by weights while the weights stay in registers; 0 without AMX.
int64_t ByteTileRows();

// Converts n sums to bytes as kRequantized does, with one factor for each sum.
void RequantizeRow(const int32_t* sums, const float* factor, int32_t zero, int32_t low, int32_t high, uint8_t* y,
                   int64_t n);

// Whether GEMMs use VNNI. Without VNNI they use no AMX either. WithoutVnni disables both while it lives, for tests. No
// other thread may be inside a GEMM when it is constructed or destroyed.
bool UsesVnni();
class WithoutVnni {
 public:
  WithoutVnni();
  ~WithoutVnni();
  WithoutVnni(const WithoutVnni&) = delete;
  WithoutVnni& operator=(const WithoutVnni&) = delete;
};

}  // namespace epiphyte::cpu::simd
