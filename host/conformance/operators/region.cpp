// Operators on regions of images, and convolutions with sampling positions that depend on data.
#include <algorithm>
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"
#include "host/conformance/operators/windows.h"

namespace epiphyte::operators {
namespace {

// Returns the pixel of a plane at whole coordinates, or 0 outside.
Number PixelAt(const Array& x, int64_t n, int64_t channel, Number row, Number column) {
  if (row < 0 || column < 0 || row >= static_cast<Number>(x.dims[2]) || column >= static_cast<Number>(x.dims[3]))
    return 0;
  return x.At({n, channel, static_cast<int64_t>(row), static_cast<int64_t>(column)});
}
Number Between(const Array& x, int64_t n, int64_t channel, Number row, Number column) {
  const Number top = std::floor(row);
  const Number left = std::floor(column);
  const Number down = row - top;
  const Number right = column - left;
  return PixelAt(x, n, channel, top, left) * (1 - down) * (1 - right) +
         PixelAt(x, n, channel, top, left + 1) * (1 - down) * right +
         PixelAt(x, n, channel, top + 1, left) * down * (1 - right) +
         PixelAt(x, n, channel, top + 1, left + 1) * down * right;
}

Bound OfCoordinates(const Array& y) {
  const bool is_small = y.type == DataType::kFloat16 || y.type == DataType::kBfloat16;
  return {.ulps = is_small                      ? Number{2}
                  : y.type == DataType::kDouble ? std::ldexp(Number{256}, 29)
                                                : 256,
          .sizes = std::vector<Number>(y.values.size(), 8)};
}

void RoiAlignCase(Random& random, Case& c, bool bad) {
  c.opset = 16;
  const DataType type = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble, DataType::kFloat16});
  const int64_t channels = random.Chance(40) ? random.Int(8, 40) : random.Int(1, 8);
  const Dims dims = {random.Int(1, 3), channels, random.Int(2, 12), random.Int(2, 12)};
  const Array x = random.Values(type, dims, Draw::kPlain);
  const int64_t count = bad ? 2 : random.Int(0, 5);
  Array rois(type, {count, 4});
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t side = 0; side < 2; ++side) {
      const Number size = static_cast<Number>(dims[static_cast<size_t>(3 - side)]);
      const Number start = random.Real(-1, size - 1);
      rois[i * 4 + side] = Round(type, 2 * start);
      rois[i * 4 + side + 2] = Round(type, 2 * (start + random.Real(0, size)));
    }
  }
  Array of = random.Integers(DataType::kInt64, {count}, 0, dims[0] - 1);
  if (bad) of[1] = static_cast<Number>(random.Pick<int64_t>({dims[0], -dims[0] - 1, INT64_MAX, INT64_MIN}));
  for (const Array* input : std::initializer_list<const Array*>{&x, &rois, &of}) c.Input(*input);
  if (bad) {
    c.Output(Array(type, {0}));
    return c.MustFail();
  }
  const int64_t height = random.Chance(30) ? 1 : random.Int(1, 4);
  const int64_t width = random.Chance(30) ? 1 : random.Int(1, 4);
  if (height != 1 || random.Chance(50)) c.Set("output_height", height);
  if (width != 1 || random.Chance(50)) c.Set("output_width", width);
  const int64_t ratio = random.Int(0, 3);
  if (ratio != 0 || random.Chance(50)) c.Set("sampling_ratio", ratio);
  c.Set("spatial_scale", 0.5F);
  const bool half = random.Chance(60);
  if (!half || random.Chance(50)) c.Set("coordinate_transformation_mode", half ? "half_pixel" : "output_half_pixel");
  Array y(type, {count, dims[1], height, width});
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    const Number* const roi = &rois.values[static_cast<size_t>(index[0] * 4)];
    const Number offset = half ? 0.5L : 0;
    const auto extent = [&](int64_t side) {
      const Number length = (roi[side + 2] - roi[side]) / 2;
      return half ? length : std::max<Number>(length, 1);
    };
    const Number bin_height = extent(1) / static_cast<Number>(height);
    const Number bin_width = extent(0) / static_cast<Number>(width);
    const auto rows = ratio > 0 ? static_cast<Number>(ratio) : std::ceil(bin_height);
    const auto columns = ratio > 0 ? static_cast<Number>(ratio) : std::ceil(bin_width);
    for (Number r = 0; r < rows; ++r) {
      for (Number s = 0; s < columns; ++s) {
        Number row = roi[1] / 2 - offset + (static_cast<Number>(index[2]) + (r + 0.5L) / rows) * bin_height;
        Number column = roi[0] / 2 - offset + (static_cast<Number>(index[3]) + (s + 0.5L) / columns) * bin_width;
        if (row < -1 || column < -1 || row > static_cast<Number>(dims[2]) || column > static_cast<Number>(dims[3]))
          continue;
        row = std::clamp<Number>(row, 0, static_cast<Number>(dims[2] - 1));
        column = std::clamp<Number>(column, 0, static_cast<Number>(dims[3] - 1));
        y[i] += Between(x, static_cast<int64_t>(of[index[0]]), index[1], row, column) / (rows * columns);
      }
    }
  });
  c.Output(y, OfCoordinates(y));
}
void RoiAlign(Random& random, Case& c) { RoiAlignCase(random, c, false); }
void BadRoiAlign(Random& random, Case& c) { RoiAlignCase(random, c, true); }

