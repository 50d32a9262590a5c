// Operators that move a window over an image: convolutions and pools.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"
#include "host/conformance/operators/windows.h"

namespace epiphyte::operators {
namespace {

// Error bound of a sum of products, in steps, as in product.cpp.
Bound OfTerms(DataType type, Number terms, std::vector<Number> sizes) {
  if (type == DataType::kFloat16 || type == DataType::kBfloat16) return {.ulps = 2, .sizes = std::move(sizes)};
  return {.ulps = 4 + std::sqrt(terms), .sizes = std::move(sizes)};
}

// Replaces weights that are not finite. ONNX doesn't define whether padding times such a weight is NaN or left out.
void MakeFinite(Array& weights) {
  for (Number& weight : weights.values)
    if (!std::isfinite(weight)) weight = 1;
}

void Conv(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const int64_t rank = random.Pick({1, 2, 2, 2, 2, 3});
  const bool depthwise = random.Chance(20);
  const int64_t groups = depthwise ? random.SizeButNotZero(40) : random.Pick({1, 1, 1, 2, 3});
  const int64_t in_each = depthwise ? 1 : random.SizeButNotZero(rank == 3 ? 8 : 35);
  const int64_t out_each = depthwise ? random.Pick({1, 1, 2}) : random.SizeButNotZero(rank == 3 ? 8 : 35);
  const Windows windows = RandomWindows(random, c, {.rank = rank, .most_image = rank == 3 ? 7 : 12});
  if (groups > 1 || random.Chance(30)) c.Set("group", groups);
  Dims x_dims = {random.Size(3), groups * in_each};
  Dims w_dims = {groups * out_each, in_each};
  x_dims.insert(x_dims.end(), windows.image.begin(), windows.image.end());
  w_dims.insert(w_dims.end(), windows.kernel.begin(), windows.kernel.end());
  const Array x = random.Values(type, x_dims, Draw::kPlain);
  Array w = random.Values(type, w_dims, Draw::kPlain);
  if (windows.HasPadding()) MakeFinite(w);
  Array bias(type, {groups * out_each});
  c.Input(x);
  c.Input(w);
  if (random.Chance(60)) {
    bias = random.Values(type, bias.dims, Draw::kPlain);
    c.Input(bias);
  }
  Dims y_dims = {x_dims[0], w_dims[0]};
  y_dims.insert(y_dims.end(), windows.out.begin(), windows.out.end());
  Array y(type, y_dims);
  std::vector<Number> sizes(y.values.size());
  const int64_t x_plane = CountOf(windows.image);
  const int64_t w_plane = CountOf(windows.kernel);
  ForEachIndex(y_dims, [&](const Dims& index, int64_t i) {
    const int64_t channel = index[1];
    const int64_t first = channel / out_each * in_each;
    y[i] = bias[channel];
    sizes[static_cast<size_t>(i)] = std::fabs(bias[channel]);
    windows.ForEachTap(Dims(index.begin() + 2, index.end()), [&](int64_t tap, int64_t pixel) {
      for (int64_t j = 0; j < in_each; ++j) {
        const Number term =
            x[(index[0] * x_dims[1] + first + j) * x_plane + pixel] * w[(channel * in_each + j) * w_plane + tap];
        y[i] += term;
        sizes[static_cast<size_t>(i)] += std::fabs(term);
      }
    });
  });
  c.Output(y, OfTerms(type, static_cast<Number>(in_each * w_plane), std::move(sizes)));
}

void BadConv(Random& random, Case& c) {
  const int64_t channels = random.Int(1, 6);
  const bool wrong_channels = random.Chance(50);
  c.Input(random.Values(DataType::kFloat, {1, channels, 4, 4}, Draw::kPlain));
  c.Input(random.Values(DataType::kFloat, {3, channels + wrong_channels, wrong_channels ? 3 : 9, random.Int(1, 3)},
                        Draw::kPlain));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void ConvTranspose(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const int64_t rank = random.Pick({1, 2, 2, 2, 3});
  const int64_t groups = random.Pick({1, 1, 1, 2, 3});
  const int64_t in_each = random.SizeButNotZero(rank == 3 ? 5 : 20);
  const int64_t out_each = random.SizeButNotZero(rank == 3 ? 5 : 20);
  if (groups > 1 || random.Chance(30)) c.Set("group", groups);
  Dims image, kernel, strides, dilations, begin, end, added, out, spans;
  for (int64_t axis = 0; axis < rank; ++axis) {
    image.push_back(random.Int(1, rank == 3 ? 5 : 9));
    kernel.push_back(random.Int(1, 4));
    strides.push_back(random.Int(1, 3));
    dilations.push_back(random.Chance(75) ? 1 : random.Int(1, 3));
    added.push_back(random.Int(0, std::max(strides.back(), dilations.back()) - 1));
    spans.push_back(strides.back() * (image.back() - 1) + added.back() + (kernel.back() - 1) * dilations.back() + 1);
    begin.push_back(std::min<int64_t>(random.Int(0, kernel.back() - 1), (spans.back() - 1) / 2));
    end.push_back(std::min<int64_t>(random.Int(0, kernel.back() - 1), (spans.back() - 1) / 2));
  }
  const auto all = [](const Dims& list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t element) { return element == value; });
  };
  if (random.Chance(50)) c.Set("kernel_shape", kernel);
  if (!all(strides, 1) || random.Chance(50)) c.Set("strides", strides);
  if (!all(dilations, 1) || random.Chance(30)) c.Set("dilations", dilations);
  if (!all(added, 0) || random.Chance(30)) c.Set("output_padding", added);
  const bool by_shape = random.Chance(25);
  const bool upper = by_shape && random.Chance(50);
  for (int64_t axis = 0; axis < rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t total = begin[i] + end[i];
    out.push_back(spans[i] - total);
    if (!by_shape) continue;
    begin[i] = upper ? total / 2 : total - total / 2;
    end[i] = total - begin[i];
  }
  if (by_shape) {
    c.Set("output_shape", out);
    if (upper) c.Set("auto_pad", "SAME_UPPER");
  } else {
    Dims pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    if (!all(pads, 0) || random.Chance(30)) c.Set("pads", pads);
  }
  Dims x_dims = {random.Size(3), groups * in_each};
  Dims w_dims = {groups * in_each, out_each};
  Dims y_dims = {x_dims[0], groups * out_each};
  x_dims.insert(x_dims.end(), image.begin(), image.end());
  w_dims.insert(w_dims.end(), kernel.begin(), kernel.end());
  y_dims.insert(y_dims.end(), out.begin(), out.end());
  const Array x = random.Values(type, x_dims, Draw::kPlain);
  Array w = random.Values(type, w_dims, Draw::kPlain);
  MakeFinite(w);  // a provider may compute this as a convolution of the image with zeros between and around its pixels
  Array bias(type, {groups * out_each});
  c.Input(x);
  c.Input(w);
  if (random.Chance(60)) {
    bias = random.Values(type, bias.dims, Draw::kPlain);
    c.Input(bias);
  }
  Array y(type, y_dims);
  std::vector<Number> sizes(y.values.size());
  ForEachIndex(y_dims, [&](const Dims& index, int64_t i) {
    y[i] = bias[index[1]];
    sizes[static_cast<size_t>(i)] = std::fabs(y[i]);
  });
  const Dims y_strides = StridesOf(y_dims);
  // The kernel spreads each pixel over the output.
  ForEachIndex(x_dims, [&](const Dims& from, int64_t source) {
    ForEachIndex(kernel, [&](const Dims& tap, int64_t) {
      int64_t to = from[0] * y_strides[0];
      for (size_t axis = 0; axis < tap.size(); ++axis) {
        const int64_t place = from[axis + 2] * strides[axis] + tap[axis] * dilations[axis] - begin[axis];
        if (place < 0 || place >= out[axis]) return;
        to += place * y_strides[axis + 2];
      }
      for (int64_t j = 0; j < out_each; ++j) {
        Dims weight = {from[1], j};
        weight.insert(weight.end(), tap.begin(), tap.end());
        const Number term = x[source] * w.At(weight);
        const int64_t at = to + (from[1] / in_each * out_each + j) * y_strides[1];
        y[at] += term;
        sizes[static_cast<size_t>(at)] += std::fabs(term);
      }
    });
  });
  c.Output(y, OfTerms(type, static_cast<Number>(in_each * CountOf(kernel)), std::move(sizes)));
}

struct Image {
  Array x;
  Dims out_dims;
};

Image ImageFor(Random& random, DataType type, const Windows& windows) {
  Dims dims = {random.Size(3), random.SizeButNotZero(20)};
  dims.insert(dims.end(), windows.image.begin(), windows.image.end());
  Dims out(dims.begin(), dims.begin() + 2);
  out.insert(out.end(), windows.out.begin(), windows.out.end());
  return {random.Values(type, dims, Draw::kPlain), out};
}

void MaxPool(Random& random, Case& c) {
  c.opset = random.Pick({12, 22});
  DataType type = random.Chance(80) ? random.FloatType() : random.Pick({DataType::kInt8, DataType::kUint8});
  if (type == DataType::kBfloat16) c.opset = 22;
  const int64_t rank = random.Pick({1, 2, 2, 2, 3});
  const Windows windows = RandomWindows(
      random, c, {.rank = rank, .most_image = rank == 3 ? 9 : 20, .pool = true, .ceil = true, .shape_needed = true});
  const Image made = ImageFor(random, type, windows);
  const Array& x = made.x;
  c.Input(x);
  const bool columns = random.Chance(20);
  if (columns) c.Set("storage_order", 1);
  Array y(type, made.out_dims);
  Array places(DataType::kInt64, made.out_dims);
  const int64_t plane = CountOf(windows.image);
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    const int64_t start = (index[0] * x.dims[1] + index[1]) * plane;
    bool first = true;
    windows.ForEachTap(Dims(index.begin() + 2, index.end()), [&](int64_t, int64_t pixel) {
      // The first NaN of a window counts.
      if (!first && (std::isnan(y[i]) || x[start + pixel] <= y[i])) return;
      first = false;
      y[i] = x[start + pixel];
      int64_t place = pixel;
      if (columns) {
        place = 0;
        int64_t left = pixel;
        int64_t step = plane;
        for (size_t axis = windows.image.size(); axis-- > 0;) {
          step /= windows.image[axis];
          place += left % windows.image[axis] * step;
          left /= windows.image[axis];
        }
      }
      places[i] = static_cast<Number>(start + place);
    });
  });
  c.Output(y);
  if (columns || random.Chance(40)) c.Output(places);
}

