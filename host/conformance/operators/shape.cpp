// Operators that change shapes, and operators that move elements by their positions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

// Moved elements stay unchanged, including the sign of zeros.
constexpr bool kSigns = true;
Bound Moved() { return {.signs = kSigns}; }

// Replaces bfloat16 for operators that have no version with it.
DataType NotBfloat16(DataType type) { return type == DataType::kBfloat16 ? DataType::kFloat16 : type; }

Array AnyArray(Random& random, const Dims& dims) { return random.Values(random.AnyType(), dims, Draw::kAll); }

// An array of shape `dims`. The element at each index is the element of x at from(index).
template <typename F>
Array Rearranged(const Array& x, const Dims& dims, const F& from) {
  Array y(x.type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) { y[i] = x.At(from(index)); });
  return y;
}

Array Reshaped(Array x, Dims dims) {
  x.dims = std::move(dims);
  return x;
}

void Identity(Random& random, Case& c) {
  const Array x = AnyArray(random, random.Shape(0, 5));
  c.Input(x);
  c.Output(x, Moved());
}

void Transpose(Random& random, Case& c) {
  const Array x = AnyArray(random, random.Shape(0, 5, 60000));
  c.Input(x);
  std::vector<int64_t> perm;
  for (int64_t axis = x.rank(); axis-- > 0;) perm.push_back(axis);
  if (random.Chance(80)) {
    random.Shuffle(&perm);
    c.Set("perm", perm);
  }
  Dims dims;
  for (int64_t axis : perm) dims.push_back(x.dims[static_cast<size_t>(axis)]);
  c.Output(Rearranged(x, dims,
                      [&](const Dims& index) {
                        Dims from(index.size());
                        for (size_t axis = 0; axis < perm.size(); ++axis) from[static_cast<size_t>(perm[axis])] = index[axis];
                        return from;
                      }),
           Moved());
}

// Returns another shape with the same number of elements.
Dims Regrouped(Random& random, int64_t count) {
  Dims dims;
  while (count > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= std::min<int64_t>(count, 64); ++d)
      if (count % d == 0) divisors.push_back(d);
    const int64_t dim = divisors.empty() || dims.size() == 3 ? count : random.Pick(divisors);
    dims.push_back(dim);
    count /= dim;
  }
  while (random.Chance(25)) dims.insert(dims.begin() + random.Int(0, static_cast<int64_t>(dims.size())), 1);
  return dims;
}

void Reshape(Random& random, Case& c) {
  c.opset = random.Int(14, 21);
  const Array x = AnyArray(random, random.Shape(0, 5));
  Dims dims;
  std::vector<int64_t> shape;
  if (x.count() == 0) {
    dims = x.dims;
    random.Shuffle(&dims);
    shape = dims;
    c.Set("allowzero", 1);
  } else {
    dims = Regrouped(random, x.count());
    shape = dims;
    for (size_t i = 0; i < dims.size() && i < x.dims.size(); ++i)
      if (dims[i] == x.dims[i] && random.Chance(30)) shape[i] = 0;
    if (!shape.empty() && random.Chance(40)) shape[static_cast<size_t>(random.Int(0, static_cast<int64_t>(shape.size()) - 1))] = -1;
    if (random.Chance(20)) c.Set("allowzero", 0);
  }
  c.Input(x);
  c.Input(Int64Array(shape));
  c.Output(Reshaped(x, dims), Moved());
}

void BadReshape(Random& random, Case& c) {
  const Array x = random.Values(DataType::kFloat, random.ShapeWithoutZero(1, 3), Draw::kPlain);
  c.Input(x);
  const int64_t more = x.count() + random.Int(1, 100);
  c.Input(Int64Array(random.Pick<std::vector<int64_t>>({{more}, {-1, more}, {-1, -1}, {-2, x.count()}, {INT64_MAX, 2}, {0, 0, 0, 0, 0}})));
  c.Output(Array(x.type, {0}));
  c.MustFail();
}

