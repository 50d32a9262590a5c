#include "plugins/npu/graph/lookup_table.h"

#include <algorithm>
#include <cmath>

namespace epiphyte::npu {

std::array<uint8_t, 256> MakeTable(const Function& function, const qdq::Quantization& x, const qdq::Quantization& y,
                                   int64_t low, int64_t high) {
  std::array<uint8_t, 256> table = {};
  const auto x_scale = static_cast<float>(x.Scale(0)), y_scale = static_cast<float>(y.Scale(0));
  for (int i = 0; i < 256; ++i) {
    const int64_t stored = x.type == EP_TYPE_INT8 ? int64_t{static_cast<int8_t>(i)} : int64_t{i};
    const float real = static_cast<float>(stored - x.ZeroPoint(0)) * x_scale;
    const double steps = std::nearbyint(static_cast<float>(function(static_cast<double>(real))) / y_scale);
    const double shifted = (std::isnan(steps) ? 0 : steps) + static_cast<double>(y.ZeroPoint(0));
    table[static_cast<size_t>(i)] = static_cast<uint8_t>(
        static_cast<int64_t>(std::clamp(shifted, static_cast<double>(low), static_cast<double>(high))));
  }
  return table;
}

}  // namespace epiphyte::npu
