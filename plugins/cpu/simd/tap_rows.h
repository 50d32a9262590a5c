// Which rows of a plane a row of windows sees (plane_windows.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/plane_windows.h"

namespace epiphyte::cpu::simd {

// The rows that window row `at` sees, the first of which is that of tap `skipped`.
struct TapRows {
  TapRows(const PlaneWindows& w, int64_t at) {
    const int64_t start = at * w.stride_y - w.pad_top, step = w.dilation_y;
    const auto steps = [step](int64_t distance) { return step == 1 ? distance : distance / step; };
    skipped = start < 0 ? std::min(steps(-start + step - 1), w.kernel_height) : 0;
    first = start + skipped * step;
    const int64_t inside = first >= w.in_height ? 0 : steps(w.in_height - 1 - first) + 1;
    count = std::min(inside, w.kernel_height - skipped);
  }
  int64_t skipped, first, count;
};

}  // namespace epiphyte::cpu::simd