void Flatten(Random& random, Case& c) {
  c.opset = random.Int(13, 21);
  const Array x = AnyArray(random, random.Shape(0, 5));
  const int64_t axis = random.Chance(40) && x.rank() >= 1 ? 1 : random.Int(0, x.rank());
  if (axis != 1 || random.Chance(50)) c.Set("axis", axis == x.rank() ? axis : random.MaybeNegative(axis, x.rank()));
  c.Input(x);
  c.Output(Reshaped(x, {CountOf(Dims(x.dims.begin(), x.dims.begin() + axis)), CountOf(Dims(x.dims.begin() + axis, x.dims.end()))}),
           Moved());
}

void Squeeze(Random& random, Case& c) {
  c.opset = random.Int(13, 21);
  Dims dims = random.Shape(0, 4);
  for (int64_t& dim : dims)
    if (random.Chance(30)) dim = 1;
  const Array x = AnyArray(random, dims);
  c.Input(x);
  std::vector<int64_t> axes;
  const bool all = random.Chance(30);
  Dims left;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t dim = dims[static_cast<size_t>(axis)];
    if (dim == 1 && (all || random.Chance(60))) {
      axes.push_back(random.MaybeNegative(axis, x.rank()));
    } else {
      left.push_back(dim);
    }
  }
  random.Shuffle(&axes);
  // Without an input for the axes, all axes of size 1 are removed.
  if (!all) c.Input(Int64Array(axes));
  c.Output(Reshaped(x, left), Moved());
}

void Unsqueeze(Random& random, Case& c) {
  c.opset = random.Int(13, 21);
  const Array x = AnyArray(random, random.Shape(0, 3));
  const int64_t rank = x.rank() + random.Int(1, 3);
  std::vector<int64_t> places = random.Axes(rank, rank);
  places.resize(static_cast<size_t>(rank - x.rank()));
  Dims dims;
  size_t next = 0;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const bool added = std::find(places.begin(), places.end(), axis) != places.end();
    dims.push_back(added ? 1 : x.dims[next++]);
  }
  for (int64_t& axis : places) axis = random.MaybeNegative(axis, rank);
  c.Input(x);
  c.Input(Int64Array(places));
  c.Output(Reshaped(x, dims), Moved());
}

