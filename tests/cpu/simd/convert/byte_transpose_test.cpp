#include "plugins/cpu/simd/convert/byte_transpose.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using ByteTransposes = EachTarget;
EPIPHYTE_EACH_TARGET(ByteTransposes);

template <typename T>
void ExpectEveryShape() {
  for (int64_t rows : {1, 2, 3, 15, 16, 17, 40, 64}) {
    for (int64_t columns : {1, 3, 15, 16, 17, 31, 49, 100}) {
      for (int64_t apart : {0, 5}) {
        const int64_t from_stride = columns + apart, to_stride = rows + apart;
        std::vector<T> numbers(static_cast<size_t>((rows - 1) * from_stride + columns));
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i * 3737 + i / 256);
        GuardedRow<T> from(numbers), to((columns - 1) * to_stride + rows);
        TransposeBytes(from.data(), from_stride, rows, columns, to.data(), to_stride);
        for (int64_t at = 0; at < (columns - 1) * to_stride + rows; ++at) {
          const int64_t c = at / to_stride, r = at % to_stride;
          ASSERT_EQ(to[at], r < rows ? from[r * from_stride + c] : 0) << rows << "x" << columns << " at " << at;
        }
      }
    }
  }
}

TEST_P(ByteTransposes, AreExactForEveryShape) { ExpectEveryShape<uint8_t>(); }
TEST_P(ByteTransposes, AreExactForEveryShapeOfTwoBytes) { ExpectEveryShape<uint16_t>(); }
TEST_P(ByteTransposes, AreExactForEveryShapeOfFourBytes) { ExpectEveryShape<uint32_t>(); }

}  // namespace
}  // namespace epiphyte::cpu::simd
