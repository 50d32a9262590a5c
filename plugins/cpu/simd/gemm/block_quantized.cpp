#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/block_quantized.cpp"
#include "plugins/cpu/simd/gemm/block_quantized.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "plugins/cpu/simd/gemm/byte_product.h"
#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/byte_dot-inl.h"
#include "plugins/cpu/simd/inline/small_floats-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
// Vectors of columns that are computed for a single row, and for several rows, which need more sums.
constexpr int kVectorsOfRow = 4;
constexpr int kVectorsOfRows = HWY_CAP_GE512 || HWY_ARCH_ARM_A64 ? 4 : 2;
// Words that are prefetched for a single row. The CPU prefetches by itself within a page, but not beyond it.
constexpr int64_t kAhead = 1024;
// Weight of a digit relative to the next one.
constexpr float kByteDigit = 256;

// Converts number kRow of each word to float.
template <int kBits, int kRow>
HWY_INLINE Vector NumberOf(Sum words, [[maybe_unused]] Vector numbers) {
  constexpr int kShift = kRow % 4 * 8 + kRow / 4 * kBits;
  const hn::RebindToUnsigned<Sums> du;
  const auto low = hn::ShiftRight<kShift>(hn::BitCast(du, words));
#if HWY_ARCH_X86 && HWY_CAP_GE512
  // The lowest four bits select, regardless of the bits above them.
  if constexpr (kBits <= 4) return Vector{_mm512_permutexvar_ps(low.raw, numbers.raw)};
#endif
  const auto number = kShift + kBits == 32 ? low : hn::And(low, hn::Set(du, (1u << kBits) - 1u));
  return hn::ConvertTo(Tag(), hn::BitCast(Sums(), number));
}

// The table that NumberOf selects from.
template <int kBits>
HWY_INLINE Vector Numbers() {
  const Tag d;
  HWY_ALIGN float numbers[16];
  for (int i = 0; i < 16; ++i) numbers[i] = static_cast<float>(i & ((1 << kBits) - 1));
  return hn::LoadU(d, numbers);
}

// Scales and zero points of one block of a panel as floats, in place or in `buffer`.
struct Parameters {
  const float* scales;
  const float* zeros;  // null: `middle`
  float middle;
};
HWY_INLINE Parameters ParametersOf(const BlockQuantized& w, int64_t panel, int64_t block, float* buffer) {
  const Tag d;
  const int64_t at = (panel * w.blocks + block) * kBlockPanel;
  Parameters of{w.scales + at, nullptr, static_cast<float>(1 << (w.bits - 1))};
  if (w.half_scales != nullptr) {
    for (int64_t c = 0; c < kBlockPanel; c += kLanes) hn::StoreU(LoadFloats(d, w.half_scales + at + c), d, buffer + c);
    of.scales = buffer;
  }
  if (w.real_zeros != nullptr) of.zeros = w.real_zeros + at;
  if (w.zeros != nullptr) {
    float* const zeros = buffer + kBlockPanel;
    const hn::Rebind<uint8_t, Tag> db;
    for (int64_t c = 0; c < kBlockPanel; c += kLanes)
      hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(Sums(), hn::LoadU(db, w.zeros + at + c))), d, zeros + c);
    of.zeros = zeros;
  }
  return of;
}

// Initial sum of a block, for a row with the element sum `sum`.
HWY_INLINE Vector StartOf(const Parameters& of, int64_t column, float sum) {
  const Tag d;
  const Vector minus = hn::Set(d, -sum);
  return hn::Mul(of.zeros == nullptr ? hn::Set(d, of.middle) : hn::LoadU(d, of.zeros + column), minus);
}