void BadAxes(Random& random, Case& c) {
  c.opset = 13;
  c.Input(random.Values(DataType::kFloat, {2, 3}, Draw::kPlain));
  c.Input(Int64Array({random.Pick<int64_t>({7, -8, INT64_MAX, INT64_MIN})}));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Concat(Random& random, Case& c) {
  c.opset = 13;
  const DataType type = random.AnyType();
  const Dims dims = random.Shape(1, 5, 5000);
  const int64_t axis = random.Int(0, static_cast<int64_t>(dims.size()) - 1);
  c.Set("axis", random.MaybeNegative(axis, static_cast<int64_t>(dims.size())));
  std::vector<Array> inputs;
  Dims all = dims;
  all[static_cast<size_t>(axis)] = 0;
  const int64_t count = random.Int(1, 5);
  for (int64_t i = 0; i < count; ++i) {
    Dims own = dims;
    own[static_cast<size_t>(axis)] = random.Size(12);
    all[static_cast<size_t>(axis)] += own[static_cast<size_t>(axis)];
    inputs.push_back(random.Values(type, own, Draw::kAll));
    c.Input(inputs.back());
  }
  Array y(type, all);
  ForEachIndex(all, [&](const Dims& index, int64_t i) {
    Dims at = index;
    int64_t& place = at[static_cast<size_t>(axis)];
    size_t input = 0;
    while (place >= inputs[input].dims[static_cast<size_t>(axis)]) place -= inputs[input++].dims[static_cast<size_t>(axis)];
    y[i] = inputs[input].At(at);
  });
  c.Output(y, Moved());
}

void BadConcat(Random& random, Case& c) {
  c.Set("axis", random.Pick({0, 1, 5, -4}));
  c.Input(random.Values(DataType::kFloat, {2, 3}, Draw::kPlain));
  c.Input(random.Values(DataType::kFloat, random.Chance(50) ? Dims{4, 5} : Dims{2}, Draw::kPlain));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Split(Random& random, Case& c) {
  c.opset = 18;
  const Array x = AnyArray(random, random.Shape(1, 5));
  const int64_t axis = random.Chance(40) ? 0 : random.Int(0, x.rank() - 1);
  if (axis != 0 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  c.Input(x);
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  std::vector<int64_t> parts;
  if (random.Chance(50)) {
    const int64_t most = std::max<int64_t>(1, std::min<int64_t>(size, 5));
    int64_t count = random.Int(1, most);
    // All parts but the last have the largest possible size.
    const int64_t each = (size + count - 1) / count;
    while (count > 1 && each * (count - 1) >= size) --count;
    const int64_t part = (size + count - 1) / count;
    if (part * (count - 1) > size) count = 1;
    for (int64_t i = 0; i < count; ++i) parts.push_back(std::min((size + count - 1) / count, size - (size + count - 1) / count * i));
    c.Set("num_outputs", count);
  } else {
    const int64_t count = random.Int(1, 5);
    int64_t left = size;
    for (int64_t i = 1; i < count; ++i) {
      parts.push_back(random.Int(0, left));
      left -= parts.back();
    }
    parts.push_back(left);
    c.Input(Int64Array(parts));
  }
  int64_t begin = 0;
  for (int64_t part : parts) {
    Dims dims = x.dims;
    dims[static_cast<size_t>(axis)] = part;
    c.Output(Rearranged(x, dims,
                        [&](Dims index) {
                          index[static_cast<size_t>(axis)] += begin;
                          return index;
                        }),
             Moved());
    begin += part;
  }
}

void BadSplit(Random& random, Case& c) {
  c.opset = 18;
  c.Input(random.Values(DataType::kFloat, {7, 3}, Draw::kPlain));
  c.Input(Int64Array(random.Pick<std::vector<int64_t>>({{3, 5}, {8, -1}, {2, 3}, {INT64_MAX, INT64_MAX}})));
  c.Output(Array(DataType::kFloat, {0}));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Tile(Random& random, Case& c) {
  c.opset = 13;
  const Array x = AnyArray(random, random.Shape(0, 5, 500));
  std::vector<int64_t> repeats;
  Dims dims = x.dims;
  for (int64_t& dim : dims) {
    repeats.push_back(random.Chance(3) ? 0 : random.Int(1, 4));
    dim *= repeats.back();
  }
  c.Input(x);
  c.Input(Int64Array(repeats));
  c.Output(Rearranged(x, dims,
                      [&](Dims index) {
                        for (size_t axis = 0; axis < index.size(); ++axis) index[axis] %= x.dims[axis];
                        return index;
                      }),
           Moved());
}

void BadTile(Random& random, Case& c) {
  c.Input(random.Values(DataType::kFloat, {2, 3}, Draw::kPlain));
  c.Input(Int64Array(random.Pick<std::vector<int64_t>>({{1, -1}, {1}, {1, 2, 3}, {int64_t{1} << 61, 8}, {int64_t{1} << 40, int64_t{1} << 20}})));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Expand(Random& random, Case& c) {
  c.opset = 13;
  const Dims dims = random.Shape(0, 5, 5000);
  const Array x = AnyArray(random, PartOf(random, dims));
  c.Input(x);
  // A 1 in the shape keeps the size of the input.
  Dims shape = dims;
  const size_t skipped = dims.size() - x.dims.size();
  for (size_t axis = skipped; axis < dims.size(); ++axis)
    if (x.dims[axis - skipped] == dims[axis] && random.Chance(30)) shape[axis] = 1;
  c.Input(Int64Array(shape));
  c.Output(SpreadTo(x, dims), Moved());
}

void BadExpand(Random& random, Case& c) {
  c.Input(random.Values(DataType::kFloat, {2, 3}, Draw::kPlain));
  c.Input(Int64Array(random.Pick<std::vector<int64_t>>({{2, 4}, {-1, 3}, {5, 1}, {int64_t{1} << 62, 2, 3}, {int64_t{1} << 50, 2, 3}})));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

template <bool kToSpace>
void Space(Random& random, Case& c) {
  c.opset = 13;
  const int64_t block = random.Int(1, 4);
  const int64_t n = random.Size(3);
  const int64_t channels = random.Int(1, 20);
  const int64_t height = random.Int(1, 8);
  const int64_t width = random.Int(1, 8);
  c.Set("blocksize", block);
  const bool crd = kToSpace && random.Chance(50);
  if (crd) c.Set("mode", "CRD");
  if (kToSpace && !crd && random.Chance(50)) c.Set("mode", "DCR");
  const Dims deep = {n, channels * block * block, height, width};
  const Dims wide = {n, channels, height * block, width * block};
  // Returns the channel position in the deep array of an element of the wide array.
  const auto depth_of = [&](const Dims& index) {
    const int64_t place = index[2] % block * block + index[3] % block;
    const int64_t channel = crd ? index[1] * block * block + place : place * channels + index[1];
    return Dims{index[0], channel, index[2] / block, index[3] / block};
  };
  const DataType type = random.NumberType();
  const Array x = random.Values(type, kToSpace ? deep : wide, Draw::kAll);
  c.Input(x);
  if (kToSpace) {
    c.Output(Rearranged(x, wide, depth_of), Moved());
  } else {
    Array y(type, deep);
    ForEachIndex(wide, [&](const Dims& index, int64_t i) { y.At(depth_of(index)) = x[i]; });
    c.Output(y, Moved());
  }
}

void ShapeOf(Random& random, Case& c) {
  c.opset = random.Int(15, 21);
  const Array x = AnyArray(random, random.Shape(0, 5));
  c.Input(x);
  int64_t start = 0;
  int64_t end = x.rank();
  const auto clamped = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + x.rank() : axis, 0, x.rank()); };
  if (random.Chance(50)) {
    const int64_t given = random.Int(-7, 7);
    c.Set("start", given);
    start = clamped(given);
  }
  if (random.Chance(50)) {
    const int64_t given = random.Int(-7, 7);
    c.Set("end", given);
    end = clamped(given);
  }
  c.Output(Int64Array(start < end ? Dims(x.dims.begin() + start, x.dims.begin() + end) : Dims{}));
}

void SizeOf(Random& random, Case& c) {
  const Array x = AnyArray(random, random.Shape(0, 5));
  c.Input(x);
  c.Output(Scalar(DataType::kInt64, static_cast<Number>(x.count())));
}

void Slice(Random& random, Case& c) {
  c.opset = 13;
  const Array x = AnyArray(random, random.Shape(1, 5));
  const DataType type = random.Pick({DataType::kInt64, DataType::kInt32});
  const int64_t most = type == DataType::kInt64 ? INT64_MAX : INT32_MAX;
  const bool all = random.Chance(30);
  std::vector<int64_t> axes = random.Axes(x.rank(), 1);
  if (all) {
    std::sort(axes.begin(), axes.end());
    axes.resize(static_cast<size_t>(random.Int(1, x.rank())));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const bool stepped = random.Chance(60);
  std::vector<int64_t> starts, ends, steps, first(x.dims.size(), 0), step_of(x.dims.size(), 1);
  Dims dims = x.dims;
  for (int64_t axis : axes) {
    const int64_t size = x.dims[static_cast<size_t>(axis)];
    const auto end_of = [&] {
      if (random.Chance(15)) return random.Pick<int64_t>({most, -most, most - 1, -most - 1});
      return random.Int(-size - 2, size + 2);
    };
    starts.push_back(random.Chance(40) ? 0 : end_of());
    ends.push_back(random.Chance(30) ? most : end_of());
    steps.push_back(!stepped ? 1 : random.Chance(5) ? random.Pick({most, -most}) : random.Pick<int64_t>({1, 2, 3, -1, -1, -2, 7}));
    const int64_t step = steps.back();
    int64_t start = starts.back() < 0 ? starts.back() + size : starts.back();
    int64_t end = ends.back() < 0 ? ends.back() + size : ends.back();
    start = step > 0 ? std::clamp<int64_t>(start, 0, size) : std::clamp<int64_t>(start, -1, size - 1);
    end = step > 0 ? std::clamp<int64_t>(end, 0, size) : std::clamp<int64_t>(end, -1, size - 1);
    // Python gives nothing here, but ONNX clamps the start to the first element.
    if (step < 0 && start < 0) start = size > 0 ? 0 : -1;
    int64_t count = 0;
    for (__int128 at = start; step > 0 ? at < end : at > end; at += step) ++count;
    dims[static_cast<size_t>(axis)] = count;
    first[static_cast<size_t>(axis)] = start;
    step_of[static_cast<size_t>(axis)] = step;
  }
  const auto list = [&](const std::vector<int64_t>& values) {
    Array array = Int64Array(values);
    array.type = type;
    return array;
  };
  c.Input(x);
  c.Input(list(starts));
  c.Input(list(ends));
  if (!all) {
    std::vector<int64_t> told;
    for (int64_t axis : axes) told.push_back(random.MaybeNegative(axis, x.rank()));
    c.Input(list(told));
  } else if (stepped) {
    c.NoInput();
  }
  if (stepped) c.Input(list(steps));
  c.Output(Rearranged(x, dims,
                      [&](Dims index) {
                        for (size_t axis = 0; axis < index.size(); ++axis)
                          index[axis] = first[axis] + index[axis] * step_of[axis];
                        return index;
                      }),
           Moved());
}

void BadSlice(Random& random, Case& c) {
  c.opset = 13;
  c.Input(random.Values(DataType::kFloat, {4, 3}, Draw::kPlain));
  const int64_t kind = random.Int(0, 3);
  c.Input(Int64Array({0}));
  c.Input(kind == 0 ? Int64Array({1, 2}) : Int64Array({2}));
  c.Input(kind == 1 ? Int64Array({random.Pick<int64_t>({2, -3, INT64_MAX, INT64_MIN})}) : Int64Array({1}));
  c.Input(kind == 2 ? Int64Array({0}) : kind == 3 ? Int64Array({1, 1}) : Int64Array({1}));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Pad(Random& random, Case& c) {
  c.opset = random.Pick({13, 18, 19, 21});
  DataType type = random.AnyType();
  const Array x = random.Values(type, random.Shape(1, 5, 3000), Draw::kAll);
  std::vector<std::string> modes = {"constant", "constant", "edge", "reflect"};
  if (c.opset >= 19) modes.push_back("wrap");
  std::string mode = random.Pick(modes);
  if (x.count() == 0) mode = "constant";
  if (mode != "constant" || random.Chance(50)) c.Set("mode", mode);
  const bool some = c.opset >= 18 && random.Chance(40);
  std::vector<int64_t> axes = some ? random.Axes(x.rank(), 1) : std::vector<int64_t>{};
  if (!some)
    for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  std::vector<int64_t> begins, ends, begin_of(x.dims.size(), 0);
  Dims dims = x.dims;
  for (int64_t axis : axes) {
    const int64_t size = x.dims[static_cast<size_t>(axis)];
    const int64_t most = mode == "reflect" ? std::min<int64_t>(size - 1, 6) : mode == "wrap" ? std::min<int64_t>(size, 6) : 6;
    begins.push_back(random.Chance(40) ? 0 : random.Int(0, most));
    ends.push_back(random.Chance(40) ? 0 : random.Int(0, most));
    if (mode == "constant" && random.Chance(15)) begins.back() = -random.Int(0, size);
    if (mode == "constant" && random.Chance(15)) ends.back() = -random.Int(0, size + std::min<int64_t>(begins.back(), 0));
    begin_of[static_cast<size_t>(axis)] = begins.back();
    dims[static_cast<size_t>(axis)] += begins.back() + ends.back();
  }
  std::vector<int64_t> pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  c.Input(x);
  c.Input(Int64Array(pads));
  Number filling = 0;
  const bool told = type == DataType::kString || random.Chance(50);
  if (told && mode == "constant") {
    filling = random.Values(type, {}, Draw::kAll)[0];
    c.Input(Scalar(type, filling));
  } else if (some) {
    c.NoInput();
  }
  if (some) {
    std::vector<int64_t> told_axes;
    for (int64_t axis : axes) told_axes.push_back(random.MaybeNegative(axis, x.rank()));
    c.Input(Int64Array(told_axes));
  }
  if (type == DataType::kString && mode != "constant") filling = 0;
  Array y(type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Dims from = index;
    bool outside = false;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      const int64_t size = x.dims[axis];
      int64_t& at = from[axis];
      at -= begin_of[axis];
      if (at >= 0 && at < size) continue;
      if (mode == "constant") outside = true;
      if (mode == "edge") at = std::clamp<int64_t>(at, 0, size - 1);
      if (mode == "reflect") at = at < 0 ? -at : 2 * (size - 1) - at;
      if (mode == "wrap") at = (at % size + size) % size;
    }
    y[i] = outside ? filling : x.At(from);
  });
  c.Output(y, Moved());
}

void BadPad(Random& random, Case& c) {
  c.opset = 18;
  c.Input(random.Values(DataType::kFloat, {4, 3}, Draw::kPlain));
  const int64_t kind = random.Int(0, 5);
  if (kind == 0) c.Input(Int64Array({1, 1, 1}));
  if (kind == 1) c.Input(Int64Array({-3, 0, -2, 0}));
  if (kind == 2) c.Input(Int64Array({int64_t{1} << 62, int64_t{1} << 62, 1, 1}));
  if (kind == 3) c.Input(Int64Array({int64_t{1} << 50, 0, 0, 0}));
  if (kind == 4) {
    c.Input(Int64Array({1, 1}));
    c.NoInput();
    c.Input(Int64Array({random.Pick<int64_t>({2, -3, INT64_MAX})}));
  }
  if (kind == 5) {
    c.Set("mode", "sideways");
    c.Input(Int64Array({1, 1, 1, 1}));
  }
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void CenterCropPad(Random& random, Case& c) {
  c.opset = 18;
  const Array x = random.Values(random.NumberType(), random.Shape(1, 4, 2000), Draw::kAll);
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  if (random.Chance(40)) {
    axes = random.Axes(x.rank(), 1);
    std::vector<int64_t> told;
    for (int64_t axis : axes) told.push_back(random.MaybeNegative(axis, x.rank()));
    c.Set("axes", told);
  }
  Dims dims = x.dims;
  std::vector<int64_t> shape;
  for (int64_t axis : axes) shape.push_back(dims[static_cast<size_t>(axis)] = random.Int(1, 8));
  c.Input(x);
  c.Input(Int64Array(shape));
  Array y(x.type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Dims from = index;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      const int64_t more = dims[axis] - x.dims[axis];
      from[axis] -= more >= 0 ? more / 2 : -(-more / 2);
      if (from[axis] < 0 || from[axis] >= x.dims[axis]) return;
    }
    y[i] = x.At(from);
  });
  c.Output(y, Moved());
}

void ConstantOfShape(Random& random, Case& c) {
  c.opset = random.Pick({9, 20, 21});
  DataType type = DataType::kFloat;
  Number value = 0;
  if (random.Chance(70)) {
    type = random.NumberType();
    if (type == DataType::kBfloat16) c.opset = 21;
    value = random.Values(type, {}, Draw::kAll)[0];
    c.Set("value", Array(type, {1}, {value}));
  }
  const Dims dims = random.Shape(0, 5);
  c.Input(Int64Array(dims));
  c.Output(Map(Array(type, dims), [&](Number) { return value; }), Moved());
}

void BadConstantOfShape(Random& random, Case& c) {
  c.Input(Int64Array(random.Pick<std::vector<int64_t>>({{-1}, {2, INT64_MIN}, {int64_t{1} << 62, 16}, {int64_t{1} << 50}})));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void Range(Random& random, Case& c) {
  const DataType type =
      random.Pick({DataType::kFloat, DataType::kDouble, DataType::kInt16, DataType::kInt32, DataType::kInt64});
  // All numbers are quarters, so that every element and their count are exact.
  const Number unit = IsFloat(type) ? 0.25L : 1;
  const Number start = static_cast<Number>(random.Int(-50, 50)) * unit;
  const Number limit = static_cast<Number>(random.Int(-200, 200)) * unit;
  const Number delta = static_cast<Number>(random.Int(1, 9) * (random.Chance(50) ? 1 : -1)) * unit;
  for (Number value : {start, limit, delta}) c.Input(Scalar(type, value));
  Array y(type, {std::max<int64_t>(static_cast<int64_t>(std::ceil((limit - start) / delta)), 0)});
  for (int64_t i = 0; i < y.count(); ++i) y[i] = start + static_cast<Number>(i) * delta;
  c.Output(y);
}

void BadRange(Random& random, Case& c) {
  const bool zero = random.Chance(50);
  c.Input(Scalar(DataType::kInt64, 0));
  c.Input(Scalar(DataType::kInt64, zero ? 5 : static_cast<Number>(int64_t{1} << 60)));
  c.Input(Scalar(DataType::kInt64, zero ? 0 : 1));
  c.Output(Array(DataType::kInt64, {0}));
  c.MustFail();
}

void Trilu(Random& random, Case& c) {
  const DataType type = random.Chance(20) ? DataType::kBool : random.NumberType();
  const Array x = random.Values(type, random.Shape(2, 5), Draw::kAll);
  const bool upper = random.Chance(50);
  if (!upper || random.Chance(50)) c.Set("upper", upper);
  c.Input(x);
  int64_t k = 0;
  if (random.Chance(60)) {
    k = random.Chance(10) ? random.Pick<int64_t>({INT64_MAX, INT64_MIN, 1000}) : random.Int(-8, 8);
    c.Input(Scalar(DataType::kInt64, static_cast<Number>(k)));
  }
  Array y = x;
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) {
    const Number over = static_cast<Number>(index.back() - index[index.size() - 2]) - static_cast<Number>(k);
    if (upper ? over < 0 : over > 0) y[i] = 0;
  });
  c.Output(y, Moved());
}

void EyeLike(Random& random, Case& c) {
  const Array x = random.Values(random.NumberType(), random.Shape(2, 2), Draw::kPlain);
  c.Input(x);
  DataType type = x.type;
  if (random.Chance(50)) c.Set("dtype", static_cast<int64_t>(type = random.NumberType()));
  int64_t k = 0;
  if (random.Chance(50)) c.Set("k", k = random.Int(-8, 8));
  Array y(type, x.dims);
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) { y[i] = static_cast<Number>(index[1] - index[0] == k); });
  c.Output(y);
}