void AveragePool(Random& random, Case& c) {
  c.opset = random.Pick({19, 22});
  DataType type = random.FloatType();
  if (type == DataType::kBfloat16) c.opset = 22;
  const int64_t rank = random.Pick({1, 2, 2, 2, 3});
  const Windows windows = RandomWindows(
      random, c, {.rank = rank, .most_image = rank == 3 ? 9 : 20, .pool = true, .ceil = true, .shape_needed = true});
  const bool with_padding = random.Chance(40);
  if (with_padding || random.Chance(30)) c.Set("count_include_pad", with_padding);
  const Image made = ImageFor(random, type, windows);
  const Array& x = made.x;
  c.Input(x);
  Array y(type, made.out_dims);
  std::vector<Number> sizes;
  const int64_t plane = CountOf(windows.image);
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    const Dims at(index.begin() + 2, index.end());
    int64_t count = 0;
    Number size = 0;
    windows.ForEachTap(at, [&](int64_t, int64_t pixel) {
      const Number value = x[(index[0] * x.dims[1] + index[1]) * plane + pixel];
      y[i] += value;
      size += std::fabs(value);
      ++count;
    });
    if (with_padding) count = windows.CountPadded(at);
    y[i] /= static_cast<Number>(count);
    sizes.push_back(size / static_cast<Number>(count));
  });
  c.Output(y, OfTerms(type, static_cast<Number>(CountOf(windows.kernel)), std::move(sizes)));
}