// Adds the products of the words' rows from kRow on with the rows of the left side.
template <int kBits, int kRow, int kRows, int kVectors>
HWY_INLINE void AddRows(const Sum (&words)[kVectors], const float* a, int64_t stride, Vector numbers,
                        Vector (&sums)[kRows][kVectors]) {
  if constexpr (kRow < 32 / kBits) {
    Vector weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = NumberOf<kBits, kRow>(words[v], numbers);
    for (int r = 0; r < kRows; ++r) {
      const Vector factor = hn::Set(Tag(), a[r * stride + kRow]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(weights[v], factor, sums[r][v]);
    }
    AddRows<kBits, kRow + 1, kRows, kVectors>(words, a, stride, numbers, sums);
  }
}

// Place of a tile: its first row of the left side, its first column of the panel, and the block of the weights' rows.
struct BlockPlace {
  int64_t row, column, block;
};

// Accumulates products of floats.
template <int kBits>
struct OfFloats {
  using Left = BlockLeft;
  static constexpr int kMostRows = 4, kVectors = kVectorsOfRows;
  template <int kRows, int kVectors>
  static HWY_INLINE void Block(const BlockQuantized& w, const uint32_t* words, const Left& left,
                               const BlockPlace& place, const Parameters& of, Vector (&sums)[kRows][kVectors]) {
    const auto [row, column, block] = place;
    const int64_t rows = w.block, blocks = w.blocks;
    const float* const a = left.a + row * left.stride + block * rows;
    for (int r = 0; r < kRows; ++r) {
      const float sum = left.sums[(row + r) * blocks + block];
      for (int v = 0; v < kVectors; ++v) sums[r][v] = StartOf(of, column + v * kLanes, sum);
    }
    const Vector numbers = Numbers<kBits>();
    for (int64_t i = 0; i < rows; i += 32 / kBits, words += kBlockPanel) {
      Sum word[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kRows == 1) __builtin_prefetch(words + kAhead + v * kLanes);
        word[v] = hn::LoadU(Sums(), reinterpret_cast<const int32_t*>(words) + v * kLanes);
      }
      AddRows<kBits, 0, kRows, kVectors>(word, a + i, left.stride, numbers, sums);
    }
  }
};

// Accumulates products of bytes, exact within a block.
template <class Way, int kBits, int kDigits>
struct OfBytes {
  using Left = ByteBlockLeft;
  static constexpr int kMostRows = HWY_CAP_GE512 && kDigits == 1 ? 6 : 4;
  static constexpr int kVectors = kDigits == 1 ? kVectorsOfRows : 2;
  template <int kRows, int kVectors>
  static HWY_INLINE void Block(const BlockQuantized& w, const uint32_t* words, const Left& left,
                               const BlockPlace& place, const Parameters& of, Vector (&sums)[kRows][kVectors]) {
    const auto [row, column, block] = place;
    const int64_t rows = w.block, blocks = w.blocks;
    const Sums d;
    const int8_t* const a = left.a + row * left.stride + block * rows;
    Sum integers[kDigits][kRows][kVectors];
    for (auto& digit : integers) {
      for (auto& of_row : digit) {
        for (Sum& sum : of_row) sum = hn::Zero(d);
      }
    }
    for (int64_t i = 0; i < rows; i += 32 / kBits, words += kBlockPanel) {
      Sum word[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kRows == 1) __builtin_prefetch(words + kAhead + v * kLanes);
        word[v] = hn::LoadU(d, reinterpret_cast<const int32_t*>(words) + v * kLanes);
      }
      Four<0>(word, a + i, left.stride, blocks * rows, integers);
    }
    for (int r = 0; r < kRows; ++r) {
      const int64_t at = (row + r) * blocks + block;
      const Vector scale = hn::Set(Tag(), left.scales[at]);
      for (int v = 0; v < kVectors; ++v) {
        Vector sum = hn::ConvertTo(Tag(), integers[0][r][v]);
        for (int digit = 1; digit < kDigits; ++digit)
          sum = hn::MulAdd(sum, hn::Set(Tag(), kByteDigit), hn::ConvertTo(Tag(), integers[digit][r][v]));
        sums[r][v] = hn::MulAdd(sum, scale, StartOf(of, column + v * kLanes, left.sums[at]));
      }
    }
  }

 private:
  // Multiplies four rows of each word, from row 4 * kGroup on, and the groups that follow. `plane` is the distance from
  // a digit to the next.
  template <int kGroup, int kRows, int kVectors>
  static HWY_INLINE void Four(const Sum (&words)[kVectors], const int8_t* a, int64_t stride, int64_t plane,
                              Sum (&integers)[kDigits][kRows][kVectors]) {
    if constexpr (kGroup < 8 / kBits) {
      const Sums d;
      decltype(Way::FactorsOf(words[0])) factors[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        Sum bytes = hn::ShiftRight<kGroup * kBits>(words[v]);
        if constexpr (kBits < 8) bytes = hn::And(bytes, hn::Set(d, ((1 << kBits) - 1) * 0x01010101));
        factors[v] = Way::FactorsOf(bytes);
      }
      for (int digit = 0; digit < kDigits; ++digit) {
        for (int r = 0; r < kRows; ++r) {
          int32_t four;
          std::memcpy(&four, a + r * stride + digit * plane + kGroup * 4, sizeof(four));
          const auto weights = Way::Weights(hn::Set(d, four));
          for (int v = 0; v < kVectors; ++v)
            integers[digit][r][v] = Way::Add(integers[digit][r][v], factors[v], weights);
        }
      }
      Four<kGroup + 1>(words, a, stride, plane, integers);
    }
  }
};

