// Fourier transforms and window functions.
#include <algorithm>
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

constexpr Number kPi = 3.14159265358979323846264338327950288L;

struct Complex {
  Number real = 0, imaginary = 0;
};

// Returns element k of the transform of `n` numbers.
template <typename At>
Complex Transformed(int64_t n, int64_t k, bool inverse, const At& at) {
  Complex sum;
  for (int64_t t = 0; t < n; ++t) {
    const Complex x = at(t);
    const Number angle = (inverse ? 2 : -2) * kPi * static_cast<Number>(k * t % n) / static_cast<Number>(n);
    sum.real += x.real * std::cos(angle) - x.imaginary * std::sin(angle);
    sum.imaginary += x.real * std::sin(angle) + x.imaginary * std::cos(angle);
  }
  if (!inverse) return sum;
  return {sum.real / static_cast<Number>(n), sum.imaginary / static_cast<Number>(n)};
}

// An element's error is relative to the largest possible sum of all numbers of the transform.
Bound OfTransform(const Array& y, int64_t n, Number each) {
  const bool is_small = y.type == DataType::kFloat16 || y.type == DataType::kBfloat16;
  return {.ulps = is_small ? Number{2} : 16,
          .sizes = std::vector<Number>(y.values.size(), std::max<Number>(1, each * static_cast<Number>(n)))};
}

// Transforms one half of a spectrum back to its real signal.
void InverseOfHalf(Random& random, Case& c) {
  c.opset = random.Pick({17, 20});
  const DataType type = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble});
  const int64_t rank = random.Int(3, 4);
  Dims dims;
  for (int64_t axis = 0; axis + 1 < rank; ++axis) dims.push_back(random.Int(2, axis == 1 ? 40 : 5));
  dims.push_back(2);
  const Array x = random.Values(type, dims, Draw::kUnit);
  c.Input(x);
  const int64_t otherwise = c.opset == 17 ? 1 : rank - 2;
  const int64_t axis = random.Chance(50) ? otherwise : random.Int(1, rank - 2);
  const int64_t size = dims[static_cast<size_t>(axis)];
  int64_t n = 2 * (size - 1);
  if (random.Chance(40)) {
    n = random.Int(1, 2 * size + 3);
    c.Input(Scalar(DataType::kInt64, static_cast<Number>(n)));
  } else if (c.opset == 20) {
    c.NoInput();
  }
  if (axis != otherwise) {
    if (c.opset == 17) {
      c.Set("axis", random.MaybeNegative(axis, rank));
    } else {
      c.Input(Scalar(DataType::kInt64, static_cast<Number>(random.MaybeNegative(axis, rank))));
    }
  }
  c.Set("inverse", 1);
  c.Set("onesided", 1);
  Dims out = dims;
  out[static_cast<size_t>(axis)] = n;
  out.back() = 1;
  Array y(type, out);
  ForEachIndex(out, [&](const Dims& index, int64_t i) {
    Dims at = index;
    y[i] = Transformed(n, index[static_cast<size_t>(axis)], true, [&](int64_t t) {
             const bool mirrored = t > n / 2;
             const int64_t from = mirrored ? n - t : t;
             if (from >= size) return Complex{};
             at[static_cast<size_t>(axis)] = from;
             at.back() = 0;
             const Number real = x.At(at);
             at.back() = 1;
             return Complex{real, mirrored ? -x.At(at) : x.At(at)};
           }).real;
  });
  c.Output(y, OfTransform(y, n, 1 / static_cast<Number>(n)));
}

void Dft(Random& random, Case& c) {
  if (random.Chance(15)) return InverseOfHalf(random, c);
  c.opset = random.Pick({17, 20});
  const DataType type = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble});
  const bool of_real = random.Chance(50);
  const int64_t rank = random.Int(3, 5);
  Dims dims;
  for (int64_t axis = 0; axis + 1 < rank; ++axis) dims.push_back(random.SizeButNotZero(axis == 1 ? 70 : 5));
  dims.push_back(of_real ? 1 : 2);
  const Array x = random.Values(type, dims, Draw::kUnit);
  c.Input(x);
  const int64_t otherwise = c.opset == 17 ? 1 : rank - 2;
  const int64_t axis = random.Chance(50) ? otherwise : random.Int(1, rank - 2);
  const int64_t size = dims[static_cast<size_t>(axis)];
  int64_t n = size;
  if (random.Chance(40)) {
    n = random.Int(1, size + 8);
    c.Input(Scalar(DataType::kInt64, static_cast<Number>(n)));
  } else if (c.opset == 20) {
    c.NoInput();
  }
  const auto told = static_cast<Number>(random.MaybeNegative(axis, rank));
  if (axis != otherwise || random.Chance(30)) {
    if (c.opset == 17) {
      c.Set("axis", static_cast<int64_t>(told));
    } else {
      c.Input(Scalar(DataType::kInt64, told));
    }
  }
  const bool onesided = of_real && random.Chance(50);
  const bool inverse = !onesided && random.Chance(40);
  if (inverse || random.Chance(30)) c.Set("inverse", inverse);
  if (onesided || random.Chance(30)) c.Set("onesided", onesided);
  Dims out = dims;
  out[static_cast<size_t>(axis)] = onesided ? n / 2 + 1 : n;
  out.back() = 2;
  Array y(type, out);
  ForEachIndex(out, [&](const Dims& index, int64_t i) {
    if (index.back() == 1) return;
    Dims at = index;
    const Complex sum = Transformed(n, index[static_cast<size_t>(axis)], inverse, [&](int64_t t) {
      if (t >= size) return Complex{};
      at[static_cast<size_t>(axis)] = t;
      at.back() = 0;
      Complex value{x.At(at), 0};
      if (!of_real) {
        at.back() = 1;
        value.imaginary = x.At(at);
      }
      return value;
    });
    y[i] = sum.real;
    y[i + 1] = sum.imaginary;
  });
  c.Output(y, OfTransform(y, n, inverse ? 1 / static_cast<Number>(n) : 1));
}