void OneHot(Random& random, Case& c) {
  const int64_t depth = random.Int(1, 20);
  const Array indices = random.Integers(random.Pick({DataType::kInt64, DataType::kInt32, DataType::kFloat}),
                                        random.Shape(1, 4, 2000), -depth - 2, depth + 2);
  const Array values = random.Values(NotBfloat16(random.NumberType()), {2}, Draw::kPlain);
  const int64_t rank = indices.rank() + 1;
  const int64_t axis = random.Chance(50) ? rank - 1 : random.Int(0, rank - 1);
  if (axis != rank - 1 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, rank));
  c.Input(indices);
  const DataType depth_type = random.Pick({DataType::kInt64, DataType::kFloat});
  c.Input(random.Chance(50) ? Scalar(depth_type, static_cast<Number>(depth))
                            : Array(depth_type, {1}, {static_cast<Number>(depth)}));
  c.Input(values);
  Dims dims = indices.dims;
  dims.insert(dims.begin() + axis, depth);
  Array y(values.type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Dims from = index;
    from.erase(from.begin() + axis);
    const Number wanted = indices.At(from);
    const auto place = static_cast<Number>(index[static_cast<size_t>(axis)]);
    y[i] = values[wanted == place || wanted + static_cast<Number>(depth) == place];
  });
  c.Output(y);
}

