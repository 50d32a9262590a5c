// Reductions, cumulative operators, and operators that find or sort the largest elements.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

// The elements that are reduced to each element of the result.
struct Reduced {
  Dims dims;                                // dims of the result; reduced axes are 1
  std::vector<std::vector<Number>> groups;  // for each element of the result
};

Reduced Group(const Array& x, const std::vector<bool>& reduced) {
  Reduced result;
  result.dims = x.dims;
  for (size_t axis = 0; axis < reduced.size(); ++axis)
    if (reduced[axis]) result.dims[axis] = 1;
  result.groups.resize(static_cast<size_t>(CountOf(result.dims)));
  const Dims strides = StridesOf(result.dims);
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (!reduced[axis]) at += index[axis] * strides[axis];
    result.groups[static_cast<size_t>(at)].push_back(x[i]);
  });
  return result;
}

Dims Without(const Dims& dims, const std::vector<bool>& left_out) {
  Dims rest;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (!left_out[axis]) rest.push_back(dims[axis]);
  return rest;
}

struct Reduction {
  Number (*function)(const std::vector<Number>& x);
  // Magnitude that the result's error is relative to: the magnitudes of the summands.
  Number (*size)(const std::vector<Number>& x);
  bool of_empty = true;  // true: defined for no elements
};

Number SumOf(const std::vector<Number>& x) { return std::accumulate(x.begin(), x.end(), Number{0}); }
Number SizeOf(const std::vector<Number>& x) {
  return std::accumulate(x.begin(), x.end(), Number{0}, [](Number sum, Number v) { return sum + std::fabs(v); });
}
Number SquaresOf(const std::vector<Number>& x) {
  return std::accumulate(x.begin(), x.end(), Number{0}, [](Number sum, Number v) { return sum + v * v; });
}
Number MeanOf(const std::vector<Number>& x) { return SumOf(x) / static_cast<Number>(x.size()); }
Number MeanSizeOf(const std::vector<Number>& x) { return SizeOf(x) / static_cast<Number>(x.size()); }
// Floats are drawn from ±1, so a large product is one of integers. The low bits of an integer product are right even
// beyond the range of a Number.
Number ProductOf(const std::vector<Number>& x) {
  Number product = 1;
  uint64_t low = 1;
  for (Number v : x) {
    product *= v;
    low *= static_cast<uint64_t>(static_cast<int64_t>(v));
  }
  return std::fabs(product) < 0x1p63L ? product : static_cast<Number>(static_cast<int64_t>(low));
}
Number L2Of(const std::vector<Number>& x) { return std::sqrt(SquaresOf(x)); }
Number LogSumOf(const std::vector<Number>& x) { return std::log(SumOf(x)); }
// If a number is off by some of its steps, its logarithm is off by as many steps of 1.
Number SizeOfLog(const std::vector<Number>& x) {
  return std::max<Number>(1, SizeOf(x) / std::max<Number>(std::fabs(SumOf(x)), 1e-30L));
}
Number LogSumExpOf(const std::vector<Number>& x) {
  // A single largest number gives exactly that number.
  const Number largest = *std::max_element(x.begin(), x.end());
  Number sum = 0;
  for (Number v : x) sum += std::exp(v - largest);
  return largest + std::log(sum);
}
Number SizeOfLogExp(const std::vector<Number>& x) {
  Number largest = 1;
  for (Number v : x) largest = std::max(largest, std::fabs(v));
  return largest;
}

// The form of the axes: an attribute (older versions), an input, or none.
struct Axes {
  std::vector<bool> reduced;
  bool keep = true;
  bool none = false;  // true: the input is the output
};

Axes AxesOf(Random& random, Case& c, int64_t rank, int64_t with_input) {
  Axes axes;
  axes.reduced.assign(static_cast<size_t>(rank), true);
  const bool all = rank == 0 || random.Chance(20);
  std::vector<int64_t> listed;
  if (!all) {
    axes.reduced.assign(static_cast<size_t>(rank), false);
    for (int64_t axis : random.Axes(rank, 1)) {
      axes.reduced[static_cast<size_t>(axis)] = true;
      listed.push_back(random.MaybeNegative(axis, rank));
    }
  }
  axes.keep = random.Chance(50);
  if (!axes.keep || random.Chance(50)) c.Set("keepdims", axes.keep);
  if (c.opset >= with_input) {
    const bool noop = random.Chance(20);
    if (noop) c.Set("noop_with_empty_axes", 1);
    if (!all) {
      c.Input(Int64Array(listed));
    } else {
      if (random.Chance(30)) c.Input(Int64Array({}));
      axes.none = noop;
    }
  } else if (!all) {
    c.Set("axes", listed);
  }
  return axes;
}