void LpPool(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const int64_t rank = random.Pick({1, 2, 2, 3});
  const Windows windows = RandomWindows(
      random, c, {.rank = rank, .most_image = rank == 3 ? 9 : 20, .pool = true, .ceil = true, .shape_needed = true});
  const int64_t p = random.Chance(50) ? 2 : random.Int(1, 4);
  if (p != 2 || random.Chance(50)) c.Set("p", p);
  const Image made = ImageFor(random, type, windows);
  const Array& x = made.x;
  c.Input(x);
  Array y(type, made.out_dims);
  const int64_t plane = CountOf(windows.image);
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    windows.ForEachTap(Dims(index.begin() + 2, index.end()), [&](int64_t, int64_t pixel) {
      y[i] += std::pow(std::fabs(x[(index[0] * x.dims[1] + index[1]) * plane + pixel]), static_cast<Number>(p));
    });
    y[i] = std::pow(y[i], 1 / static_cast<Number>(p));
  });
  c.Output(y, OfTerms(type, static_cast<Number>(CountOf(windows.kernel)) + 64, {}));
}

// Pools over whole planes.
template <typename F>
void Global(Random& random, Case& c, Number steps, const F& function, bool of_bfloat16 = true) {
  DataType type = random.FloatType();
  if (type == DataType::kBfloat16 && !of_bfloat16) type = DataType::kFloat16;
  Dims dims = {random.Size(4), random.Size(30)};
  const int64_t rank = random.Int(1, 3);
  for (int64_t axis = 0; axis < rank; ++axis) dims.push_back(random.Int(1, rank == 3 ? 8 : 20));
  const Array x = random.Values(type, dims, Draw::kPlain);
  c.Input(x);
  Dims y_dims = dims;
  std::fill(y_dims.begin() + 2, y_dims.end(), 1);
  Array y(type, y_dims);
  const int64_t plane = CountOf(Dims(dims.begin() + 2, dims.end()));
  std::vector<Number> sizes;
  for (int64_t i = 0; i < y.count(); ++i) {
    const std::vector<Number> of(x.values.begin() + i * plane, x.values.begin() + (i + 1) * plane);
    Number size = 0;
    for (Number value : of) size += std::fabs(value);
    y[i] = function(of);
    sizes.push_back(size / static_cast<Number>(plane));
  }
  Bound bound = OfTerms(type, static_cast<Number>(plane) + steps, std::move(sizes));
  if (steps == 0) bound = {};
  c.Output(y, bound);
}
void GlobalMaxPool(Random& random, Case& c) {
  Global(random, c, 0, [](const std::vector<Number>& x) {
    return std::accumulate(x.begin(), x.end(), -std::numeric_limits<Number>::infinity(), LargerOf);
  });
}
void GlobalAveragePool(Random& random, Case& c) {
  Global(random, c, 1, [](const std::vector<Number>& x) {
    Number sum = 0;
    for (Number value : x) sum += value;
    return sum / static_cast<Number>(x.size());
  });
}
void GlobalLpPool(Random& random, Case& c) {
  const int64_t p = random.Chance(50) ? 2 : random.Int(1, 4);
  if (p != 2 || random.Chance(50)) c.Set("p", p);
  Global(
      random, c, 64,
      [p](const std::vector<Number>& x) {
        Number sum = 0;
        for (Number value : x) sum += std::pow(std::fabs(value), static_cast<Number>(p));
        return std::pow(sum, 1 / static_cast<Number>(p));
      },
      false);
}

