// Windows: which pixels of an image a window lies over, wherever it is. By spatial axis.
#pragma once

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

struct Windows {
  Dims image, kernel, strides, dilations, begin, end, out;

  // Calls body(tap, pixel) for each tap of the window at `at` that isn't in the padding; both are places in their
  // row-major shapes.
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
  // Taps that are in the image or in the padding: not past its end, where rounding up has moved the window.
  int64_t CountPadded(const Dims& at) const;
};

struct WindowRules {
  int64_t rank = 2;
  int64_t most_image = 12;
  bool pool = false;          // no window may lie in the padding alone
  bool ceil = false;          // the operator has ceil_mode
  bool shape_needed = false;  // kernel_shape can't be left out
  bool no_auto = false;       // the operator has no auto_pad
};

// Sets the attributes.
Windows RandomWindows(Random& random, Case& c, const WindowRules& rules);

}  // namespace epiphyte::operators
