// Operators that move elements by indices in a tensor.
#include <algorithm>
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

Array AnyArray(Random& random, const Dims& dims) { return random.Values(random.AnyType(), dims, Draw::kAll); }

DataType IndexType(Random& random) { return random.Pick({DataType::kInt64, DataType::kInt32}); }

// Returns indices into an axis of `size`, from the start or, as negative numbers, from the end.
Array Indices(Random& random, DataType type, const Dims& dims, int64_t size) {
  const int64_t least = random.Chance(50) ? 0 : -size;
  return random.Integers(type, dims, least, size - 1);
}
int64_t Place(Number index, int64_t size) { return static_cast<int64_t>(index < 0 ? index + static_cast<Number>(size) : index); }

// Replaces one index by an invalid one.
void Spoil(Random& random, Array* indices, int64_t size) {
  const int64_t limit = indices->type == DataType::kInt32 ? INT32_MAX : INT64_MAX;
  (*indices)[random.Int(0, indices->count() - 1)] =
      static_cast<Number>(random.Pick<int64_t>({size, size + 1, size + 1000, -size - 1, -size - 1000, limit, -limit - 1}));
}

int64_t AxisOf(Random& random, Case& c, int64_t rank) {
  const int64_t axis = random.Chance(40) ? 0 : random.Int(0, rank - 1);
  if (axis != 0 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, rank));
  return axis;
}

void GatherCase(Random& random, Case& c, bool bad) {
  c.opset = 13;
  const Array x = AnyArray(random, random.ShapeWithoutZero(1, 4));
  const int64_t axis = AxisOf(random, c, x.rank());
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  Array indices = Indices(random, IndexType(random), bad ? random.ShapeWithoutZero(0, 2, 50) : random.Shape(0, 3, 50), size);
  if (bad) Spoil(random, &indices, size);
  c.Input(x);
  c.Input(indices);
  if (bad) {
    c.Output(Array(x.type, {0}));
    return c.MustFail("indices: index ");
  }
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  Array y(x.type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    const Dims which(index.begin() + axis, index.begin() + axis + indices.rank());
    Dims from(index.begin(), index.begin() + axis);
    from.push_back(Place(indices.At(which), size));
    from.insert(from.end(), index.begin() + axis + indices.rank(), index.end());
    y[i] = x.At(from);
  });
  c.Output(y, {.signs = true});
}
void Gather(Random& random, Case& c) { GatherCase(random, c, false); }
void BadGather(Random& random, Case& c) { GatherCase(random, c, true); }

// Returns a shape of the same rank that is not larger, except along `axis`.
Dims Within(Random& random, const Dims& dims, int64_t axis) {
  Dims within = dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (random.Chance(40)) within[i] = random.Int(1, dims[i]);
  within[static_cast<size_t>(axis)] = random.Int(1, 20);
  return within;
}

void GatherElementsCase(Random& random, Case& c, bool bad) {
  c.opset = 13;
  const Array x = AnyArray(random, random.ShapeWithoutZero(1, 4));
  const int64_t axis = AxisOf(random, c, x.rank());
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  Array indices = Indices(random, IndexType(random), Within(random, x.dims, axis), size);
  if (bad) Spoil(random, &indices, size);
  c.Input(x);
  c.Input(indices);
  if (bad) {
    c.Output(Array(x.type, {0}));
    return c.MustFail("indices: index ");
  }
  Array y(x.type, indices.dims);
  ForEachIndex(y.dims, [&](const Dims& index, int64_t i) {
    Dims from = index;
    from[static_cast<size_t>(axis)] = Place(indices[i], size);
    y[i] = x.At(from);
  });
  c.Output(y, {.signs = true});
}
void GatherElements(Random& random, Case& c) { GatherElementsCase(random, c, false); }
void BadGatherElements(Random& random, Case& c) { GatherElementsCase(random, c, true); }