void MaxRoiPoolCase(Random& random, Case& c, bool bad) {
  const DataType type = random.Pick({DataType::kFloat, DataType::kDouble});
  const Dims dims = {random.Int(1, 3), random.Int(1, 6), random.Int(1, 12), random.Int(1, 12)};
  const Array x = random.Values(type, dims, Draw::kPlain);
  const int64_t count = bad ? 2 : random.Int(0, 4);
  // Regions consist of whole pixels and have a power of two of parts, so that nothing is rounded.
  const Dims pooled = {random.Pick({1, 2, 4}), random.Pick({1, 2, 4})};
  c.Set("pooled_shape", pooled);
  Array rois(type, {count, 5});
  for (int64_t i = 0; i < count; ++i) {
    rois[i * 5] = static_cast<Number>(random.Int(0, dims[0] - 1));
    for (int64_t side = 0; side < 2; ++side) {
      const int64_t start = random.Int(0, dims[static_cast<size_t>(3 - side)] - 1);
      rois[i * 5 + 1 + side] = static_cast<Number>(start);
      rois[i * 5 + 3 + side] = static_cast<Number>(start + random.Int(0, 8));
    }
  }
  if (bad) rois[5] = random.Pick<Number>({static_cast<Number>(dims[0]), -1, 1e30L, NAN});
  c.Input(x);
  c.Input(rois);
  if (bad) {
    c.Output(Array(type, {0}));
    return c.MustFail();
  }
  Array y(type, {count, dims[1], pooled[0], pooled[1]});
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    const Number* const roi = &rois.values[static_cast<size_t>(index[0] * 5)];
    const auto range = [&](int64_t side, int64_t part, int64_t parts, int64_t size) {
      const Number bin = (roi[3 + side] - roi[1 + side] + 1) / static_cast<Number>(parts);
      const Number first = std::floor(static_cast<Number>(part) * bin) + roi[1 + side];
      const Number end = std::ceil(static_cast<Number>(part + 1) * bin) + roi[1 + side];
      return std::pair(static_cast<int64_t>(first), static_cast<int64_t>(std::min(end, static_cast<Number>(size))));
    };
    const std::pair<int64_t, int64_t> rows = range(1, index[2], pooled[0], dims[2]);
    const std::pair<int64_t, int64_t> columns = range(0, index[3], pooled[1], dims[3]);
    bool any = false;
    for (int64_t row = rows.first; row < rows.second; ++row) {
      for (int64_t column = columns.first; column < columns.second; ++column) {
        const Number value = x.At({static_cast<int64_t>(roi[0]), index[1], row, column});
        y[i] = any ? LargerOf(y[i], value) : value;
        any = true;
      }
    }
  });
  c.Output(y);
}
void MaxRoiPool(Random& random, Case& c) { MaxRoiPoolCase(random, c, false); }
void BadMaxRoiPool(Random& random, Case& c) { MaxRoiPoolCase(random, c, true); }

