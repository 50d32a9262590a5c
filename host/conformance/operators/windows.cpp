#include "host/conformance/operators/windows.h"

#include <algorithm>

namespace epiphyte::operators {

bool Windows::HasPadding() const {
  const auto pads = [](int64_t size) { return size != 0; };
  return std::any_of(begin.begin(), begin.end(), pads) || std::any_of(end.begin(), end.end(), pads);
}

int64_t Windows::CountPadded(const Dims& at) const {
  int64_t count = 1;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < kernel[axis]; ++tap)
      inside += at[axis] * strides[axis] + tap * dilations[axis] < begin[axis] + image[axis] + end[axis];
    count *= inside;
  }
  return count;
}

Windows RandomWindows(Random& random, Case& c, const WindowRules& rules) {
  Windows w;
  const int kind = static_cast<int>(random.Int(0, 9));
  const bool same = !rules.no_auto && kind < 2;
  const bool upper = kind == 0;
  const bool valid = !rules.no_auto && kind == 2;
  const bool padded = kind >= 5;
  const bool ceil = rules.ceil && random.Chance(30);
  const bool dilated = random.Chance(25);
  const bool square = random.Chance(50);
  for (int64_t axis = 0; axis < rules.rank; ++axis) {
    w.kernel.push_back(square && axis > 0 ? w.kernel[0] : random.Pick({1, 1, 2, 3, 3, 3, 5}));
    w.strides.push_back(square && axis > 0 ? w.strides[0] : random.Pick({1, 1, 2, 3}));
    w.dilations.push_back(dilated ? random.Int(1, 3) : 1);
    const int64_t reach = (w.kernel.back() - 1) * w.dilations.back() + 1;
    int64_t begin = padded ? random.Int(0, w.kernel.back() - 1) : 0;
    int64_t end = padded ? random.Int(0, w.kernel.back() - 1) : 0;
    if (padded && !rules.pool && random.Chance(10)) end += random.Int(0, 4);
    if (same) begin = end = 0;
    // Every window of a pool covers a pixel: taps are not further apart than the image is wide.
    int64_t image = std::max<int64_t>(random.Int(1, rules.most_image), same ? 1 : reach - begin - end);
    if (rules.pool) image = std::max(image, reach);
    int64_t out = 0;
    if (same) {
      out = (image + w.strides.back() - 1) / w.strides.back();
      const int64_t total = std::max<int64_t>((out - 1) * w.strides.back() + reach - image, 0);
      begin = upper ? total / 2 : total - total / 2;
      end = total - begin;
    } else {
      const int64_t room = image + begin + end - reach;
      out = (ceil ? (room + w.strides.back() - 1) / w.strides.back() : room / w.strides.back()) + 1;
      // The last window begins in the image or in the padding before it.
      if (ceil && (out - 1) * w.strides.back() >= image + begin) --out;
    }
    w.image.push_back(image);
    w.begin.push_back(begin);
    w.end.push_back(end);
    w.out.push_back(out);
  }
  const auto all = [](const Dims& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t element) { return element == value; });
  };
  if (rules.shape_needed || random.Chance(50)) c.Set("kernel_shape", w.kernel);
  if (!all(w.strides, 1) || random.Chance(30)) c.Set("strides", w.strides);
  if (!all(w.dilations, 1) || random.Chance(30)) c.Set("dilations", w.dilations);
  if (ceil) c.Set("ceil_mode", 1);
  if (same) {
    c.Set("auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
  } else if (valid) {
    c.Set("auto_pad", "VALID");
  } else {
    Dims pads = w.begin;
    pads.insert(pads.end(), w.end.begin(), w.end.end());
    if (!all(pads, 0) || random.Chance(30)) c.Set("pads", pads);
    if (!rules.no_auto && random.Chance(20)) c.Set("auto_pad", "NOTSET");
  }
  return w;
}

}  // namespace epiphyte::operators
