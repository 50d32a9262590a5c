// Operators that sample images at positions between pixels.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

// Bound for samples. Coordinates are computed in float: in an image of 64 pixels with a step of 16 between two pixels,
// they are off by this many steps of 8. 16-bit results are rounded once more.
Bound Sampled(const Array& y) {
  const bool is_small = y.type == DataType::kFloat16 || y.type == DataType::kBfloat16;
  const Number of_floats = y.type == DataType::kDouble ? std::ldexp(Number{256}, 29) : 256;
  return {.ulps = is_small ? 2 : of_floats, .sizes = std::vector<Number>(y.values.size(), 8)};
}

Number Cubic(Number x, Number a) {
  const Number s = std::fabs(x);
  if (s <= 1) return ((a + 2) * s - (a + 3)) * s * s + 1;
  return s < 2 ? ((a * s - 5 * a) * s + 8 * a) * s - 4 * a : 0;
}
Number Linear(Number x) { return std::max<Number>(0, 1 - std::fabs(x)); }

struct Tap {
  int64_t place = 0;
  Number weight = 0;
};
using Taps = std::vector<Tap>;

// Returns the sum over all combinations of the axes' taps.
Number Sum(const Array& x, Dims* index, const std::vector<const Taps*>& taps, size_t axis) {
  if (axis == taps.size()) return x.At(*index);
  Number sum = 0;
  for (const Tap& tap : *taps[axis]) {
    (*index)[axis] = tap.place;
    sum += tap.weight * Sum(x, index, taps, axis + 1);
  }
  return sum;
}

struct ResizeRules {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  Number cubic = -0.75L;
  bool exclude_outside = false;
  bool antialias = false;
  Number extrapolation = 0;
};

struct ResizedAxis {
  int64_t in = 1, out = 1;
  Number scale = 1;
  bool by_size = false;       // true: the size is given, not the scale
  Number start = 0, end = 1;  // bounds of the region
};