// Returns index tuples for `depth` axes from `first` on, as the last axis of an array.
Array Tuples(Random& random, Dims dims, const Dims& of, int64_t first, int64_t depth) {
  dims.push_back(depth);
  Array tuples(DataType::kInt64, dims);
  for (int64_t i = 0; i < tuples.count(); ++i) {
    const int64_t size = of[static_cast<size_t>(first + i % depth)];
    tuples[i] = static_cast<Number>(random.Int(random.Chance(30) ? -size : 0, size - 1));
  }
  return tuples;
}

void GatherNdCase(Random& random, Case& c, bool bad) {
  c.opset = 13;
  const Array x = AnyArray(random, random.ShapeWithoutZero(1, 5));
  const int64_t batch = random.Chance(60) ? 0 : random.Int(0, x.rank() - 1);
  if (batch != 0 || random.Chance(50)) c.Set("batch_dims", batch);
  const int64_t depth = random.Int(1, x.rank() - batch);
  Dims dims(x.dims.begin(), x.dims.begin() + batch);
  const Dims more = bad ? random.ShapeWithoutZero(0, 2, 30) : random.Shape(0, 2, 30);
  dims.insert(dims.end(), more.begin(), more.end());
  Array indices = Tuples(random, dims, x.dims, batch, depth);
  if (bad) Spoil(random, &indices, *std::max_element(x.dims.begin() + batch, x.dims.end()));
  c.Input(x);
  c.Input(indices);
  if (bad) {
    c.Output(Array(x.type, {0}));
    return c.MustFail("indices: index ");
  }
  const size_t tuple_rank = dims.size();
  dims.insert(dims.end(), x.dims.begin() + batch + depth, x.dims.end());
  Array y(x.type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Dims tuple(index.begin(), index.begin() + static_cast<int64_t>(tuple_rank));
    Dims from(index.begin(), index.begin() + batch);
    tuple.push_back(0);
    for (int64_t j = 0; j < depth; ++j) {
      tuple.back() = j;
      from.push_back(Place(indices.At(tuple), x.dims[static_cast<size_t>(batch + j)]));
    }
    from.insert(from.end(), index.begin() + static_cast<int64_t>(tuple_rank), index.end());
    y[i] = x.At(from);
  });
  c.Output(y, {.signs = true});
}
void GatherNd(Random& random, Case& c) { GatherNdCase(random, c, false); }
void BadGatherNd(Random& random, Case& c) { GatherNdCase(random, c, true); }

struct Reduce {
  std::string name;
  Number operator()(Number old, Number update) const {
    if (name == "add") return old + update;
    if (name == "mul") return old * update;
    if (name == "min") return SmallerOf(old, update);
    if (name == "max") return LargerOf(old, update);
    return update;
  }
};

Reduce RandomReduce(Random& random, Case& c) {
  Reduce reduce{random.Chance(50) ? "none" : random.Pick<const char*>({"add", "mul", "min", "max"})};
  if (reduce.name != "none" || random.Chance(30)) c.Set("reduction", reduce.name);
  return reduce;
}
// Returns a type; it is numeric if the scatter computes something.
DataType ScatterType(Random& random, const Reduce& reduce) {
  if (reduce.name == "none") return random.AnyType();
  return random.Chance(60) ? random.FloatType() : random.Pick({DataType::kInt32, DataType::kInt64});
}
Bound ScatterBound(DataType type, const Reduce& reduce, const Array& y) {
  if (!IsFloat(type) || (reduce.name != "add" && reduce.name != "mul")) return {.signs = reduce.name == "none"};
  // One number may be updated dozens of times, and small types round each time.
  Bound bound{.ulps = 64, .sizes = y.values};
  for (Number& size : bound.sizes) size = reduce.name == "add" ? 32 : std::fabs(size);
  return bound;
}