void Col2Im(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const int64_t rank = random.Int(1, 3);
  const Windows windows = RandomWindows(random, c, {.rank = rank, .most_image = 8, .no_auto = true});
  c.attributes.erase("kernel_shape");
  const int64_t channels = random.Int(1, 4);
  const int64_t taps = CountOf(windows.kernel);
  const Array x = random.Values(type, {random.Size(3), channels * taps, CountOf(windows.out)}, Draw::kPlain);
  c.Input(x);
  c.Input(Int64Array(windows.image));
  c.Input(Int64Array(windows.kernel));
  Dims dims = {x.dims[0], channels};
  dims.insert(dims.end(), windows.image.begin(), windows.image.end());
  Array y(type, dims);
  std::vector<Number> sizes(y.values.size());
  const int64_t plane = CountOf(windows.image);
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      ForEachIndex(windows.out, [&](const Dims& at, int64_t block) {
        windows.ForEachTap(at, [&](int64_t tap, int64_t pixel) {
          const Number value = x[(n * x.dims[1] + channel * taps + tap) * x.dims[2] + block];
          y[(n * channels + channel) * plane + pixel] += value;
          sizes[static_cast<size_t>((n * channels + channel) * plane + pixel)] += std::fabs(value);
        });
      });
    }
  }
  // The sum is computed in its own type.
  c.Output(y, {.ulps = 4 + static_cast<Number>(taps), .sizes = std::move(sizes)});
}

