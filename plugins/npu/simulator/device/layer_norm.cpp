// This file is compiled with -ffp-contract=off, because fused multiply-add would give other bits on machines that have
// it.
#include <cmath>
#include <vector>

#include "plugins/npu/simulator/device/elements.h"
#include "plugins/npu/simulator/device/vector_unit.h"

namespace epiphyte::npusim {
namespace {

// Rounds halves upwards. NaN becomes the low bound; it may occur because scales come from the blob.
int32_t RoundTo(double value, int32_t zero_point, int32_t low, int32_t high) {
  const double rounded = std::floor(value + 0.5) + zero_point;
  if (!(rounded > low)) return low;
  return rounded >= high ? high : static_cast<int32_t>(rounded);
}

}  // namespace

void RunLayerNorm(const LayerNormCommand& c, std::byte* scratchpad, Steps* steps) {
  std::vector<int32_t> x(c.columns);
  std::vector<int32_t> y(c.columns);
  std::vector<float> scale(c.columns);
  std::vector<float> bias(c.columns);
  std::memcpy(scale.data(), scratchpad + c.scale_offset, size_t{4} * c.columns);
  std::memcpy(bias.data(), scratchpad + c.bias_offset, size_t{4} * c.columns);
  const double count = c.columns;
  for (uint32_t row = 0; row < c.rows; ++row) {
    Count(steps, uint64_t{4} * c.columns);
    ReadElements(c.x_type, scratchpad + c.x_offset + size_t{row} * c.x_row_stride, TypeSize(c.x_type), c.columns,
                 x.data());
    int64_t sum = 0;
    int64_t squares = 0;
    for (const int32_t v : x) {
      sum += v;
      squares += int64_t{v} * v;
    }
    // n^2 variance = n * squares - sum^2 is exact for up to 2^20 elements of 16 bits.
    const __int128 spread = static_cast<__int128>(squares) * c.columns - static_cast<__int128>(sum) * sum;
    const double mean = static_cast<double>(sum) / count;
    const double variance = static_cast<double>(spread) / count / count;
    const double deviation = std::sqrt(variance + c.epsilon);
    for (uint32_t j = 0; j < c.columns; ++j) {
      const double normal = deviation > 0 ? (x[j] - mean) / deviation : 0.0;
      y[j] = RoundTo(normal * scale[j] + bias[j], c.y_zero_point, c.low, c.high);
    }
    WriteElements(c.y_type, y.data(), c.columns, scratchpad + c.y_offset + size_t{row} * c.y_row_stride,
                  TypeSize(c.y_type));
  }
}

}  // namespace epiphyte::npusim