void ScatterElementsCase(Random& random, Case& c, bool reduces, bool bad) {
  c.opset = reduces ? 18 : 9;
  const Reduce reduce = reduces ? RandomReduce(random, c) : Reduce{"none"};
  DataType type = ScatterType(random, reduce);
  if (!reduces && type == DataType::kBfloat16) type = DataType::kFloat;
  const Array x = random.Values(type, random.ShapeWithoutZero(1, 4), reduce.name == "none" ? Draw::kAll : Draw::kUnit);
  const int64_t axis = AxisOf(random, c, x.rank());
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  Dims dims = Within(random, x.dims, axis);
  if (reduce.name == "none") dims[static_cast<size_t>(axis)] = random.Int(1, size);
  Array indices = random.Integers(IndexType(random), dims, 0, size - 1);
  if (reduce.name == "none") {
    // The specification does not define which of two updates of one element wins, so the indices of each row differ.
    std::vector<int64_t> places;
    for (int64_t i = 0; i < size; ++i) places.push_back(i);
    random.Shuffle(&places);
    ForEachIndex(dims, [&](const Dims& index, int64_t i) {
      indices[i] = static_cast<Number>(places[static_cast<size_t>(index[static_cast<size_t>(axis)])]);
    });
  }
  for (Number& index : indices.values)
    if (random.Chance(20)) index -= static_cast<Number>(size);
  const Array updates = random.Values(type, dims, reduce.name == "none" ? Draw::kAll : Draw::kUnit);
  if (bad) Spoil(random, &indices, size);
  c.Input(x);
  c.Input(indices);
  c.Input(updates);
  if (bad) {
    c.Output(Array(x.type, {0}));
    return c.MustFail("indices: index ");
  }
  Array y = x;
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Dims to = index;
    to[static_cast<size_t>(axis)] = Place(indices[i], size);
    y.At(to) = reduce(y.At(to), updates[i]);
    if (!IsFloat(type) && reduce.name != "none") y.At(to) = Wrap(type, static_cast<__int128>(y.At(to)));
  });
  c.Output(y, ScatterBound(type, reduce, y));
}
void Scatter(Random& random, Case& c) { ScatterElementsCase(random, c, false, false); }
void ScatterElements(Random& random, Case& c) { ScatterElementsCase(random, c, true, false); }
void BadScatter(Random& random, Case& c) { ScatterElementsCase(random, c, false, true); }
void BadScatterElements(Random& random, Case& c) { ScatterElementsCase(random, c, true, true); }

void ScatterNdCase(Random& random, Case& c, bool bad) {
  c.opset = 18;
  const Reduce reduce = RandomReduce(random, c);
  const DataType type = ScatterType(random, reduce);
  const Draw draw = reduce.name == "none" ? Draw::kAll : Draw::kUnit;
  const Array x = random.Values(type, random.ShapeWithoutZero(1, 5), draw);
  const int64_t depth = random.Int(1, x.rank());
  const Dims outer(x.dims.begin(), x.dims.begin() + depth);
  Array indices;
  if (reduce.name == "none") {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < CountOf(outer); ++i) places.push_back(i);
    random.Shuffle(&places);
    const int64_t count = random.Int(1, std::min<int64_t>(CountOf(outer), 40));
    indices = Array(DataType::kInt64, {count, depth});
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = places[static_cast<size_t>(i)];
      for (int64_t j = depth; j-- > 0;) {
        indices[i * depth + j] = static_cast<Number>(place % outer[static_cast<size_t>(j)]);
        place /= outer[static_cast<size_t>(j)];
      }
    }
  } else {
    indices = Tuples(random, bad ? random.ShapeWithoutZero(1, 2, 40) : random.Shape(0, 2, 40), x.dims, 0, depth);
  }
  if (bad) Spoil(random, &indices, *std::max_element(outer.begin(), outer.end()));
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  const size_t tuple_rank = dims.size();
  dims.insert(dims.end(), x.dims.begin() + depth, x.dims.end());
  const Array updates = random.Values(type, dims, draw);
  c.Input(x);
  c.Input(indices);
  c.Input(updates);
  if (bad) {
    c.Output(Array(x.type, {0}));
    return c.MustFail("indices: index ");
  }
  Array y = x;
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    Dims tuple(index.begin(), index.begin() + static_cast<int64_t>(tuple_rank));
    tuple.push_back(0);
    Dims to;
    for (int64_t j = 0; j < depth; ++j) {
      tuple.back() = j;
      to.push_back(Place(indices.At(tuple), x.dims[static_cast<size_t>(j)]));
    }
    to.insert(to.end(), index.begin() + static_cast<int64_t>(tuple_rank), index.end());
    y.At(to) = reduce(y.At(to), updates[i]);
    if (!IsFloat(type) && reduce.name != "none") y.At(to) = Wrap(type, static_cast<__int128>(y.At(to)));
  });
  c.Output(y, ScatterBound(type, reduce, y));
}
void ScatterNd(Random& random, Case& c) { ScatterNdCase(random, c, false); }
void BadScatterNd(Random& random, Case& c) { ScatterNdCase(random, c, true); }