struct Box {
  Number low[2], high[2];
  Number Area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};
Number Overlap(const Box& a, const Box& b) {
  Number common = 1;
  for (int axis = 0; axis < 2; ++axis)
    common *= std::max<Number>(std::min(a.high[axis], b.high[axis]) - std::max(a.low[axis], b.low[axis]), 0);
  const Number all = a.Area() + b.Area() - common;
  return all > 0 ? common / all : 0;
}

void NonMaxSuppression(Random& random, Case& c) {
  c.opset = 11;
  const int64_t batches = random.Int(1, 2);
  const int64_t classes = random.Int(1, 3);
  const int64_t count = random.Int(1, 40);
  const bool centred = random.Chance(40);
  if (centred || random.Chance(30)) c.Set("center_point_box", centred);
  const Array boxes = random.Values(DataType::kFloat, {batches, count, 4}, Draw::kPositive);
  // All scores differ, so that there is only one order.
  Array scores(DataType::kFloat, {batches, classes, count});
  std::vector<int64_t> ranks;
  for (int64_t i = 0; i < scores.count(); ++i) ranks.push_back(i);
  random.Shuffle(&ranks);
  for (int64_t i = 0; i < scores.count(); ++i)
    scores[i] = Round(DataType::kFloat, static_cast<Number>(ranks[static_cast<size_t>(i)] + 1) / 512);
  const int64_t most = random.Chance(10) ? 0 : random.Int(1, 12);
  const Number threshold = Round(DataType::kFloat, random.Real(0.1L, 0.9L));
  const bool limited = random.Chance(50);
  const Number least = limited ? Round(DataType::kFloat, random.Real(0, 0.2L)) : -HUGE_VALL;
  c.Input(boxes);
  c.Input(scores);
  c.Input(random.Chance(50) ? Scalar(DataType::kInt64, static_cast<Number>(most)) : Int64Array({most}));
  c.Input(Array(DataType::kFloat, {1}, {threshold}));
  if (limited) c.Input(Array(DataType::kFloat, {1}, {least}));
  const auto box_of = [&](int64_t batch, int64_t i) {
    const Number* const at = &boxes.values[static_cast<size_t>((batch * count + i) * 4)];
    Box box{};
    for (int axis = 0; axis < 2; ++axis) {
      box.low[axis] = centred ? at[axis] - at[axis + 2] / 2 : std::min(at[axis], at[axis + 2]);
      box.high[axis] = centred ? at[axis] + at[axis + 2] / 2 : std::max(at[axis], at[axis + 2]);
    }
    return box;
  };
  std::vector<Number> selected;
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t k = 0; k < classes; ++k) {
      const auto score = [&](int64_t i) { return scores.At({batch, k, i}); };
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i)
        if (score(i) > least) order.push_back(i);
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
      std::vector<int64_t> kept;
      for (int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) == most) break;
        const Box box = box_of(batch, i);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](int64_t j) { return Overlap(box, box_of(batch, j)) > threshold; }))
          continue;
        kept.push_back(i);
        for (int64_t value : {batch, k, i}) selected.push_back(static_cast<Number>(value));
      }
    }
  }
  c.Output(Array(DataType::kInt64, {static_cast<int64_t>(selected.size()) / 3, 3}, selected));
}