void MaxUnpool(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const Dims image = {random.Int(1, 5), random.Int(1, 5)};
  const Dims kernel = {random.Int(1, 3), random.Int(1, 3)};
  const Dims strides = {random.Int(1, 3), random.Int(1, 3)};
  c.Set("kernel_shape", kernel);
  if (strides != Dims{1, 1} || random.Chance(50)) c.Set("strides", strides);
  Dims dims = {random.Int(1, 3), random.Int(1, 4), image[0], image[1]};
  const Dims made = {dims[0], dims[1], (image[0] - 1) * strides[0] + kernel[0],
                     (image[1] - 1) * strides[1] + kernel[1]};
  // No two elements go to the same place.
  std::vector<int64_t> places;
  for (int64_t i = 0; i < CountOf(made); ++i) places.push_back(i);
  random.Shuffle(&places);
  const Array x = random.Values(type, dims, Draw::kPlain);
  Array indices(DataType::kInt64, dims);
  for (int64_t i = 0; i < indices.count(); ++i) indices[i] = static_cast<Number>(places[static_cast<size_t>(i)]);
  c.Input(x);
  c.Input(indices);
  Array y(type, made);
  for (int64_t i = 0; i < x.count(); ++i) y[places[static_cast<size_t>(i)]] = x[i];
  if (random.Chance(30)) c.Input(Int64Array(made));
  c.Output(y);
}

void BadMaxUnpool(Random& random, Case& c) {
  const Dims dims = {1, 1, 2, 2};
  c.Set("kernel_shape", Dims{2, 2});
  c.Set("strides", Dims{2, 2});
  c.Input(random.Values(DataType::kFloat, dims, Draw::kPlain));
  Array indices = random.Integers(DataType::kInt64, dims, 0, 15);
  indices[random.Int(0, 3)] = static_cast<Number>(random.Chance(50) ? random.Int(16, 1000) : random.Int(-1000, -1));
  c.Input(indices);
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

}  // namespace

std::vector<OperatorCases> WindowOperators() {
  return {
      {"AveragePool", "", AveragePool},
      {"Col2Im", "", Col2Im},
      {"Conv", "", Conv, BadConv},
      {"ConvTranspose", "", ConvTranspose},
      {"GlobalAveragePool", "", GlobalAveragePool},
      {"GlobalLpPool", "", GlobalLpPool},
      {"GlobalMaxPool", "", GlobalMaxPool},
      {"LpPool", "", LpPool},
      {"MaxPool", "", MaxPool},
      {"MaxUnpool", "", MaxUnpool, BadMaxUnpool},
  };
}

}  // namespace epiphyte::operators