Number Origin(const ResizeRules& rules, const ResizedAxis& axis, int64_t place) {
  const auto at = static_cast<Number>(place);
  const auto in = static_cast<Number>(axis.in);
  const auto out = static_cast<Number>(axis.out);
  // The scaled length before it is truncated to whole pixels.
  const Number length = axis.by_size ? out : axis.scale * in;
  if (rules.coordinates == "asymmetric") return at / axis.scale;
  if (rules.coordinates == "align_corners") return axis.out == 1 ? 0 : at * (in - 1) / (length - 1);
  if (rules.coordinates == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (rules.coordinates == "tf_crop_and_resize") {
    if (axis.out == 1) return (axis.start + axis.end) / 2 * (in - 1);
    return axis.start * (in - 1) + at * (axis.end - axis.start) * (in - 1) / (length - 1);
  }
  const Number half_pixel = (at + 0.5L) / axis.scale - 0.5L;
  if (rules.coordinates != "half_pixel_symmetric") return half_pixel;
  return in / 2 * (1 - out / (axis.scale * in)) + half_pixel;
}

// Returns an output pixel's taps along an axis. No taps: the pixel is outside and gets the extrapolation value.
Taps TapsOf(const ResizeRules& rules, const ResizedAxis& axis, int64_t place) {
  if (axis.in == axis.out && axis.scale == 1 && rules.coordinates != "tf_crop_and_resize") return {{place, 1}};
  const Number x = Origin(rules, axis, place);
  const auto last = static_cast<Number>(axis.in - 1);
  if (rules.coordinates == "tf_crop_and_resize" && (x < 0 || x > last)) return {};
  const auto clamped = [&](Number at) { return static_cast<int64_t>(std::clamp<Number>(at, 0, last)); };
  if (rules.mode == "nearest") {
    const Number down = std::floor(x);
    if (rules.nearest == "floor") return {{clamped(down), 1}};
    if (rules.nearest == "ceil") return {{clamped(std::ceil(x)), 1}};
    const bool up = x - down > 0.5L || (x - down == 0.5L && rules.nearest == "round_prefer_ceil");
    return {{clamped(down + (up ? 1 : 0)), 1}};
  }
  const Number width = rules.antialias ? std::min<Number>(axis.scale, 1) : 1;
  const Number reach = (rules.mode == "linear" ? 1 : 2) / width;
  Taps taps;
  Number total = 0;
  for (Number at = std::floor(x - reach); at <= std::ceil(x + reach); ++at) {
    const Number weight = rules.mode == "linear" ? Linear((at - x) * width) : Cubic((at - x) * width, rules.cubic);
    if (weight == 0 || (rules.exclude_outside && (at < 0 || at > last))) continue;
    taps.push_back({clamped(at), weight});
    total += weight;
  }
  for (Tap& tap : taps) tap.weight /= total;
  return taps;
}

// Returns a scale in whole quarters, so that the shapes of exact arithmetic are expected.
Number ScaleOf(Random& random) { return random.Pick<Number>({0.25L, 0.5L, 0.75L, 1, 1, 1.25L, 1.5L, 2, 2, 3, 4}); }

void ResizeTo(Random& random, Case& c, bool upsample) {
  ResizeRules rules;
  rules.mode = random.Pick<const char*>({"nearest", "linear", "linear", "cubic"});
  if (upsample && rules.mode == "cubic") rules.mode = "linear";
  const bool nearest = rules.mode == "nearest";
  DataType type = nearest ? random.NumberType() : random.FloatType();
  const int64_t rank = random.Pick({2, 3, 4, 4, 4, 5});
  const int64_t resized = std::min<int64_t>(rank, random.Pick({1, 2, 2, 2, 3}));
  Dims dims;
  for (int64_t axis = 0; axis < rank; ++axis)
    dims.push_back(axis < rank - resized ? random.Int(1, 4) : random.Int(1, resized == 3 ? 6 : 20));

  std::vector<ResizedAxis> axes(static_cast<size_t>(rank));
  const bool by_sizes = !upsample && random.Chance(40);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    ResizedAxis& own = axes[axis];
    own.in = own.out = dims[axis];
    own.by_size = by_sizes;
    if (static_cast<int64_t>(axis) < rank - resized) continue;
    if (by_sizes && !nearest) {
      own.out = random.Int(1, 24);
      own.scale = Round(DataType::kFloat, static_cast<Number>(own.out) / static_cast<Number>(own.in));
    } else {
      // Which pixel is the nearest is certain for powers of two, because no coordinate is rounded.
      own.scale = nearest ? random.Pick<Number>({0.5L, 1, 2, 4}) : ScaleOf(random);
      if (upsample) own.scale = std::max<Number>(own.scale, 1);
      own.out = static_cast<int64_t>(std::floor(own.scale * static_cast<Number>(own.in)));
      if (own.out == 0 || (by_sizes && static_cast<Number>(own.out) != own.scale * static_cast<Number>(own.in))) {
        own.scale = 1;
        own.out = own.in;
      }
    }
  }

  if (upsample) {
    c.opset = 9;
    rules.coordinates = "asymmetric";
    rules.nearest = "floor";
    if (type == DataType::kBfloat16) type = DataType::kFloat;
  } else {
    c.opset = random.Pick({13, 18, 19});
    std::vector<std::string> coordinates = {"half_pixel", "asymmetric"};
    if (!nearest) coordinates.insert(coordinates.end(), {"pytorch_half_pixel", "align_corners", "tf_crop_and_resize"});
    if (!nearest && c.opset >= 19) coordinates.push_back("half_pixel_symmetric");
    rules.coordinates = random.Pick(coordinates);
    if (rules.coordinates != "half_pixel" || random.Chance(50))
      c.Set("coordinate_transformation_mode", rules.coordinates);
    if (nearest) {
      rules.nearest = random.Pick<const char*>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
      if (rules.nearest != "round_prefer_floor" || random.Chance(50)) c.Set("nearest_mode", rules.nearest);
    }
    if (rules.mode == "cubic") {
      if (random.Chance(50)) c.Set("cubic_coeff_a", static_cast<float>(rules.cubic = -0.5L));
      if (random.Chance(40) && rules.coordinates != "tf_crop_and_resize")
        c.Set("exclude_outside", rules.exclude_outside = true);
    }
    if (c.opset >= 18 && !nearest && rules.coordinates == "half_pixel" && random.Chance(40))
      c.Set("antialias", rules.antialias = true);
  }
  if (rules.mode != "nearest" || random.Chance(50)) c.Set("mode", rules.mode);

  const Array x = random.Values(type, dims, Draw::kPlain);
  c.Input(x);
  // `axes` may name only the resized axes.
  const bool some = c.opset >= 18 && random.Chance(40);
  std::vector<int64_t> told;
  for (int64_t axis = some ? rank - resized : 0; axis < rank; ++axis) told.push_back(axis);
  if (some) {
    random.Shuffle(&told);
    std::vector<int64_t> listed;
    for (int64_t axis : told) listed.push_back(random.MaybeNegative(axis, rank));
    c.Set("axes", listed);
  }
  const bool region = rules.coordinates == "tf_crop_and_resize";
  if (region) {
    c.Set("extrapolation_value", static_cast<float>(rules.extrapolation = 3));
    Array roi(DataType::kFloat, {2 * static_cast<int64_t>(told.size())});
    for (size_t i = 0; i < told.size(); ++i) {
      ResizedAxis& own = axes[static_cast<size_t>(told[i])];
      if (told[i] >= rank - resized) {
        own.start = Round(DataType::kFloat, random.Real(-0.2L, 0.4L));
        own.end = Round(DataType::kFloat, random.Real(0.6L, 1.3L));
      }
      roi[static_cast<int64_t>(i)] = own.start;
      roi[static_cast<int64_t>(i + told.size())] = own.end;
    }
    c.Input(roi);
  } else if (!upsample) {
    c.NoInput();
  }
  Array scales(DataType::kFloat, {static_cast<int64_t>(told.size())});
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < told.size(); ++i) {
    scales[static_cast<int64_t>(i)] = axes[static_cast<size_t>(told[i])].scale;
    sizes.push_back(axes[static_cast<size_t>(told[i])].out);
  }
  if (by_sizes) {
    c.NoInput();
    c.Input(Int64Array(sizes));
  } else {
    c.Input(scales);
  }

  std::vector<std::vector<Taps>> taps;  // indexed by axis and position
  Dims out;
  for (const ResizedAxis& axis : axes) {
    out.push_back(axis.out);
    taps.emplace_back();
    // An axis that isn't resized has the whole axis as its region.
    const bool whole = &axis - axes.data() < rank - resized;
    for (int64_t place = 0; place < axis.out; ++place)
      taps.back().push_back(whole ? Taps{{place, 1}} : TapsOf(rules, axis, place));
  }
  Array y(type, out);
  ForEachIndex(out, [&](const Dims& index, int64_t i) {
    std::vector<const Taps*> own;
    bool outside = false;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      own.push_back(&taps[axis][static_cast<size_t>(index[axis])]);
      outside |= own.back()->empty();
    }
    Dims at(index.size());
    y[i] = outside ? rules.extrapolation : Sum(x, &at, own, 0);
  });
  c.Output(y, nearest ? Bound{} : Sampled(y));
}
void Resize(Random& random, Case& c) { ResizeTo(random, c, false); }
void Upsample(Random& random, Case& c) { ResizeTo(random, c, true); }