void BadOneHot(Random& random, Case& c) {
  c.Input(random.Integers(DataType::kInt64, {3}, 0, 5));
  c.Input(Scalar(DataType::kInt64, static_cast<Number>(random.Pick<int64_t>({-1, -1000, int64_t{1} << 60}))));
  c.Input(random.Values(DataType::kFloat, {2}, Draw::kPlain));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

void ReverseSequence(Random& random, Case& c) {
  Dims dims = random.ShapeWithoutZero(2, 4);
  const int64_t time = random.Int(0, 1);
  const int64_t batch = 1 - time;
  if (time != 0 || random.Chance(50)) {
    c.Set("time_axis", time);
    c.Set("batch_axis", batch);
  }
  const Array x = random.Values(NotBfloat16(random.AnyType()), dims, Draw::kAll);
  const int64_t steps = dims[static_cast<size_t>(time)];
  const Array lengths = random.Integers(DataType::kInt64, {dims[static_cast<size_t>(batch)]}, 1, steps);
  c.Input(x);
  c.Input(lengths);
  c.Output(Rearranged(x, dims,
                      [&](Dims index) {
                        int64_t& step = index[static_cast<size_t>(time)];
                        const auto length = static_cast<int64_t>(lengths[index[static_cast<size_t>(batch)]]);
                        if (step < length) step = length - 1 - step;
                        return index;
                      }),
           Moved());
}

void BadReverseSequence(Random& random, Case& c) {
  c.Input(random.Values(DataType::kFloat, {4, 3}, Draw::kPlain));
  Array lengths = Int64Array({1, 2, 3});
  lengths[random.Int(0, 2)] = static_cast<Number>(random.Pick<int64_t>({5, -1, INT64_MAX, INT64_MIN}));
  c.Input(lengths);
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

}  // namespace

std::vector<OperatorCases> ShapeOperators() {
  return {
      {"CenterCropPad", "", CenterCropPad},
      {"Concat", "", Concat, BadConcat},
      {"ConstantOfShape", "", ConstantOfShape, BadConstantOfShape},
      {"DepthToSpace", "", Space<true>},
      {"Expand", "", Expand, BadExpand},
      {"EyeLike", "", EyeLike},
      {"Flatten", "", Flatten},
      {"Identity", "", Identity},
      {"OneHot", "", OneHot, BadOneHot},
      {"Pad", "", Pad, BadPad},
      {"Range", "", Range, BadRange},
      {"Reshape", "", Reshape, BadReshape},
      {"ReverseSequence", "", ReverseSequence, BadReverseSequence},
      {"Shape", "", ShapeOf},
      {"Size", "", SizeOf},
      {"Slice", "", Slice, BadSlice},
      {"SpaceToDepth", "", Space<false>},
      {"Split", "", Split, BadSplit},
      {"Squeeze", "", Squeeze, BadAxes},
      {"Tile", "", Tile, BadTile},
      {"Transpose", "", Transpose},
      {"Trilu", "", Trilu},
      {"Unsqueeze", "", Unsqueeze, BadAxes},
  };
}

}  // namespace epiphyte::operators