void DeformConv(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const int64_t groups = random.Pick({1, 1, 2});
  const int64_t offset_groups = random.Pick({1, 1, 2});
  const int64_t in_each = offset_groups * random.Int(1, 3);
  const int64_t out_each = random.Int(1, 4);
  const Windows windows = RandomWindows(random, c, {.rank = 2, .most_image = 8, .no_auto = true});
  if (groups > 1 || random.Chance(30)) c.Set("group", groups);
  if (offset_groups > 1 || random.Chance(30)) c.Set("offset_group", offset_groups);
  const int64_t batch = random.Int(1, 2);
  const int64_t channels = groups * in_each;
  const int64_t taps = CountOf(windows.kernel);
  const Array x = random.Values(type, {batch, channels, windows.image[0], windows.image[1]}, Draw::kPlain);
  const Array w = random.Values(type, {groups * out_each, in_each, windows.kernel[0], windows.kernel[1]}, Draw::kUnit);
  Array offset(type, {batch, offset_groups * taps * 2, windows.out[0], windows.out[1]});
  for (Number& value : offset.values) value = Round(type, random.Real(-2, 2));
  for (const Array* input : std::initializer_list<const Array*>{&x, &w, &offset}) c.Input(*input);
  Array bias(type, {groups * out_each});
  if (random.Chance(50)) {
    bias = random.Values(type, bias.dims, Draw::kPlain);
    c.Input(bias);
  } else {
    c.NoInput();
  }
  Array mask(type, {batch, offset_groups * taps, windows.out[0], windows.out[1]});
  for (Number& value : mask.values) value = 1;
  if (random.Chance(50)) {
    mask = random.Values(type, mask.dims, Draw::kUnit);
    c.Input(mask);
  }
  Array y(type, {batch, groups * out_each, windows.out[0], windows.out[1]});
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    y[i] = bias[index[1]];
    for (int64_t j = 0; j < in_each; ++j) {
      const int64_t channel = index[1] / out_each * in_each + j;
      const int64_t of = channel / (channels / offset_groups);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t place = of * taps + tap;
        const auto at = [&](size_t axis, int64_t step) {
          return static_cast<Number>(index[axis + 2] * windows.strides[axis] - windows.begin[axis] +
                                     step * windows.dilations[axis]) +
                 offset.At({index[0], 2 * place + static_cast<int64_t>(axis), index[2], index[3]});
        };
        const Number row = at(0, tap / windows.kernel[1]);
        const Number column = at(1, tap % windows.kernel[1]);
        y[i] += w.At({index[1], j, tap / windows.kernel[1], tap % windows.kernel[1]}) *
                mask.At({index[0], place, index[2], index[3]}) * Between(x, index[0], channel, row, column);
      }
    }
  });
  Bound bound = OfCoordinates(y);
  for (Number& size : bound.sizes) size = 8 + 4 * static_cast<Number>(in_each * taps);
  c.Output(y, bound);
}

void AffineGrid(Random& random, Case& c) {
  c.opset = 20;
  const DataType type = random.FloatType();
  const int64_t spatial = random.Int(2, 3);
  const int64_t batch = random.Int(1, 3);
  const bool corners = random.Chance(50);
  if (corners || random.Chance(50)) c.Set("align_corners", corners);
  std::vector<int64_t> size = {batch, random.Int(1, 3)};
  Dims dims = {batch};
  for (int64_t axis = 0; axis < spatial; ++axis) {
    size.push_back(random.Int(2, 8));
    dims.push_back(size.back());
  }
  const Array theta = random.Values(type, {batch, spatial, spatial + 1}, Draw::kUnit);
  c.Input(theta);
  c.Input(Int64Array(size));
  dims.push_back(spatial);
  Array y(type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    y[i] = theta.At({index[0], index.back(), spatial});
    for (int64_t axis = 0; axis < spatial; ++axis) {
      // Coordinates begin with the last axis.
      const auto at = static_cast<size_t>(spatial - axis);
      const auto place = static_cast<Number>(index[at]);
      const auto count = static_cast<Number>(dims[at]);
      y[i] += theta.At({index[0], index.back(), axis}) *
              (corners ? 2 * place / (count - 1) - 1 : (2 * place + 1) / count - 1);
    }
  });
  c.Output(y, {.ulps = 8, .sizes = std::vector<Number>(y.values.size(), 4)});
}

}  // namespace

std::vector<OperatorCases> RegionOperators() {
  return {
      {"AffineGrid", "", AffineGrid},
      {"DeformConv", "", DeformConv},
      {"MaxRoiPool", "", MaxRoiPool, BadMaxRoiPool},
      {"NonMaxSuppression", "", NonMaxSuppression},
      {"RoiAlign", "", RoiAlign, BadRoiAlign},
  };
}

}  // namespace epiphyte::operators