template <typename Function>
void Reduce(Random& random, Case& c, const Array& x, int64_t with_input, const Function& finish) {
  c.Input(x);
  const Axes axes = AxesOf(random, c, x.rank(), with_input);
  if (axes.none) return c.Output(x);
  const Reduced groups = Group(x, axes.reduced);
  finish(groups, axes.keep ? groups.dims : Without(x.dims, axes.reduced));
}

// Shapes of float types have at most as many elements as a sum can have with sufficient precision.
template <const Reduction& reduction>
void Reducing(Random& random, Case& c, Draw draw, int64_t with_input) {
  const DataType type = random.Chance(75) ? random.FloatType() : random.Pick({DataType::kInt32, DataType::kInt64});
  c.opset = random.Pick({13, 18, 22});
  Dims dims = random.Shape(0, 5);
  if (!reduction.of_empty)
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  const Array x = random.Values(type, dims, draw);
  Reduce(random, c, x, with_input, [&](const Reduced& groups, const Dims& result) {
    Array y(type, result);
    Bound bound;
    for (int64_t i = 0; i < y.count(); ++i) {
      const std::vector<Number>& group = groups.groups[static_cast<size_t>(i)];
      y[i] = reduction.function(group);
      bound.sizes.push_back(reduction.size(group));
      // The error of a sum of n numbers in any order, with partial sums of a vector: n steps at worst, usually far
      // fewer.
      bound.ulps = std::max<Number>(bound.ulps, 4 + std::sqrt(static_cast<Number>(group.size())));
    }
    // These types are summed in float and rounded once.
    if (type == DataType::kFloat16 || type == DataType::kBfloat16) bound.ulps = 2;
    if (!IsFloat(type)) {
      for (Number& value : y.values) value = std::isfinite(value) ? Wrap(type, static_cast<__int128>(value)) : 0;
      bound = {};
    }
    c.Output(y, bound);
  });
}

constexpr Reduction kSum{SumOf, SizeOf};
constexpr Reduction kMean{MeanOf, MeanSizeOf, false};
constexpr Reduction kProduct{ProductOf, [](const std::vector<Number>& x) { return std::fabs(ProductOf(x)); }};
constexpr Reduction kL1{SizeOf, SizeOf};
// A square below the smallest float is 0, so a root below 1e-19 has no significant digit.
Number SizeOfRoot(const std::vector<Number>& x) { return std::max<Number>(L2Of(x), 1e-19L); }
constexpr Reduction kL2{L2Of, SizeOfRoot};
constexpr Reduction kSquares{SquaresOf, SquaresOf};
constexpr Reduction kLogSum{LogSumOf, SizeOfLog, false};
constexpr Reduction kLogSumExp{LogSumExpOf, SizeOfLogExp, false};

void ReduceSum(Random& random, Case& c) { Reducing<kSum>(random, c, Draw::kPlain, 13); }
void ReduceMean(Random& random, Case& c) { Reducing<kMean>(random, c, Draw::kPlain, 18); }
void ReduceProd(Random& random, Case& c) { Reducing<kProduct>(random, c, Draw::kUnit, 18); }
void ReduceL1(Random& random, Case& c) { Reducing<kL1>(random, c, Draw::kPlain, 18); }
void ReduceL2(Random& random, Case& c) { Reducing<kL2>(random, c, Draw::kPlain, 18); }
void ReduceSumSquare(Random& random, Case& c) { Reducing<kSquares>(random, c, Draw::kPlain, 18); }
void ReduceLogSum(Random& random, Case& c) { Reducing<kLogSum>(random, c, Draw::kPositive, 18); }
void ReduceLogSumExp(Random& random, Case& c) { Reducing<kLogSumExp>(random, c, Draw::kPlain, 18); }

template <bool kLargest>
void Extreme(Random& random, Case& c) {
  c.opset = random.Pick({20, 22});
  DataType type = random.Chance(10) ? DataType::kBool : random.NumberType();
  // ONNX defines the operator for all integers but these.
  if (type == DataType::kInt16 || type == DataType::kUint16) type = DataType::kInt8;
  const Array x = random.Values(type, random.ShapeWithoutZero(0, 5), Draw::kFinite);
  Reduce(random, c, x, 18, [&](const Reduced& groups, const Dims& result) {
    Array y(type, result);
    for (int64_t i = 0; i < y.count(); ++i) {
      const std::vector<Number>& group = groups.groups[static_cast<size_t>(i)];
      y[i] = kLargest ? *std::max_element(group.begin(), group.end()) : *std::min_element(group.begin(), group.end());
    }
    c.Output(y);
  });
}

