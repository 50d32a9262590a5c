// Windows: the pixels of an image under a window at each position, for each spatial axis.
#pragma once

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

struct Windows {
  Dims image, kernel, strides, dilations, begin, end, out;

  // Calls body(tap, pixel) for each tap of the window at `at` that isn't in the padding. Both are positions in
  // row-major order.
  template <typename Body>
  void ForEachTap(const Dims& at, Body&& body) const {
    ForEachIndex(kernel, [&](const Dims& tap, int64_t t) {
      int64_t pixel = 0;
      for (size_t axis = 0; axis < tap.size(); ++axis) {
        const int64_t place = at[axis] * strides[axis] + tap[axis] * dilations[axis] - begin[axis];
        if (place < 0 || place >= image[axis]) return;
        pixel = pixel * image[axis] + place;
      }
      body(t, pixel);
    });
  }
  bool HasPadding() const;
  // Returns the number of taps in the image or the padding. Taps past the padding's end, where rounding up has moved
  // the window, don't count.
  int64_t CountPadded(const Dims& at) const;
};

struct WindowRules {
  int64_t rank = 2;
  int64_t most_image = 12;
  bool pool = false;          // true: no window may cover padding only
  bool ceil = false;          // true: the operator has ceil_mode
  bool shape_needed = false;  // true: kernel_shape is required
  bool no_auto = false;       // true: the operator has no auto_pad
};

// Returns random windows and sets the attributes of the case.
Windows RandomWindows(Random& random, Case& c, const WindowRules& rules);

}  // namespace epiphyte::operators