void BadResize(Random& random, Case& c) {
  c.opset = 18;
  c.Input(random.Values(DataType::kFloat, {1, 1, 4, 4}, Draw::kPlain));
  c.NoInput();
  const int64_t kind = random.Int(0, 5);
  const auto scales = [&](const std::vector<Number>& values) {
    c.Input(Array(DataType::kFloat, {static_cast<int64_t>(values.size())}, values));
  };
  const auto sizes = [&](const std::vector<int64_t>& values) {
    c.NoInput();
    c.Input(Int64Array(values));
  };
  if (kind == 0) scales({1, 1, 2});
  if (kind == 1) scales({1, 1, random.Pick<Number>({-1, NAN}), 2});
  if (kind == 2) scales({1, 1, random.Pick<Number>({1e30L, HUGE_VALL, 1e12L}), 2});
  if (kind == 3) sizes({1, 1, random.Pick<int64_t>({-1, INT64_MIN, int64_t{1} << 60, int64_t{1} << 45}), 8});
  if (kind == 4) {
    c.Set("axes", std::vector<int64_t>{2, random.Pick<int64_t>({4, -5, INT64_MAX, 2})});
    scales({2, 2});
  }
  if (kind == 5) sizes({1, 1, 8});
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

struct GridRules {
  std::string mode, padding;
  bool corners = false;
};

Taps GridTaps(const GridRules& rules, Number g, int64_t size) {
  const auto n = static_cast<Number>(size);
  const Number x = rules.corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  const int64_t reach = rules.mode == "cubic" ? 2 : 1;
  Taps taps;
  for (Number at = std::floor(x) - static_cast<Number>(reach); at <= std::floor(x) + static_cast<Number>(reach) + 1;
       ++at) {
    Number weight = rules.mode == "cubic" ? Cubic(at - x, -0.75L) : Linear(at - x);
    if (rules.mode == "nearest") weight = static_cast<Number>(at == std::nearbyint(x));
    if (weight == 0) continue;
    Number place = at;
    if (rules.padding == "border") place = std::clamp<Number>(at, 0, n - 1);
    if (rules.padding == "reflection") {
      // Reflects at the centres of the corner pixels, or at their outer edges.
      const Number low = rules.corners ? 0 : -0.5L;
      const Number high = rules.corners ? n - 1 : n - 0.5L;
      while (high > low && (place < low || place > high)) place = place < low ? 2 * low - place : 2 * high - place;
      if (high == low) place = 0;
    }
    if (place < 0 || place >= n) continue;
    taps.push_back({static_cast<int64_t>(place), weight});
  }
  return taps;
}

void GridSample(Random& random, Case& c) {
  // Images of three dimensions are allowed since opset 20, but models of opset 16 to 19 have them, too.
  c.opset = random.Pick({16, 19, 20, 22});
  const int64_t spatial = random.Pick({2, 2, 3});
  GridRules rules;
  rules.mode = spatial == 2 ? random.Pick<const char*>({"nearest", "linear", "linear", "cubic"})
                            : random.Pick<const char*>({"nearest", "linear"});
  rules.padding = random.Pick<const char*>({"zeros", "border", "reflection"});
  rules.corners = random.Chance(50);
  const std::string told = c.opset < 20 && rules.mode != "nearest" ? "bi" + rules.mode : rules.mode;
  if (rules.mode != "linear" || random.Chance(50)) c.Set("mode", told);
  if (rules.padding != "zeros" || random.Chance(50)) c.Set("padding_mode", rules.padding);
  if (rules.corners || random.Chance(50)) c.Set("align_corners", rules.corners);
  const DataType type = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble});
  Dims dims = {random.Int(1, 3), random.Int(1, 6)};
  Dims out = dims;
  Dims grid_dims = {dims[0]};
  for (int64_t axis = 0; axis < spatial; ++axis) {
    dims.push_back(random.Int(2, 8));
    out.push_back(random.Size(8));
    grid_dims.push_back(out.back());
  }
  grid_dims.push_back(spatial);
  const Array x = random.Values(type, dims, Draw::kPlain);
  Array grid(type, grid_dims);
  for (int64_t i = 0; i < grid.count(); ++i) {
    // The coordinates in the grid's last axis begin with the image's last axis.
    const auto size = static_cast<Number>(dims[static_cast<size_t>(spatial + 1 - i % spatial)]);
    // Coordinates are chosen so that no rounding decides between pixels. Cubic sampling at borders stays inside.
    const bool inside = rules.mode == "cubic" && rules.padding == "border";
    const Number whole =
        static_cast<Number>(random.Int(inside ? 0 : -2, static_cast<int64_t>(size) - (inside ? 2 : -1)));
    const Number place = whole + random.Pick<Number>({0.1L, 0.3L, 0.4L, 0.6L, 0.8L});
    grid[i] = Round(grid.type, rules.corners ? 2 * place / (size - 1) - 1 : (2 * place + 1) / size - 1);
  }
  c.Input(x);
  c.Input(grid);
  Array y(type, out);
  ForEachIndex(out, [&](const Dims& index, int64_t i) {
    Dims cell = {index[0]};
    cell.insert(cell.end(), index.begin() + 2, index.end());
    cell.push_back(0);
    std::vector<Taps> taps = {{{index[0], 1}}, {{index[1], 1}}};
    for (int64_t axis = 0; axis < spatial; ++axis) {
      cell.back() = spatial - 1 - axis;
      taps.push_back(GridTaps(rules, grid.At(cell), dims[static_cast<size_t>(axis + 2)]));
    }
    std::vector<const Taps*> own;
    for (const Taps& list : taps) own.push_back(&list);
    Dims at(index.size());
    y[i] = Sum(x, &at, own, 0);
  });
  c.Output(y, rules.mode == "nearest" ? Bound{} : Sampled(y));
}

}  // namespace

std::vector<OperatorCases> ImageOperators() {
  return {
      {"GridSample", "", GridSample},
      {"Resize", "", Resize, BadResize},
      {"Upsample", "", Upsample},
  };
}

}  // namespace epiphyte::operators