void TensorScatterCase(Random& random, Case& c, bool bad) {
  c.opset = 24;
  const Dims dims = random.ShapeWithoutZero(3, 4, 4000);
  const auto rank = static_cast<int64_t>(dims.size());
  const Array cache = random.Values(random.FloatType(), dims, Draw::kAll);
  const int64_t axis = random.Chance(60) ? rank - 2 : random.Int(1, rank - 1);
  if (axis != rank - 2 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, rank));
  const int64_t size = dims[static_cast<size_t>(axis)];
  Dims update_dims = dims;
  update_dims[static_cast<size_t>(axis)] = random.Int(1, size);
  const int64_t written = update_dims[static_cast<size_t>(axis)];
  const Array update = random.Values(cache.type, update_dims, Draw::kAll);
  const bool circular = random.Chance(50);
  if (circular || random.Chance(30)) c.Set("mode", circular ? "circular" : "linear");
  Array starts = random.Integers(DataType::kInt64, {dims[0]}, 0, circular ? size - 1 : size - written);
  c.Input(cache);
  c.Input(update);
  if (bad) {
    starts[random.Int(0, starts.count() - 1)] = static_cast<Number>(
        circular ? random.Pick<int64_t>({-1, INT64_MIN}) : random.Pick<int64_t>({-1, size - written + 1, INT64_MAX, INT64_MIN}));
    c.Input(starts);
    c.Output(Array(cache.type, {0}));
    return c.MustFail("write_indices: index ");
  }
  if (random.Chance(70)) {
    c.Input(starts);
  } else {
    starts = Array(DataType::kInt64, starts.dims);
  }
  Array y = cache;
  ForEachIndex(update_dims, [&](const Dims& index, int64_t i) {
    Dims to = index;
    int64_t& place = to[static_cast<size_t>(axis)];
    place = (place + static_cast<int64_t>(starts[index[0]])) % size;
    y.At(to) = update[i];
  });
  c.Output(y, {.signs = true});
}
void TensorScatter(Random& random, Case& c) { TensorScatterCase(random, c, false); }
void BadTensorScatter(Random& random, Case& c) { TensorScatterCase(random, c, true); }

void NonZero(Random& random, Case& c) {
  const DataType type = random.Chance(20) ? DataType::kBool : random.NumberType();
  const Array x = random.Values(type, random.Shape(1, 5), random.Chance(50) ? Draw::kFew : Draw::kAll);
  c.Input(x);
  std::vector<Dims> found;
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) {
    if (x[i] != 0) found.push_back(index);
  });
  const auto count = static_cast<int64_t>(found.size());
  Array y(DataType::kInt64, {x.rank(), count});
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    for (int64_t i = 0; i < count; ++i)
      y[axis * count + i] = static_cast<Number>(found[static_cast<size_t>(i)][static_cast<size_t>(axis)]);
  c.Output(y);
}

void Compress(Random& random, Case& c) {
  DataType type = random.AnyType();
  if (type == DataType::kBfloat16) type = DataType::kFloat16;
  const Array x = random.Values(type, random.Shape(1, 4), Draw::kAll);
  const bool flat = random.Chance(40);
  const int64_t axis = flat ? 0 : random.Int(0, x.rank() - 1);
  if (!flat) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  const int64_t size = flat ? x.count() : x.dims[static_cast<size_t>(axis)];
  const Array condition = random.Values(DataType::kBool, {random.Chance(60) ? size : random.Int(0, size)}, Draw::kAll);
  c.Input(x);
  c.Input(condition);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < condition.count(); ++i)
    if (condition[i] != 0) kept.push_back(i);
  Dims dims = flat ? Dims{0} : x.dims;
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
  Array y(x.type, dims);
  ForEachIndex(dims, [&](Dims index, int64_t i) {
    const int64_t from = kept[static_cast<size_t>(index[static_cast<size_t>(axis)])];
    index[static_cast<size_t>(axis)] = from;
    y[i] = flat ? x[from] : x.At(index);
  });
  c.Output(y, {.signs = true});
}

