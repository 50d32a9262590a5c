// Quantization, and products of integers.
#include <algorithm>
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"
#include "host/conformance/operators/windows.h"

namespace epiphyte::operators {
namespace {

DataType ByteType(Random& random) { return random.Pick({DataType::kUint8, DataType::kInt8}); }

// Returns a power of two, with which nothing is rounded before the end, or any scale.
Number ScaleOf(Random& random) {
  if (random.Chance(60)) return std::ldexp(Number{1}, static_cast<int>(random.Int(-6, 2)));
  return Round(DataType::kFloat, random.Real(0.01L, 2));
}

Number Saturated(DataType type, Number value) {
  return std::clamp(std::nearbyint(value), Lowest(type), Highest(type));
}

// Granularity of scales: one scale, one for each index of an axis, or one for each block along the axis.
struct Grain {
  int64_t axis = -1;  // -1: one scale for the tensor
  int64_t block = 0;  // length of a block along the axis; 0: no blocks
  Dims dims;          // dims of the scales

  // Returns the position of an element's scale.
  int64_t PlaceOf(const Dims& index) const {
    if (axis < 0) return 0;
    if (block == 0) return index[static_cast<size_t>(axis)];
    int64_t place = 0;
    for (size_t i = 0; i < index.size(); ++i)
      place = place * dims[i] + (static_cast<int64_t>(i) == axis ? index[i] / block : index[i]);
    return place;
  }
};

Grain GrainOf(Random& random, Case& c, const Dims& dims) {
  Grain grain;
  const auto rank = static_cast<int64_t>(dims.size());
  if (rank == 0 || random.Chance(40)) return grain;
  grain.axis = random.Chance(50) && rank > 1 ? 1 : random.Int(0, rank - 1);
  if (grain.axis != 1 || random.Chance(50)) c.Set("axis", random.MaybeNegative(grain.axis, rank));
  const int64_t size = dims[static_cast<size_t>(grain.axis)];
  if (random.Chance(40)) {
    c.opset = 21;
    grain.block = random.Int(1, std::max<int64_t>(size, 1));
    c.Set("block_size", grain.block);
    grain.dims = dims;
    grain.dims[static_cast<size_t>(grain.axis)] = (size + grain.block - 1) / grain.block;
  } else {
    grain.dims = {size};
  }
  return grain;
}

DataType QuantizedType(Random& random) {
  return random.Pick({DataType::kUint8, DataType::kUint8, DataType::kInt8, DataType::kInt8, DataType::kUint16,
                      DataType::kInt16, DataType::kUint4, DataType::kInt4});
}

void QuantizeLinear(Random& random, Case& c) {
  c.opset = random.Pick({21, 23});
  const DataType type = QuantizedType(random);
  const DataType from = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kFloat16, DataType::kBfloat16});
  const Array x = random.Values(from, random.Shape(0, 4), random.Chance(30) ? Draw::kFinite : Draw::kPlain);
  const Grain grain = GrainOf(random, c, x.dims);
  Array scale(from, grain.dims);
  // Scales are powers of two, so that no quotient is near a tie because of rounding.
  for (Number& value : scale.values) value = std::ldexp(Number{1}, static_cast<int>(random.Int(-6, 2)));
  Array zero(type, grain.dims);
  c.Input(x);
  c.Input(scale);
  if (type != DataType::kUint8 || random.Chance(70)) {
    zero = random.Values(type, grain.dims, Draw::kAll);
    c.Input(zero);
  }
  Array y(type, x.dims);
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) {
    const int64_t place = grain.PlaceOf(index);
    y[i] = Saturated(type, std::nearbyint(x[i] / scale[place]) + zero[place]);
  });
  c.Output(y, {.is_quantized = true});
}

