// Softmax, normalizations and losses.
#include <algorithm>
#include <cmath>
#include <limits>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

// Returns the rows along some axes, each as positions of an array's elements.
std::vector<std::vector<int64_t>> RowsOf(const Dims& dims, const std::vector<bool>& along) {
  Dims outer = dims;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (along[axis]) outer[axis] = 1;
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(CountOf(outer)));
  const Dims strides = StridesOf(outer);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) {
    int64_t row = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (!along[axis]) row += index[axis] * strides[axis];
    rows[static_cast<size_t>(row)].push_back(i);
  });
  return rows;
}

std::vector<bool> Along(int64_t rank, int64_t first, int64_t end) {
  std::vector<bool> along(static_cast<size_t>(rank), false);
  for (int64_t axis = first; axis < end; ++axis) along[static_cast<size_t>(axis)] = true;
  return along;
}

bool IsSmall(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

enum class Soft { kSoftmax, kLogSoftmax, kHardmax };
template <Soft soft>
void Softmax(Random& random, Case& c) {
  c.opset = random.Pick({11, 13, 18});
  DataType type = random.FloatType();
  if (type == DataType::kBfloat16) c.opset = 13;
  const Array x = random.Values(type, random.Shape(1, 5), Draw::kPlain);
  c.Input(x);
  // Before version 13, a row consisted of all axes from `axis` on.
  const bool flat = c.opset < 13;
  const int64_t otherwise = flat ? 1 : x.rank() - 1;
  int64_t axis = random.Chance(40) && otherwise < x.rank() ? otherwise : random.Int(0, x.rank() - 1);
  if (axis != otherwise || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  Array y(type, x.dims);
  Bound bound;
  bound.sizes.resize(y.values.size());
  for (const std::vector<int64_t>& row : RowsOf(x.dims, Along(x.rank(), axis, flat ? x.rank() : axis + 1))) {
    if (row.empty()) continue;
    int64_t largest = row[0];
    for (int64_t i : row)
      if (x[i] > x[largest]) largest = i;
    Number sum = 0;
    for (int64_t i : row) sum += std::exp(x[i] - x[largest]);
    for (int64_t i : row) {
      y[i] = soft == Soft::kSoftmax      ? std::exp(x[i] - x[largest]) / sum
             : soft == Soft::kLogSoftmax ? x[i] - x[largest] - std::log(sum)
                                         : static_cast<Number>(i == largest);
      if (soft == Soft::kLogSoftmax)
        bound.sizes[static_cast<size_t>(i)] = std::max<Number>(1, std::fabs(x[i] - x[largest]) + std::log(sum));
    }
    bound.ulps = std::max<Number>(bound.ulps, 24 + std::sqrt(static_cast<Number>(row.size())));
  }
  if (IsSmall(type)) bound.ulps = 2;
  if (soft == Soft::kHardmax) bound = {};
  c.Output(y, bound);
}

// Sets the attribute, unless it keeps its default `otherwise`.
Number Epsilon(Random& random, Case& c, float otherwise) {
  if (random.Chance(50)) return otherwise;
  const auto epsilon = random.Pick({1e-3F, 0.01F, 0.1F});
  c.Set("epsilon", epsilon);
  return epsilon;
}

struct Moments {
  Number mean = 0;
  Number variance = 0;
  Number largest = 0;  // largest magnitude
};
Moments MomentsOf(const Array& x, const std::vector<int64_t>& row) {
  Moments m;
  for (int64_t i : row) m.mean += x[i] / static_cast<Number>(row.size());
  for (int64_t i : row) m.variance += (x[i] - m.mean) * (x[i] - m.mean) / static_cast<Number>(row.size());
  for (int64_t i : row) m.largest = std::max(m.largest, std::fabs(x[i]));
  return m;
}

// The result y = (x - mean) * inverse * scale + bias. The error is relative to the magnitude of the difference's
// operands.
struct Scaled {
  Number value;
  Number size;
};
Scaled Scale(Number x, const Moments& m, Number inverse, Number scale, Number bias) {
  // The mean, and the product of inverse and scale, may be subnormal floats, with steps that don't shrink with them.
  const Number least = std::ldexp(Number{1}, std::numeric_limits<float>::min_exponent);
  return {(x - m.mean) * inverse * scale + bias,
          (std::fabs(x) + m.largest + least) * (inverse * std::fabs(scale) + least) + std::fabs(bias)};
}

// 16-bit types are computed in float, or rounded after each of three steps, as in the specification's function.
Number Steps(DataType type, Number floats) { return IsSmall(type) ? 4 : floats; }

template <bool kCentred>
void LayerNormalization(Random& random, Case& c) {
  if (!kCentred) c.opset = 23;
  const DataType type = random.FloatType();
  const Array x = random.Values(type, random.ShapeWithoutZero(1, 5), Draw::kPlain);
  const int64_t axis = random.Chance(50) ? x.rank() - 1 : random.Int(0, x.rank() - 1);
  if (axis != x.rank() - 1 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  const Number epsilon = Epsilon(random, c, 1e-5F);
  const Dims inner(x.dims.begin() + axis, x.dims.end());
  // Usually the shape of a row; otherwise one that broadcasts to the input, so that rows may differ.
  const auto parameter_shape = [&] { return random.Chance(70) ? inner : PartOf(random, x.dims); };
  const Array scale = random.Values(type, parameter_shape(), Draw::kPlain);
  Array bias(type, {});
  c.Input(x);
  c.Input(scale);
  if (kCentred && random.Chance(60)) {
    bias = random.Values(type, parameter_shape(), Draw::kPlain);
    c.Input(bias);
  }
  const Array scales = SpreadTo(scale, x.dims), biases = SpreadTo(bias, x.dims);
  Array y(type, x.dims);
  Bound bound{.ulps = Steps(type, 16), .sizes = std::vector<Number>(y.values.size())};
  Dims statistics = x.dims;
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  const DataType stash = type == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  Array means(DataType::kFloat, statistics);
  Array inverses(DataType::kFloat, statistics);
  Bound mean_bound{.ulps = 8, .sizes = std::vector<Number>(means.values.size())};
  const std::vector<std::vector<int64_t>> rows = RowsOf(x.dims, Along(x.rank(), axis, x.rank()));
  for (size_t r = 0; r < rows.size(); ++r) {
    Moments m = MomentsOf(x, rows[r]);
    if (!kCentred) {
      m.variance += m.mean * m.mean;
      m.mean = 0;
    }
    const Number inverse = 1 / std::sqrt(m.variance + epsilon);
    means[static_cast<int64_t>(r)] = m.mean;
    inverses[static_cast<int64_t>(r)] = inverse;
    mean_bound.sizes[r] = m.largest;
    for (size_t j = 0; j < rows[r].size(); ++j) {
      const int64_t i = rows[r][j];
      const Scaled scaled = Scale(x[i], m, inverse, scales[i], biases[i]);
      y[i] = scaled.value;
      bound.sizes[static_cast<size_t>(i)] = scaled.size;
    }
  }
  c.Output(y, bound);
  // The standard deviation of nearly equal numbers is mostly rounding error. It was already checked in y.
  if (kCentred && stash == DataType::kFloat && random.Chance(30)) c.Output(means, mean_bound);
}

void BatchNormalization(Random& random, Case& c) {
  c.opset = 15;
  const DataType type = random.FloatType();
  // A shape with one dimension has only the batch, and a single channel.
  Dims dims = random.Chance(10) ? random.ShapeWithoutZero(1, 1) : random.ShapeWithoutZero(2, 5);
  const Array x = random.Values(type, dims, Draw::kPlain);
  const Dims channels = {dims.size() == 1 ? 1 : dims[1]};
  const Number epsilon = Epsilon(random, c, 1e-5F);
  const Array scale = random.Values(type, channels, Draw::kPlain);
  const Array bias = random.Values(type, channels, Draw::kPlain);
  const Array mean = random.Values(type, channels, Draw::kUnit);
  const Array variance = random.Values(type, channels, Draw::kPositive);
  for (const Array* input : {&x, &scale, &bias, &mean, &variance}) c.Input(*input);
  const bool training = random.Chance(25);
  Number momentum = 0.9F;
  if (training) {
    c.Set("training_mode", 1);
    if (random.Chance(50)) c.Set("momentum", static_cast<float>(momentum = 0.75L));
  }
  std::vector<bool> along(dims.size(), true);
  if (dims.size() > 1) along[1] = false;
  Array y(type, dims);
  Array new_mean = mean;
  Array new_variance = variance;
  Bound bound{.ulps = Steps(type, 16), .sizes = std::vector<Number>(y.values.size())};
  const std::vector<std::vector<int64_t>> rows = RowsOf(dims, along);
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto channel = static_cast<int64_t>(r);
    Moments m = MomentsOf(x, rows[r]);
    new_mean[channel] = mean[channel] * momentum + m.mean * (1 - momentum);
    new_variance[channel] = variance[channel] * momentum + m.variance * (1 - momentum);
    if (!training) {
      m.mean = mean[channel];
      m.variance = variance[channel];
      m.largest = std::fabs(m.mean);
    }
    const Number inverse = 1 / std::sqrt(m.variance + epsilon);
    for (int64_t i : rows[r]) {
      const Scaled scaled = Scale(x[i], m, inverse, scale[channel], bias[channel]);
      y[i] = scaled.value;
      bound.sizes[static_cast<size_t>(i)] = scaled.size;
    }
  }
  c.Output(y, bound);
  if (!training) return;
  c.Output(new_mean, {.ulps = 8, .sizes = std::vector<Number>(new_mean.values.size(), 8)});
  c.Output(new_variance, {.ulps = 8, .sizes = std::vector<Number>(new_mean.values.size(), 64)});
}

// Normalizes groups of channels; a group of one channel is instance normalization.
void Groups(Random& random, Case& c, bool instance) {
  c.opset = instance ? 22 : 21;
  const DataType type = random.FloatType();
  const int64_t rank = random.Int(3, 5);
  Dims dims = random.ShapeWithoutZero(rank, rank, 6000);
  const int64_t groups = instance ? dims[1] : random.Pick({1, 2, 3});
  if (!instance) {
    dims[1] = groups * random.Int(1, 12);
    c.Set("num_groups", groups);
  }
  const Array x = random.Values(type, dims, Draw::kPlain);
  const Array scale = random.Values(type, {dims[1]}, Draw::kPlain);
  const Array bias = random.Values(type, {dims[1]}, Draw::kPlain);
  for (const Array* input : {&x, &scale, &bias}) c.Input(*input);
  const Number epsilon = Epsilon(random, c, 1e-5F);
  const int64_t plane = CountOf(Dims(dims.begin() + 2, dims.end()));
  const int64_t group = dims[1] / groups * plane;
  Array y(type, dims);
  // Groups have up to 70,000 values, and their sums accumulate rounding errors.
  Bound bound{.ulps = Steps(type, 16 + std::sqrt(static_cast<Number>(group)) / 16),
              .sizes = std::vector<Number>(y.values.size())};
  for (int64_t start = 0; start < x.count(); start += group) {
    std::vector<int64_t> row;
    for (int64_t i = start; i < start + group; ++i) row.push_back(i);
    const Moments m = MomentsOf(x, row);
    for (int64_t i : row) {
      const int64_t channel = i / plane % dims[1];
      const Scaled scaled = Scale(x[i], m, 1 / std::sqrt(m.variance + epsilon), scale[channel], bias[channel]);
      y[i] = scaled.value;
      bound.sizes[static_cast<size_t>(i)] = scaled.size;
    }
  }
  c.Output(y, bound);
}
void GroupNormalization(Random& random, Case& c) { Groups(random, c, false); }
void InstanceNormalization(Random& random, Case& c) { Groups(random, c, true); }

void MeanVarianceNormalization(Random& random, Case& c) {
  c.opset = 13;
  const DataType type = random.FloatType();
  const bool otherwise = random.Chance(40);
  const Array x = random.Values(type, random.ShapeWithoutZero(otherwise ? 4 : 1, otherwise ? 4 : 5), Draw::kPlain);
  c.Input(x);
  std::vector<bool> along(x.dims.size(), false);
  if (otherwise) {
    along = {true, false, true, true};
  } else {
    const std::vector<int64_t> axes = random.Axes(x.rank(), 1);
    for (int64_t axis : axes) along[static_cast<size_t>(axis)] = true;
    c.Set("axes", axes);
  }
  Array y(type, x.dims);
  Bound bound{.ulps = Steps(type, 16), .sizes = std::vector<Number>(y.values.size())};
  for (const std::vector<int64_t>& row : RowsOf(x.dims, along)) {
    const Moments m = MomentsOf(x, row);
    // For equal numbers, only rounding error remains, whatever the divisor.
    const bool flat = m.variance < 1e-6L;
    for (int64_t i : row) {
      const Scaled scaled = Scale(x[i], m, 1 / (std::sqrt(m.variance) + 1e-9L), 1, 0);
      y[i] = scaled.value;
      bound.sizes[static_cast<size_t>(i)] = flat ? HUGE_VALL : scaled.size;
    }
  }
  c.Output(y, bound);
}

void LpNormalization(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const Array x = random.Values(type, random.ShapeWithoutZero(1, 5), Draw::kPositive);
  c.Input(x);
  const int64_t axis = random.Chance(50) ? x.rank() - 1 : random.Int(0, x.rank() - 1);
  if (axis != x.rank() - 1 || random.Chance(50)) c.Set("axis", random.MaybeNegative(axis, x.rank()));
  const int64_t p = random.Int(1, 2);
  if (p != 2 || random.Chance(50)) c.Set("p", p);
  Array y(type, x.dims);
  for (const std::vector<int64_t>& row : RowsOf(x.dims, Along(x.rank(), axis, axis + 1))) {
    Number norm = 0;
    for (int64_t i : row) norm += p == 1 ? std::fabs(x[i]) : x[i] * x[i];
    if (p == 2) norm = std::sqrt(norm);
    for (int64_t i : row) y[i] = x[i] / norm;
  }
  c.Output(y, {.ulps = Steps(type, 16)});
}

void Lrn(Random& random, Case& c) {
  c.opset = 13;
  const DataType type = random.FloatType();
  const Array x = random.Values(type, random.ShapeWithoutZero(3, 5, 6000), Draw::kPlain);
  c.Input(x);
  const int64_t size = random.Int(1, 7);
  c.Set("size", size);
  Number alpha = 0.0001F;
  Number beta = 0.75F;
  Number bias = 1;
  if (random.Chance(50)) c.Set("alpha", static_cast<float>(alpha = 0.5L));
  if (random.Chance(50)) c.Set("beta", static_cast<float>(beta = 0.5L));
  if (random.Chance(50)) c.Set("bias", static_cast<float>(bias = 2));
  Array y(type, x.dims);
  const int64_t plane = CountOf(Dims(x.dims.begin() + 2, x.dims.end()));
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t channel = i / plane % x.dims[1];
    Number sum = 0;
    for (int64_t j = std::max<int64_t>(0, channel - (size - 1) / 2); j <= std::min(x.dims[1] - 1, channel + size / 2);
         ++j)
      sum += x[i + (j - channel) * plane] * x[i + (j - channel) * plane];
    y[i] = x[i] / std::pow(bias + alpha / static_cast<Number>(size) * sum, beta);
  }
  c.Output(y, {.ulps = Steps(type, 16)});
}

// Computes the mean, the sum or each of the elements' losses, weighted by class.
void Loss(Random& random, Case& c, bool softmax) {
  const DataType type = random.FloatType();
  Dims dims = random.ShapeWithoutZero(2, 4, 3000);
  const int64_t classes = dims[1];
  const Array x = random.Values(type, dims, Draw::kPlain);
  Dims target_dims = {dims[0]};
  target_dims.insert(target_dims.end(), dims.begin() + 2, dims.end());
  Array target = random.Integers(random.Pick({DataType::kInt32, DataType::kInt64}), target_dims, 0, classes - 1);
  int64_t ignored = INT64_MIN;
  if (random.Chance(40)) {
    ignored = random.Chance(50) ? random.Int(0, classes - 1) : -100;
    c.Set("ignore_index", ignored);
    for (Number& value : target.values)
      if (random.Chance(20)) value = static_cast<Number>(ignored);
    target[0] = static_cast<Number>(ignored == 0 ? classes - 1 : 0);
  }
  Array weights(type, {classes}, std::vector<Number>(static_cast<size_t>(classes), 1));
  c.Input(x);
  c.Input(target);
  if (random.Chance(50)) {
    weights = random.Values(type, weights.dims, Draw::kPositive);
    c.Input(weights);
  }
  const std::string reduction = random.Pick<const char*>({"none", "mean", "sum"});
  if (reduction != "mean" || random.Chance(50)) c.Set("reduction", reduction);
  Array logs = x;
  if (softmax) {
    for (const std::vector<int64_t>& row : RowsOf(dims, Along(x.rank(), 1, 2))) {
      Number sum = 0;
      for (int64_t i : row) sum += std::exp(x[i]);
      for (int64_t i : row) logs[i] = x[i] - std::log(sum);
    }
  }
  Array losses(type, target_dims);
  Number total = 0;
  Number weight = 0;
  Number size = 0;
  ForEachIndex(target_dims, [&](const Dims& index, int64_t i) {
    if (target[i] == static_cast<Number>(ignored)) return;
    Dims at = index;
    at.insert(at.begin() + 1, static_cast<int64_t>(target[i]));
    const Number own = weights[static_cast<int64_t>(target[i])];
    losses[i] = -logs.At(at) * own;
    total += losses[i];
    size += 16 * own;
    weight += own;
  });
  const Number steps = Steps(type, 32);
  if (reduction == "none") {
    c.Output(losses, {.ulps = steps, .sizes = std::vector<Number>(losses.values.size(), 16 * 8)});
  } else {
    const Number divisor = reduction == "mean" ? weight : 1;
    c.Output(Scalar(type, total / divisor), {.ulps = steps, .sizes = {size / divisor}});
  }
  if (softmax && random.Chance(40))
    c.Output(logs, {.ulps = steps, .sizes = std::vector<Number>(logs.values.size(), 16)});
}
void LikelihoodLoss(Random& random, Case& c) { Loss(random, c, false); }
void EntropyLoss(Random& random, Case& c) { Loss(random, c, true); }

void BadLoss(Random& random, Case& c) {
  const int64_t classes = random.Int(1, 5);
  c.Input(random.Values(DataType::kFloat, {2, classes}, Draw::kPlain));
  c.Input(Array(DataType::kInt64, {2}, {0, static_cast<Number>(random.Chance(50) ? classes : -1)}));
  c.Output(Array(DataType::kFloat, {}));
  c.MustFail();
}

}  // namespace

std::vector<OperatorCases> NormalizationOperators() {
  return {
      {"BatchNormalization", "", BatchNormalization},
      {"GroupNormalization", "", GroupNormalization},
      {"Hardmax", "", Softmax<Soft::kHardmax>},
      {"InstanceNormalization", "", InstanceNormalization},
      {"LRN", "", Lrn},
      {"LayerNormalization", "", LayerNormalization<true>},
      {"LogSoftmax", "", Softmax<Soft::kLogSoftmax>},
      {"LpNormalization", "", LpNormalization},
      {"MeanVarianceNormalization", "", MeanVarianceNormalization},
      {"NegativeLogLikelihoodLoss", "", LikelihoodLoss, BadLoss},
      {"RMSNormalization", "", LayerNormalization<false>},
      {"Softmax", "", Softmax<Soft::kSoftmax>},
      {"SoftmaxCrossEntropyLoss", "", EntropyLoss, BadLoss},
  };
}

}  // namespace epiphyte::operators