void Unique(Random& random, Case& c) {
  DataType type = random.Chance(15) ? DataType::kString : random.NumberType();
  if (type == DataType::kBfloat16) type = DataType::kFloat16;
  const bool flat = random.Chance(50);
  Dims dims = random.ShapeWithoutZero(1, 3, 300);
  const Array x = random.Values(type, dims, Draw::kFew);
  c.Input(x);
  const int64_t axis = flat ? 0 : random.Int(0, x.rank() - 1);
  if (!flat) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  const bool sorted = random.Chance(60);
  if (!sorted || random.Chance(50)) c.Set("sorted", sorted);
  const int64_t size = flat ? x.count() : dims[static_cast<size_t>(axis)];
  // The slices to compare, each as a list.
  std::vector<std::vector<Number>> slices(static_cast<size_t>(size));
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    slices[static_cast<size_t>(flat ? i : index[static_cast<size_t>(axis)])].push_back(x[i]);
  });
  std::vector<std::vector<Number>> kept;
  std::vector<int64_t> first;
  for (int64_t i = 0; i < size; ++i) {
    if (std::find(kept.begin(), kept.end(), slices[static_cast<size_t>(i)]) != kept.end()) continue;
    kept.push_back(slices[static_cast<size_t>(i)]);
    first.push_back(i);
  }
  if (sorted) {
    std::vector<size_t> order;
    for (size_t i = 0; i < kept.size(); ++i) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (type != DataType::kString) return kept[a] < kept[b];
      return std::lexicographical_compare(kept[a].begin(), kept[a].end(), kept[b].begin(), kept[b].end(),
                                          [](Number left, Number right) { return TextOf(left) < TextOf(right); });
    });
    std::vector<std::vector<Number>> values;
    std::vector<int64_t> places;
    for (size_t i : order) {
      values.push_back(kept[i]);
      places.push_back(first[i]);
    }
    kept = values;
    first = places;
  }
  Dims y_dims = flat ? Dims{0} : dims;
  y_dims[static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
  Array y(type, y_dims);
  ForEachIndex(y_dims, [&](Dims index, int64_t i) {
    const int64_t slice = index[static_cast<size_t>(axis)];
    index[static_cast<size_t>(axis)] = first[static_cast<size_t>(slice)];
    y[i] = flat ? x[first[static_cast<size_t>(slice)]] : x.At(index);
  });
  c.Output(y);
  if (random.Chance(30)) return;
  std::vector<int64_t> inverse;
  std::vector<int64_t> counts(kept.size(), 0);
  for (const std::vector<Number>& slice : slices) {
    inverse.push_back(std::find(kept.begin(), kept.end(), slice) - kept.begin());
    ++counts[static_cast<size_t>(inverse.back())];
  }
  if (random.Chance(50)) {
    c.Output(Int64Array(first));
  } else {
    c.NoOutput();
  }
  c.Output(Int64Array(inverse));
  c.Output(Int64Array(counts));
}

}  // namespace

std::vector<OperatorCases> IndexOperators() {
  return {
      {"Compress", "", Compress},
      {"Gather", "", Gather, BadGather},
      {"GatherElements", "", GatherElements, BadGatherElements},
      {"GatherND", "", GatherNd, BadGatherNd},
      {"NonZero", "", NonZero},
      {"Scatter", "", Scatter, BadScatter},
      {"ScatterElements", "", ScatterElements, BadScatterElements},
      {"ScatterND", "", ScatterNd, BadScatterNd},
      {"TensorScatter", "", TensorScatter, BadTensorScatter},
      {"Unique", "", Unique},
  };
}

}  // namespace epiphyte::operators