template <bool kLargest>
void ArgExtreme(Random& random, Case& c) {
  const Array x =
      random.Values(random.NumberType(), random.ShapeWithoutZero(1, 5), random.Chance(50) ? Draw::kFew : Draw::kFinite);
  c.Input(x);
  const int64_t axis = random.Chance(30) ? 0 : random.Int(0, x.rank() - 1);
  if (axis != 0 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  const bool keep = random.Chance(50);
  if (!keep || random.Chance(50)) c.Set("keepdims", keep);
  const bool last = random.Chance(40);
  if (last || random.Chance(30)) c.Set("select_last_index", last);
  std::vector<bool> reduced(x.dims.size(), false);
  reduced[static_cast<size_t>(axis)] = true;
  const Reduced groups = Group(x, reduced);
  Array y(DataType::kInt64, keep ? groups.dims : Without(x.dims, reduced));
  for (int64_t i = 0; i < y.count(); ++i) {
    const std::vector<Number>& group = groups.groups[static_cast<size_t>(i)];
    size_t found = 0;
    for (size_t j = 1; j < group.size(); ++j) {
      const bool better = kLargest ? group[j] > group[found] : group[j] < group[found];
      if (better || (last && group[j] == group[found])) found = j;
    }
    y[i] = static_cast<Number>(found);
  }
  c.Output(y);
}

void CumSum(Random& random, Case& c) {
  const DataType type = random.Chance(70) ? random.FloatType() : random.Pick({DataType::kInt32, DataType::kInt64});
  const Array x = random.Values(type, random.Shape(1, 5), Draw::kPlain);
  const int64_t axis = random.Int(0, x.rank() - 1);
  const bool exclusive = random.Chance(40);
  const bool reverse = random.Chance(40);
  if (exclusive || random.Chance(30)) c.Set("exclusive", exclusive);
  if (reverse || random.Chance(30)) c.Set("reverse", reverse);
  c.Input(x);
  c.Input(Scalar(random.Pick({DataType::kInt32, DataType::kInt64}),
                 static_cast<Number>(random.MaybeNegative(axis, x.rank()))));
  Array y(type, x.dims);
  Bound bound;
  if (IsFloat(type)) bound = {.ulps = 4, .sizes = std::vector<Number>(x.values.size())};
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  const int64_t stride = StridesOf(x.dims)[static_cast<size_t>(axis)];
  ForEachIndex(x.dims, [&](const Dims& index, int64_t start) {
    if (index[static_cast<size_t>(axis)] != 0) return;
    Number so_far = 0;
    Number sizes = 0;
    for (int64_t j = 0; j < size; ++j) {
      const int64_t at = start + (reverse ? size - 1 - j : j) * stride;
      const Number before = so_far;
      so_far += x[at];
      sizes += std::fabs(x[at]);
      y[at] = exclusive ? before : so_far;
      if (!bound.sizes.empty()) bound.sizes[static_cast<size_t>(at)] = sizes;
    }
    bound.ulps = IsFloat(type) ? std::max<Number>(bound.ulps, static_cast<Number>(size) / 2) : 0;
  });
  if (!IsFloat(type))
    for (Number& value : y.values) value = Wrap(type, static_cast<__int128>(value));
  c.Output(y, bound);
}

void CumProd(Random& random, Case& c) {
  c.opset = 26;
  const DataType type = random.Chance(70) ? random.FloatType() : random.Pick({DataType::kInt32, DataType::kInt64});
  Array x = random.Values(type, random.Shape(1, 5), Draw::kPlain);
  if (IsFloat(type)) {
    // The elements are so near to 1 that no product leaves the range of float16.
    for (Number& value : x.values) value = Round(type, 1 + std::fmod(value, 1) / 4);
  }
  const int64_t axis = random.Int(0, x.rank() - 1);
  const bool exclusive = random.Chance(40);
  const bool reverse = random.Chance(40);
  if (exclusive || random.Chance(30)) c.Set("exclusive", exclusive);
  if (reverse || random.Chance(30)) c.Set("reverse", reverse);
  c.Input(x);
  c.Input(Scalar(random.Pick({DataType::kInt32, DataType::kInt64}),
                 static_cast<Number>(random.MaybeNegative(axis, x.rank()))));
  Array y(type, x.dims);
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  const int64_t stride = StridesOf(x.dims)[static_cast<size_t>(axis)];
  ForEachIndex(x.dims, [&](const Dims& index, int64_t start) {
    if (index[static_cast<size_t>(axis)] != 0) return;
    Number so_far = 1;
    for (int64_t j = 0; j < size; ++j) {
      const int64_t at = start + (reverse ? size - 1 - j : j) * stride;
      const Number before = so_far;
      so_far *= x[at];
      if (!IsFloat(type)) so_far = Wrap(type, static_cast<__int128>(so_far));
      y[at] = exclusive ? before : so_far;
    }
  });
  Bound bound;
  if (IsFloat(type)) bound.ulps = static_cast<Number>(size) + 4;
  c.Output(y, bound);
}

void TopK(Random& random, Case& c) {
  c.opset = random.Pick({11, 21, 24});
  DataType type = random.NumberType();
  if (type == DataType::kBfloat16) c.opset = 24;
  const Array x = random.Values(type, random.Shape(1, 5, 40000), random.Chance(50) ? Draw::kFew : Draw::kFinite);
  const int64_t axis = random.Chance(40) ? x.rank() - 1 : random.Int(0, x.rank() - 1);
  const int64_t size = x.dims[static_cast<size_t>(axis)];
  const int64_t k = random.Chance(20) ? size : random.Int(0, size);
  const bool largest = random.Chance(60);
  if (axis != x.rank() - 1 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  if (!largest || random.Chance(50)) c.Set("largest", largest);
  c.Input(x);
  c.Input(Int64Array({k}));
  Dims dims = x.dims;
  dims[static_cast<size_t>(axis)] = k;
  Array values(type, dims);
  Array indices(DataType::kInt64, dims);
  ForEachIndex(x.dims, [&](const Dims& index, int64_t) {
    if (index[static_cast<size_t>(axis)] != 0) return;
    std::vector<int64_t> order(static_cast<size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    Dims at = index;
    std::vector<Number> row;
    for (int64_t j = 0; j < size; ++j) {
      at[static_cast<size_t>(axis)] = j;
      row.push_back(x.At(at));
    }
    // Equal elements keep their order.
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const Number left = row[static_cast<size_t>(a)];
      const Number right = row[static_cast<size_t>(b)];
      return largest ? left > right : left < right;
    });
    for (int64_t j = 0; j < k; ++j) {
      at[static_cast<size_t>(axis)] = j;
      values.At(at) = row[static_cast<size_t>(order[static_cast<size_t>(j)])];
      indices.At(at) = static_cast<Number>(order[static_cast<size_t>(j)]);
    }
  });
  c.Output(values);
  c.Output(indices);
}

void BadTopK(Random& random, Case& c) {
  const Array x = random.Values(DataType::kFloat, random.ShapeWithoutZero(1, 3), Draw::kPlain);
  c.Input(x);
  c.Input(Int64Array({random.Chance(50) ? x.dims.back() + random.Int(1, 1000) : random.Int(-1000, -1)}));
  c.Output(x);
  c.Output(Array(DataType::kInt64, {0}));
  c.MustFail();
}

void BadAxis(Random& random, Case& c) {
  const Array x = random.Values(DataType::kFloat, random.ShapeWithoutZero(1, 3), Draw::kPlain);
  c.opset = 18;
  c.Input(x);
  c.Input(Int64Array({random.Chance(50) ? x.rank() + random.Int(0, 1000) : -x.rank() - random.Int(1, 1000)}));
  c.Output(x);
  c.MustFail();
}

}  // namespace

std::vector<OperatorCases> ReductionOperators() {
  return {
      {"ArgMax", "", ArgExtreme<true>},
      {"ArgMin", "", ArgExtreme<false>},
      {"CumProd", "", CumProd},
      {"CumSum", "", CumSum},
      {"ReduceL1", "", ReduceL1, BadAxis},
      {"ReduceL2", "", ReduceL2, BadAxis},
      {"ReduceLogSum", "", ReduceLogSum, BadAxis},
      {"ReduceLogSumExp", "", ReduceLogSumExp, BadAxis},
      {"ReduceMax", "", Extreme<true>, BadAxis},
      {"ReduceMean", "", ReduceMean, BadAxis},
      {"ReduceMin", "", Extreme<false>, BadAxis},
      {"ReduceProd", "", ReduceProd, BadAxis},
      {"ReduceSum", "", ReduceSum, BadAxis},
      {"ReduceSumSquare", "", ReduceSumSquare, BadAxis},
      {"TopK", "", TopK, BadTopK},
  };
}

}  // namespace epiphyte::operators