void DequantizeLinear(Random& random, Case& c) {
  c.opset = random.Pick({21, 23});
  const DataType type = random.Chance(15) ? DataType::kInt32 : QuantizedType(random);
  const DataType to = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kFloat16, DataType::kBfloat16});
  const Array x = type == DataType::kInt32 ? random.Integers(type, random.Shape(0, 4), -100000, 100000)
                                           : random.Values(type, random.Shape(0, 4), Draw::kAll);
  const Grain grain = GrainOf(random, c, x.dims);
  Array scale(to, grain.dims);
  for (Number& value : scale.values) value = Round(to, ScaleOf(random));
  Array zero(type, grain.dims);
  c.Input(x);
  c.Input(scale);
  if (type != DataType::kInt32 && random.Chance(70)) {
    zero = random.Values(type, grain.dims, Draw::kAll);
    c.Input(zero);
  }
  Array y(to, x.dims);
  ForEachIndex(x.dims, [&](const Dims& index, int64_t i) {
    const int64_t place = grain.PlaceOf(index);
    y[i] = (x[i] - zero[place]) * scale[place];
  });
  // The difference is exact in float. A 16-bit type may round it before it is scaled.
  c.Output(y, {.ulps = to == DataType::kFloat ? Number{1} : 2});
}

void DynamicQuantizeLinear(Random& random, Case& c) {
  c.opset = 13;
  Array x = random.Values(DataType::kFloat, random.ShapeWithoutZero(0, 4), Draw::kPlain);
  // The result for all zeros is unspecified.
  if (std::all_of(x.values.begin(), x.values.end(), [](Number value) { return value == 0; })) x[0] = 1;
  c.Input(x);
  Number least = 0;
  Number most = 0;
  for (Number value : x.values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // The scale is computed in float, as in the specification's function.
  const Number scale = Round(DataType::kFloat, Round(DataType::kFloat, most - least) / 255);
  const Number zero = Saturated(DataType::kUint8, Round(DataType::kFloat, -least / scale));
  Array y(DataType::kUint8, x.dims);
  for (int64_t i = 0; i < x.count(); ++i)
    y[i] = Saturated(DataType::kUint8, std::nearbyint(Round(DataType::kFloat, x[i] / scale)) + zero);
  c.Output(y, {.ulps = 1, .is_quantized = true});
  c.Output(Scalar(DataType::kFloat, scale), {.ulps = 1});
  c.Output(Scalar(DataType::kUint8, zero), {.ulps = 1, .is_quantized = true});
}

Array Bytes(Random& random, DataType type, const Dims& dims) { return random.Values(type, dims, Draw::kAll); }

// The product of two stacks of matrices, each less its zero point. `b` is one matrix or a stack like a's.
struct IntegerProduct {
  Dims dims;
  std::vector<Number> sums;
};
template <typename ZeroA, typename ZeroB>
IntegerProduct Multiply(const Array& a, const Array& b, const ZeroA& zero_a, const ZeroB& zero_b) {
  IntegerProduct product;
  const int64_t m = a.dims[a.dims.size() - 2];
  const int64_t k = a.dims.back();
  const int64_t n = b.dims.back();
  product.dims = a.dims;
  product.dims.back() = n;
  ForEachIndex(product.dims, [&](const Dims& index, int64_t) {
    const int64_t row = index[index.size() - 2];
    const int64_t column = index.back();
    int64_t stack = 0;
    for (size_t axis = 0; axis + 2 < index.size(); ++axis) stack = stack * a.dims[axis] + index[axis];
    const int64_t b_stack = b.dims.size() == 2 ? 0 : stack;
    Number sum = 0;
    for (int64_t j = 0; j < k; ++j)
      sum += (a[(stack * m + row) * k + j] - zero_a(row)) * (b[(b_stack * k + j) * n + column] - zero_b(column));
    product.sums.push_back(sum);
  });
  return product;
}

struct ByteOperands {
  Array a, b;
};
ByteOperands OperandsOf(Random& random) {
  const int64_t m = random.Size(40);
  const int64_t n = random.Size(70);
  const int64_t k = random.Chance(10) ? random.Int(100, 600) : random.SizeButNotZero(70);
  Dims a_dims = random.ShapeWithoutZero(0, 2, 4);
  Dims b_dims = random.Chance(70) ? Dims{} : a_dims;
  a_dims.insert(a_dims.end(), {m, k});
  b_dims.insert(b_dims.end(), {k, n});
  return {Bytes(random, ByteType(random), a_dims), Bytes(random, ByteType(random), b_dims)};
}

void MatMulInteger(Random& random, Case& c) {
  const ByteOperands of = OperandsOf(random);
  c.Input(of.a);
  c.Input(of.b);
  Array zero_a(of.a.type, {});
  Array zero_b(of.b.type, {});
  const bool with_a = random.Chance(60);
  const bool with_b = random.Chance(60);
  if (with_a) {
    zero_a = Bytes(random, of.a.type, of.a.rank() == 2 && random.Chance(20) ? Dims{of.a.dims[0]} : Dims{});
    c.Input(zero_a);
  } else {
    c.NoInput();
  }
  if (with_b) {
    zero_b = Bytes(random, of.b.type, of.b.rank() == 2 && random.Chance(40) ? Dims{of.b.dims[1]} : Dims{});
    c.Input(zero_b);
  }
  const IntegerProduct product = Multiply(
      of.a, of.b, [&](int64_t row) { return zero_a[zero_a.rank() == 0 ? 0 : row]; },
      [&](int64_t column) { return zero_b[zero_b.rank() == 0 ? 0 : column]; });
  c.Output(Array(DataType::kInt32, product.dims, product.sums));
}

// A scale and a zero point, which become two inputs.
struct Quantization {
  Array scale, zero;
};
Quantization QuantizationOf(Random& random, DataType type, int64_t channels) {
  const Dims dims = channels > 0 ? Dims{channels} : Dims{};
  Quantization made{Array(DataType::kFloat, dims), Bytes(random, type, dims)};
  for (Number& value : made.scale.values) value = std::ldexp(Number{1}, static_cast<int>(random.Int(-5, -1)));
  return made;
}

void QLinearMatMul(Random& random, Case& c) {
  c.opset = random.Pick({10, 21});
  const ByteOperands of = OperandsOf(random);
  const DataType type = ByteType(random);
  const bool by_column = of.b.rank() == 2 && of.b.dims[1] > 0 && random.Chance(40);
  const Quantization a = QuantizationOf(random, of.a.type, 0);
  const Quantization b = QuantizationOf(random, of.b.type, by_column ? of.b.dims[1] : 0);
  Quantization y = QuantizationOf(random, type, 0);
  y.scale[0] *= 16;
  for (const Array* input : std::initializer_list<const Array*>{&of.a, &a.scale, &a.zero, &of.b, &b.scale, &b.zero, &y.scale, &y.zero}) c.Input(*input);
  const auto of_column = [&](const Array& list, int64_t column) { return list[by_column ? column : 0]; };
  const IntegerProduct product = Multiply(
      of.a, of.b, [&](int64_t) { return a.zero[0]; }, [&](int64_t column) { return of_column(b.zero, column); });
  Array result(type, product.dims, product.sums);
  ForEachIndex(result.dims, [&](const Dims& index, int64_t i) {
    result[i] = Saturated(
        type, std::nearbyint(result[i] * a.scale[0] * of_column(b.scale, index.back()) / y.scale[0]) + y.zero[0]);
  });
  c.Output(result, {.is_quantized = true});
}

struct Convolution {
  Windows windows;
  Array x, w;
  int64_t in_each = 0, out_each = 0;
  Dims dims;

  // Returns the sum for an element of the result.
  Number At(const Dims& index, Number zero_x, Number zero_w) const {
    const int64_t first = index[1] / out_each * in_each;
    const int64_t x_plane = CountOf(windows.image);
    const int64_t w_plane = CountOf(windows.kernel);
    Number sum = 0;
    windows.ForEachTap(Dims(index.begin() + 2, index.end()), [&](int64_t tap, int64_t pixel) {
      for (int64_t j = 0; j < in_each; ++j)
        sum += (x[(index[0] * x.dims[1] + first + j) * x_plane + pixel] - zero_x) *
               (w[(index[1] * in_each + j) * w_plane + tap] - zero_w);
    });
    return sum;
  }
};

Convolution ConvolutionOf(Random& random, Case& c) {
  Convolution made;
  const int64_t rank = random.Pick({1, 2, 2, 2, 3});
  made.windows = RandomWindows(random, c, {.rank = rank, .most_image = rank == 3 ? 6 : 10});
  const bool depthwise = random.Chance(20);
  const int64_t groups = depthwise ? random.SizeButNotZero(33) : random.Pick({1, 1, 1, 2});
  made.in_each = depthwise ? 1 : random.SizeButNotZero(20);
  made.out_each = depthwise ? 1 : random.SizeButNotZero(20);
  if (groups > 1 || random.Chance(30)) c.Set("group", groups);
  Dims x_dims = {random.Int(1, 2), groups * made.in_each};
  Dims w_dims = {groups * made.out_each, made.in_each};
  made.dims = {x_dims[0], w_dims[0]};
  x_dims.insert(x_dims.end(), made.windows.image.begin(), made.windows.image.end());
  w_dims.insert(w_dims.end(), made.windows.kernel.begin(), made.windows.kernel.end());
  made.dims.insert(made.dims.end(), made.windows.out.begin(), made.windows.out.end());
  made.x = Bytes(random, ByteType(random), x_dims);
  made.w = Bytes(random, ByteType(random), w_dims);
  return made;
}

void ConvInteger(Random& random, Case& c) {
  const Convolution of = ConvolutionOf(random, c);
  c.Input(of.x);
  c.Input(of.w);
  Array zero_x(of.x.type, {});
  Array zero_w(of.w.type, {});
  if (random.Chance(60)) {
    zero_x = Bytes(random, of.x.type, {});
    c.Input(zero_x);
  } else {
    c.NoInput();
  }
  if (random.Chance(60)) {
    zero_w = Bytes(random, of.w.type, random.Chance(50) ? Dims{of.w.dims[0]} : Dims{});
    c.Input(zero_w);
  }
  Array y(DataType::kInt32, of.dims);
  ForEachIndex(of.dims, [&](const Dims& index, int64_t i) {
    y[i] = of.At(index, zero_x[0], zero_w[zero_w.rank() == 0 ? 0 : index[1]]);
  });
  c.Output(y);
}

void QLinearConv(Random& random, Case& c) {
  const Convolution of = ConvolutionOf(random, c);
  const DataType type = ByteType(random);
  const bool by_channel = random.Chance(50);
  const Quantization x = QuantizationOf(random, of.x.type, 0);
  const Quantization w = QuantizationOf(random, of.w.type, by_channel ? of.w.dims[0] : 0);
  Quantization y = QuantizationOf(random, type, 0);
  y.scale[0] *= 16;
  for (const Array* input : std::initializer_list<const Array*>{&of.x, &x.scale, &x.zero, &of.w, &w.scale, &w.zero, &y.scale, &y.zero}) c.Input(*input);
  Array bias(DataType::kInt32, {of.w.dims[0]});
  if (random.Chance(50)) {
    bias = random.Integers(DataType::kInt32, bias.dims, -3000, 3000);
    c.Input(bias);
  }
  Array result(type, of.dims);
  ForEachIndex(of.dims, [&](const Dims& index, int64_t i) {
    const int64_t channel = by_channel ? index[1] : 0;
    const Number sum = of.At(index, x.zero[0], w.zero[channel]) + bias[index[1]];
    result[i] = Saturated(type, std::nearbyint(sum * x.scale[0] * w.scale[channel] / y.scale[0]) + y.zero[0]);
  });
  c.Output(result, {.is_quantized = true});
}

}  // namespace

std::vector<OperatorCases> QuantizedOperators() {
  return {
      {"ConvInteger", "", ConvInteger},
      {"DequantizeLinear", "", DequantizeLinear},
      {"DynamicQuantizeLinear", "", DynamicQuantizeLinear},
      {"MatMulInteger", "", MatMulInteger},
      {"QLinearConv", "", QLinearConv},
      {"QLinearMatMul", "", QLinearMatMul},
      {"QuantizeLinear", "", QuantizeLinear},
  };
}

}  // namespace epiphyte::operators