void Stft(Random& random, Case& c) {
  c.opset = 17;
  const DataType type = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble});
  const bool of_real = random.Chance(70);
  const int64_t frame = random.SizeButNotZero(40);
  const int64_t length = frame + random.Int(0, 60);
  const int64_t step = random.Int(1, 20);
  const Array x = random.Values(type, {random.Int(1, 3), length, of_real ? 1 : 2}, Draw::kUnit);
  c.Input(x);
  c.Input(Scalar(DataType::kInt64, static_cast<Number>(step)));
  Array window(type, {frame}, std::vector<Number>(static_cast<size_t>(frame), 1));
  const bool windowed = random.Chance(60);
  if (windowed) {
    window = random.Values(type, {frame}, Draw::kUnit);
    c.Input(window);
  } else {
    c.NoInput();
  }
  if (!windowed || random.Chance(50)) c.Input(Scalar(DataType::kInt64, static_cast<Number>(frame)));
  const bool onesided = of_real && random.Chance(60);
  if (!onesided || random.Chance(50)) c.Set("onesided", onesided);
  Array y(type, {x.dims[0], (length - frame) / step + 1, onesided ? frame / 2 + 1 : frame, 2});
  ForEachIndex({y.dims[0], y.dims[1], y.dims[2]}, [&](const Dims& index, int64_t i) {
    const Complex sum = Transformed(frame, index[2], false, [&](int64_t t) {
      const int64_t at = index[1] * step + t;
      return Complex{x.At({index[0], at, 0}) * window[t], of_real ? 0 : x.At({index[0], at, 1}) * window[t]};
    });
    y[2 * i] = sum.real;
    y[2 * i + 1] = sum.imaginary;
  });
  c.Output(y, OfTransform(y, frame, 1));
}

void WindowOf(Random& random, Case& c, Number a0, Number a1, Number a2) {
  c.opset = 17;
  const int64_t size = random.Chance(10) ? random.Int(100, 5000) : random.Int(2, 70);
  DataType type = DataType::kFloat;
  if (random.Chance(40))
    c.Set("output_datatype",
          static_cast<int64_t>(type = random.Pick({DataType::kFloat, DataType::kDouble, DataType::kFloat16})));
  const bool periodic = random.Chance(60);
  if (!periodic || random.Chance(50)) c.Set("periodic", periodic);
  c.Input(Scalar(random.Pick({DataType::kInt32, DataType::kInt64}), static_cast<Number>(size)));
  Array y(type, {size});
  for (int64_t i = 0; i < size; ++i) {
    const Number angle = 2 * kPi * static_cast<Number>(i) / static_cast<Number>(periodic ? size : size - 1);
    y[i] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  c.Output(y, {.ulps = 4, .sizes = std::vector<Number>(y.values.size(), 1)});
}
void HannWindow(Random& random, Case& c) { WindowOf(random, c, 0.5L, 0.5L, 0); }
void HammingWindow(Random& random, Case& c) { WindowOf(random, c, 25 / 46.0L, 21 / 46.0L, 0); }
void BlackmanWindow(Random& random, Case& c) { WindowOf(random, c, 0.42L, 0.5L, 0.08L); }

void BadWindow(Random& random, Case& c) {
  c.opset = 17;
  c.Input(Scalar(DataType::kInt64,
                 static_cast<Number>(random.Pick<int64_t>({-1, INT64_MIN, int64_t{1} << 60, int64_t{1} << 45}))));
  c.Output(Array(DataType::kFloat, {0}));
  c.MustFail();
}

}  // namespace

std::vector<OperatorCases> SignalOperators() {
  return {
      {"BlackmanWindow", "", BlackmanWindow, BadWindow},
      {"DFT", "", Dft},
      {"HammingWindow", "", HammingWindow, BadWindow},
      {"HannWindow", "", HannWindow, BadWindow},
      {"STFT", "", Stft},
  };
}

}  // namespace epiphyte::operators