// Multiplies some rows by some vectors of columns of a panel.
template <class Of, int kRows, int kVectors>
HWY_INLINE void Tile(const BlockQuantized& w, int64_t panel, const typename Of::Left& left, int64_t row, int64_t column,
                     float* y) {
  const Tag d;
  HWY_ALIGN float buffer[2 * kBlockPanel];
  const int64_t words_of_block = BlockPanelWords(w.bits, w.block);
  const uint32_t* words = w.words + panel * w.blocks * words_of_block + column;
  Vector totals[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) totals[r][v] = hn::Zero(d);
  }
  for (int64_t block = 0; block < w.blocks; ++block, words += words_of_block) {
    const Parameters of = ParametersOf(w, panel, block, buffer);
    Vector sums[kRows][kVectors];
    Of::Block(w, words, left, {row, column, block}, of, sums);
    for (int v = 0; v < kVectors; ++v) {
      const Vector scale = hn::LoadU(d, of.scales + column + v * kLanes);
      for (int r = 0; r < kRows; ++r) totals[r][v] = hn::MulAdd(sums[r][v], scale, totals[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(totals[r][v], d, y + (row + r) * kBlockPanel + column + v * kLanes);
  }
}

template <class Of, int kRows>
HWY_INLINE void Rows(const BlockQuantized& w, int64_t panel, const typename Of::Left& left, int64_t row, float* y) {
  constexpr int kVectors = kRows == 1 ? kVectorsOfRow : Of::kVectors;
  for (int64_t column = 0; column < kBlockPanel; column += kVectors * kLanes)
    Tile<Of, kRows, kVectors>(w, panel, left, row, column, y);
}

template <class Of>
HWY_INLINE void AllRows(const BlockQuantized& w, int64_t panel, const typename Of::Left& left, float* y) {
  constexpr int kMost = Of::kMostRows;
  int64_t row = 0;
  for (; row + kMost <= left.rows; row += kMost) Rows<Of, kMost>(w, panel, left, row, y);
  if (kMost > 4 && row + 4 <= left.rows) {
    Rows<Of, 4>(w, panel, left, row, y);
    row += 4;
  }
  if (row + 2 <= left.rows) {
    Rows<Of, 2>(w, panel, left, row, y);
    row += 2;
  }
  if (row < left.rows) Rows<Of, 1>(w, panel, left, row, y);
}

void TimesFloats(const BlockQuantized& w, int64_t panel, const BlockLeft& left, float* y) {
  switch (w.bits) {
    case 2: return AllRows<OfFloats<2>>(w, panel, left, y);
    case 4: return AllRows<OfFloats<4>>(w, panel, left, y);
    default: return AllRows<OfFloats<8>>(w, panel, left, y);
  }
}
template <class Way, int kDigits>
HWY_INLINE void TimesDigits(const BlockQuantized& w, int64_t panel, const ByteBlockLeft& left, float* y) {
  switch (w.bits) {
    case 2: return AllRows<OfBytes<Way, 2, kDigits>>(w, panel, left, y);
    case 4: return AllRows<OfBytes<Way, 4, kDigits>>(w, panel, left, y);
    default: return AllRows<OfBytes<Way, 8, kDigits>>(w, panel, left, y);
  }
}
template <class Way>
HWY_INLINE void TimesBytes(const BlockQuantized& w, int64_t panel, const ByteBlockLeft& left, float* y) {
  if (left.digits == 1) {
    TimesDigits<Way, 1>(w, panel, left, y);
  } else {
    TimesDigits<Way, 3>(w, panel, left, y);
  }
}
void TimesBytesByWords(const BlockQuantized& w, int64_t panel, const ByteBlockLeft& left, float* y) {
  TimesBytes<ByWords>(w, panel, left, y);
}
void TimesBytesByVnni(const BlockQuantized& w, int64_t panel, const ByteBlockLeft& left, float* y) {
  TimesBytes<ByVnni>(w, panel, left, y);
}

// --- the left side

void SumEach(const float* row, int64_t blocks, int64_t block, float* sums) {
  const Tag d;
  for (int64_t b = 0; b < blocks; ++b, row += block) {
    Vector sum = hn::Zero(d);
    for (int64_t i = 0; i < block; i += kLanes) sum = hn::Add(sum, hn::LoadU(d, row + i));
    sums[b] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <int kDigits>
HWY_INLINE void QuantizeRow(const float* row, int64_t blocks, int64_t block, int8_t* numbers, float* scales,
                            float* sums) {
  const Tag d;
  const hn::Rebind<int8_t, Tag> db;
  constexpr float kMost = kDigits == 1 ? 127.0f : 127.0f * kByteDigit * kByteDigit;
  const int64_t plane = blocks * block;
  for (int64_t b = 0; b < blocks; ++b, row += block, numbers += block) {
    Vector most = hn::Zero(d);
    for (int64_t i = 0; i < block; i += kLanes) most = hn::Max(hn::Abs(hn::LoadU(d, row + i)), most);
    const float scale = hn::GetLane(hn::MaxOfLanes(d, most)) / kMost;
    // The inverse of a smaller scale isn't finite.
    const Vector inverse = hn::Set(d, scale >= std::numeric_limits<float>::min() ? 1.0f / scale : 0.0f);
    Sum sum = hn::Zero(Sums());
    // A maximum may lose a NaN, but a sum doesn't.
    Vector reals = hn::Zero(d);
    for (int64_t i = 0; i < block; i += kLanes) {
      const Vector x = hn::LoadU(d, row + i);
      reals = hn::Add(reals, x);
      const Vector number = hn::Min(hn::Max(hn::Mul(x, inverse), hn::Set(d, -kMost)), hn::Set(d, kMost));
      Sum rounded = hn::NearestInt(number);
      sum = hn::Add(sum, rounded);
      for (int digit = kDigits - 1; digit > 0; --digit) {
        // A digit is from -128 to 127. The remainder is the next digit's, in units of 1/256.
        hn::StoreU(LowBytes(rounded), hn::RebindToUnsigned<decltype(db)>(),
                   reinterpret_cast<uint8_t*>(numbers + digit * plane + i));
        rounded = hn::ShiftRight<8>(hn::Add(rounded, hn::Set(Sums(), 128)));
      }
      hn::StoreU(hn::DemoteTo(db, rounded), db, numbers + i);
    }
    const float real = hn::GetLane(hn::SumOfLanes(d, reals));
    scales[b] = real - real == 0 ? scale : real - real;
    sums[b] = kDigits == 1 ? static_cast<float>(hn::GetLane(hn::SumOfLanes(Sums(), sum))) * scales[b] : real;
  }
}
void QuantizeEach(const float* row, int64_t blocks, int64_t block, int digits, int8_t* numbers, float* scales,
                  float* sums) {
  if (digits == 1) {
    QuantizeRow<1>(row, blocks, block, numbers, scales, sums);
  } else {
    QuantizeRow<3>(row, blocks, block, numbers, scales, sums);
  }
}

// --- weights as floats

template <int kBits, int kRow>
HWY_INLINE void WidenRows(Sum words, Vector numbers, Vector scale, Vector start, float* to) {
  if constexpr (kRow < 32 / kBits) {
    hn::StoreU(hn::MulAdd(NumberOf<kBits, kRow>(words, numbers), scale, start), Tag(), to + kRow * kBlockPanel);
    WidenRows<kBits, kRow + 1>(words, numbers, scale, start, to);
  }
}
template <int kBits>
HWY_INLINE void WidenWords(const BlockQuantized& w, int64_t panel, int64_t first, int64_t count, float* to) {
  const Tag d;
  HWY_ALIGN float buffer[2 * kBlockPanel];
  const Vector numbers = Numbers<kBits>();
  for (int64_t row = first; row < first + count;) {
    const int64_t block = row / w.block, end = std::min((block + 1) * w.block, first + count);
    const Parameters of = ParametersOf(w, panel, block, buffer);
    for (int64_t c = 0; c < kBlockPanel; c += kLanes) {
      const Vector scale = hn::LoadU(d, of.scales + c);
      const Vector start = hn::Mul(StartOf(of, c, 1), scale);
      for (int64_t i = row; i < end; i += 32 / kBits) {
        const uint32_t* const words = w.words + BlockPanelWords(kBits, panel * w.rows() + i) + c;
        WidenRows<kBits, 0>(hn::LoadU(Sums(), reinterpret_cast<const int32_t*>(words)), numbers, scale, start,
                            to + (i - first) * kBlockPanel + c);
      }
    }
    row = end;
  }
}
void WidenAll(const BlockQuantized& w, int64_t panel, int64_t first, int64_t count, float* to) {
  switch (w.bits) {
    case 2: return WidenWords<2>(w, panel, first, count, to);
    case 4: return WidenWords<4>(w, panel, first, count, to);
    default: return WidenWords<8>(w, panel, first, count, to);
  }
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

void PackBlockPanel(const uint8_t* const* columns, int bits, int64_t rows, uint32_t* words) {
  for (int64_t i = 0; i < rows * bits / 32; ++i) {
    for (int64_t c = 0; c < kBlockPanel; ++c, ++words) {
      *words = 0;
      if (columns[c] == nullptr) continue;
      const uint8_t* const from = columns[c] + i * 4;
      const uint32_t word = from[0] | from[1] << 8 | from[2] << 16 | static_cast<uint32_t>(from[3]) << 24;
      // Four adjacent rows are packed into four bytes.
      if (bits == 8) *words = word;
      for (int group = 0; bits < 8 && group < 8 / bits; ++group) {
        uint32_t four = word >> (group * 4 * bits) & ((1u << 4 * bits) - 1u);
        if (bits == 4) {
          four = (four | four << 8) & 0x00FF00FF;
          four = (four | four << 4) & 0x0F0F0F0F;
        } else {
          four = (four | four << 12) & 0x000F000F;
          four = (four | four << 6) & 0x03030303;
        }
        *words |= four << (group * bits);
      }
    }
  }
}

EPIPHYTE_EXPORT(SumEach);
EPIPHYTE_EXPORT(QuantizeEach);
EPIPHYTE_EXPORT(TimesFloats);
EPIPHYTE_EXPORT(TimesBytesByWords);
EPIPHYTE_EXPORT(TimesBytesByVnni);
EPIPHYTE_EXPORT(WidenAll);

void SumBlocks(const float* row, int64_t blocks, int64_t block, float* sums) {
  EPIPHYTE_DISPATCH(SumEach)(row, blocks, block, sums);
}
void QuantizeBlocks(const float* row, int64_t blocks, int64_t block, int digits, int8_t* numbers, float* scales,
                    float* sums) {
  EPIPHYTE_DISPATCH(QuantizeEach)(row, blocks, block, digits, numbers, scales, sums);
}
void RowsTimesBlockPanel(const BlockQuantized& weights, int64_t panel, const BlockLeft& left, float* y) {
  EPIPHYTE_DISPATCH(TimesFloats)(weights, panel, left, y);
}
void RowsTimesBlockPanel(const BlockQuantized& weights, int64_t panel, const ByteBlockLeft& left, float* y) {
  if (UsesVnni()) {
    EPIPHYTE_DISPATCH(TimesBytesByVnni)(weights, panel, left, y);
  } else {
    EPIPHYTE_DISPATCH(TimesBytesByWords)(weights, panel, left, y);
  }
}
void WidenBlockPanel(const BlockQuantized& weights, int64_t panel, int64_t first, int64_t count, float* to) {
  EPIPHYTE_DISPATCH(WidenAll)(weights, panel, first, count, to);
}

}  // namespace epiphyte::cpu::simd
#endif
