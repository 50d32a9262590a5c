// Element-wise functions of one input.
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

using Function = Number (*)(Number);

// Bound in steps for a transcendental function of floats: the vector loops are polynomials in single precision. 16-bit
// types are computed in float and rounded once.
Bound Within(DataType type, Number steps) {
  if (type == DataType::kFloat16 || type == DataType::kBfloat16) return {.ulps = 1};
  return {.ulps = type == DataType::kDouble ? std::min<Number>(steps, 4) : steps};
}

// Bound for x times a factor. The factor may be subnormal, and then has fewer digits.
Bound OfFactor(const Array& x, const Array& y, Bound bound) {
  const Number normal = Smallest(x.type) / Epsilon(x.type);
  for (int64_t i = 0; i < x.count(); ++i)
    bound.sizes.push_back(std::isfinite(x[i]) && std::isfinite(y[i]) && std::fabs(y[i]) < normal * std::fabs(x[i])
                              ? normal * std::fabs(x[i])
                              : 0);
  return bound;
}

// Cases of a function of floats, with arguments from the whole range.
template <Function function, int kSteps>
void OfFloats(Random& random, Case& c) {
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, function), Within(x.type, kSteps));
}

// Cases with arguments in ±1. A random number of the whole range is rarely there.
template <Function function, int kSteps>
void OfUnitFloats(Random& random, Case& c) {
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), random.Chance(80) ? Draw::kUnit : Draw::kAll);
  c.Input(x);
  c.Output(Map(x, function), Within(x.type, kSteps));
}

// Cases of periodic functions, with arguments that are precise enough to resolve a period. Beyond that, libm is no
// better.
template <Function function, int kSteps>
void OfAngles(Random& random, Case& c) {
  Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  for (Number& value : x.values)
    if (std::isfinite(value) && std::fabs(value) > 1e4L) value = Round(x.type, std::remainder(value, 1000));
  c.Input(x);
  // Near a zero of the function, the precision of the argument limits that of the result.
  Bound bound = Within(x.type, kSteps);
  bound.sizes.assign(x.values.size(), 1);
  if (x.type == DataType::kDouble || x.type == DataType::kFloat) bound.ulps = std::max<Number>(bound.ulps, 4);
  const Array y = Map(x, function);
  for (size_t i = 0; i < y.values.size(); ++i)
    if (std::isfinite(y.values[i])) bound.sizes[i] = std::max<Number>(1, y.values[i] * y.values[i]);
  c.Output(y, bound);
}

Number RoundEven(Number x) { return std::nearbyint(x); }
Number Floor(Number x) { return std::floor(x); }
Number Ceil(Number x) { return std::ceil(x); }
Number Sqrt(Number x) { return std::sqrt(x); }
Number Reciprocal(Number x) { return 1 / x; }
Number Exp(Number x) { return std::exp(x); }
Number Log(Number x) { return std::log(x); }
Number Tanh(Number x) { return std::tanh(x); }
Number Sin(Number x) { return std::sin(x); }
Number Cos(Number x) { return std::cos(x); }
Number Tan(Number x) { return std::tan(x); }
Number Asin(Number x) { return std::asin(x); }
Number Acos(Number x) { return std::acos(x); }
Number Atan(Number x) { return std::atan(x); }
Number Sinh(Number x) { return std::sinh(x); }
Number Cosh(Number x) { return std::cosh(x); }
Number Asinh(Number x) { return std::asinh(x); }
Number Acosh(Number x) { return std::acosh(x); }
Number Atanh(Number x) { return std::atanh(x); }
Number Sigmoid(Number x) { return 1 / (1 + std::exp(-x)); }
Number Softplus(Number x) { return x > 100 ? x : std::log1p(std::exp(x)); }
Number Softsign(Number x) { return std::isinf(x) ? std::numeric_limits<Number>::quiet_NaN() : x / (1 + std::fabs(x)); }
Number Relu(Number x) { return std::isnan(x) || x > 0 ? x : 0; }
Number Mish(Number x) { return x * std::tanh(Softplus(x)); }
Number Erf(Number x) { return std::erf(x); }

// Cases of sign, absolute value and similar functions, which wrap when the result is out of range.
template <Function function>
void OfNumbers(Random& random, Case& c, DataType type) {
  const Array x = random.Values(type, random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  Array y = Map(x, function);
  if (!IsFloat(type))
    for (Number& value : y.values) value = Wrap(type, static_cast<__int128>(value));
  c.Output(y);
}
Number Absolute(Number x) { return std::fabs(x); }
Number Negative(Number x) { return -x; }
Number SignOf(Number x) { return std::isnan(x) ? x : static_cast<Number>((x > 0) - (x < 0)); }

void Abs(Random& random, Case& c) { OfNumbers<Absolute>(random, c, random.NumberType()); }
void Sign(Random& random, Case& c) { OfNumbers<SignOf>(random, c, random.NumberType()); }
void Neg(Random& random, Case& c) {
  DataType type = random.NumberType();
  if (IsUnsigned(type)) type = DataType::kInt16;
  OfNumbers<Negative>(random, c, type);
}
void BitwiseNot(Random& random, Case& c) {
  const Array x = random.Values(random.IntegerType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, [&](Number v) { return Wrap(x.type, ~static_cast<__int128>(v)); }));
}
void Not(Random& random, Case& c) {
  const Array x = random.Values(DataType::kBool, random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, [](Number v) { return Number(v == 0); }));
}
void ReluOfAll(Random& random, Case& c) {
  c.opset = random.Int(14, 21);
  DataType type = random.NumberType();
  if (IsUnsigned(type)) type = DataType::kInt32;
  OfNumbers<Relu>(random, c, type);
}
void ErfOf(Random& random, Case& c) {
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, Erf), Within(x.type, 8));
}
void IsNan(Random& random, Case& c) {
  c.opset = random.Pick({13, 20});
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(
      x, [](Number v) { return Number(std::isnan(v)); }, DataType::kBool));
}
void IsInf(Random& random, Case& c) {
  c.opset = 20;
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  const bool negative = random.Chance(50);
  const bool positive = random.Chance(50);
  if (!negative || random.Chance(50)) c.Set("detect_negative", negative);
  if (!positive || random.Chance(50)) c.Set("detect_positive", positive);
  c.Output(Map(
      x, [&](Number v) { return Number(std::isinf(v) && (v < 0 ? negative : positive)); }, DataType::kBool));
}

// Returns an attribute's value. Sometimes the attribute is omitted and has its default.
Number Parameter(Random& random, Case& c, const std::string& name, float otherwise, Number least, Number most) {
  if (random.Chance(40)) return otherwise;
  const auto value = static_cast<float>(random.Real(least, most));
  c.Set(name, value);
  return value;
}
template <typename F>
void WithParameters(Random& random, Case& c, Number steps, const F& function) {
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, function), Within(x.type, steps));
}
void LeakyRelu(Random& random, Case& c) {
  const Number alpha = Parameter(random, c, "alpha", 0.01F, -1, 1);
  WithParameters(random, c, 1, [=](Number x) { return x < 0 ? alpha * x : x; });
}
void Elu(Random& random, Case& c) {
  const Number alpha = Parameter(random, c, "alpha", 1.0F, 0.1L, 2);
  WithParameters(random, c, 8, [=](Number x) { return x < 0 ? alpha * std::expm1(x) : x; });
}
void Celu(Random& random, Case& c) {
  const Number alpha = Parameter(random, c, "alpha", 1.0F, 0.5L, 2);
  const Array x = random.Values(DataType::kFloat, random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, [=](Number v) { return v < 0 ? alpha * std::expm1(v / alpha) : v; }), Within(x.type, 8));
}
void Selu(Random& random, Case& c) {
  const Number alpha = Parameter(random, c, "alpha", 1.67326319217681884765625F, 0.5L, 2);
  const Number gamma = Parameter(random, c, "gamma", 1.05070102214813232421875F, 0.5L, 2);
  WithParameters(random, c, 8, [=](Number x) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); });
}
void HardSigmoid(Random& random, Case& c) {
  const Number alpha = Parameter(random, c, "alpha", 0.2F, 0.05L, 2);
  const Number beta = Parameter(random, c, "beta", 0.5F, -1, 1);
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  Bound bound = Within(x.type, 2);
  bound.sizes.assign(x.values.size(), 1);
  c.Output(Map(x, [=](Number v) { return std::isnan(v) ? v : std::clamp<Number>(alpha * v + beta, 0, 1); }), bound);
}
void HardSwish(Random& random, Case& c) {
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  // The factor is near 0, as a difference of two halves.
  Bound bound = Within(x.type, 4);
  bound.sizes = Map(x, [](Number v) { return std::fabs(v) < 16 ? std::fabs(v) : 0; }).values;
  c.Output(Map(x, [](Number v) { return v * std::clamp<Number>(v / 6 + 0.5L, 0, 1); }), bound);
}
void ThresholdedRelu(Random& random, Case& c) {
  const Number alpha = Parameter(random, c, "alpha", 1.0F, 0, 4);
  WithParameters(random, c, 0, [=](Number x) { return x > alpha ? x : 0; });
}
void Swish(Random& random, Case& c) {
  c.opset = 24;
  const Number alpha = Parameter(random, c, "alpha", 1.0F, 0.2L, 2);
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  const Array y = Map(x, [=](Number v) { return v * Sigmoid(alpha * v); });
  // The exponent is a rounded product, so the result is off by as many steps as the product is large.
  Bound bound = OfFactor(x, y, Within(x.type, 8));
  for (int64_t i = 0; i < y.count(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    Number& size = bound.sizes[static_cast<size_t>(i)];
    size = std::max(size, std::fabs(y[i]) * std::clamp<Number>(std::fabs(alpha * x[i]) / 4, 1, 200));
  }
  c.Output(y, bound);
}
void MishOf(Random& random, Case& c) {
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  const Array y = Map(x, Mish);
  c.Output(y, OfFactor(x, y, Within(x.type, 8)));
}
void Gelu(Random& random, Case& c) {
  c.opset = 20;
  const bool tanh = random.Chance(50);
  if (tanh || random.Chance(50)) c.Set("approximate", tanh ? "tanh" : "none");
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kFinite);
  c.Input(x);
  const Number root = std::sqrt(2 / std::acos(Number{-1}));
  // The result is computed as half of x times the sum of 1 and a number close to -1.
  Bound bound = Within(x.type, 4);
  bound.sizes = Map(x, [](Number v) { return std::fabs(v) < 16 ? std::fabs(v) : 0; }).values;
  c.Output(Map(x,
               [=](Number v) {
                 const Number inner =
                     tanh ? std::tanh(root * (v + 0.044715L * v * v * v)) : std::erf(v / std::sqrt(Number{2}));
                 return v / 2 * (1 + inner);
               }),
           bound);
}
void Shrink(Random& random, Case& c) {
  const DataType type = random.Pick({DataType::kFloat, DataType::kFloat, DataType::kDouble, DataType::kFloat16});
  const Number bias = Parameter(random, c, "bias", 0.0F, -1, 1);
  const Number lambda = Parameter(random, c, "lambd", 0.5F, 0, 4);
  const Array x = random.Values(type, random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  c.Output(Map(x, [=](Number v) { return v < -lambda ? v + bias : v > lambda ? v - bias : 0; }), Within(type, 1));
}

void Clip(Random& random, Case& c) {
  c.opset = random.Int(13, 21);
  const DataType type = random.NumberType();
  const Array x = random.Values(type, random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  Number least = Lowest(type);
  Number most = Highest(type);
  const auto limit = [&](Number* value) {
    *value = random.Values(type, {}, Draw::kPlain)[0];
    c.Input(Scalar(type, *value));
  };
  if (random.Chance(70)) {
    limit(&least);
  } else {
    c.NoInput();
    if (IsFloat(type)) least = -HUGE_VALL;
  }
  if (random.Chance(70)) {
    limit(&most);
  } else if (IsFloat(type)) {
    most = HUGE_VALL;
  }
  c.Output(Map(x, [=](Number v) {
    for (Number number : {v, least, most})
      if (std::isnan(number)) return number;
    return std::min(most, std::max(v, least));
  }));
}

void Dropout(Random& random, Case& c) {
  c.opset = random.Int(13, 21);
  const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
  c.Input(x);
  if (random.Chance(50)) c.Input(Scalar(DataType::kFloat, 0.5L));
  c.Output(x);
  if (random.Chance(50))
    c.Output(Map(
        x, [](Number) { return Number{1}; }, DataType::kBool));
}

}  // namespace

std::vector<OperatorCases> UnaryOperators() {
  return {
      {"Abs", "", Abs},
      {"Acos", "", OfUnitFloats<Acos, 8>},
      {"Acosh", "", OfFloats<Acosh, 16>},
      {"Asin", "", OfUnitFloats<Asin, 8>},
      {"Asinh", "", OfFloats<Asinh, 16>},
      {"Atan", "", OfFloats<Atan, 8>},
      {"Atanh", "", OfUnitFloats<Atanh, 16>},
      {"BitwiseNot", "", BitwiseNot},
      {"Ceil", "", OfFloats<Ceil, 0>},
      {"Celu", "", Celu},
      {"Clip", "", Clip},
      {"Cos", "", OfAngles<Cos, 4>},
      {"Cosh", "", OfFloats<Cosh, 8>},
      {"Dropout", "", Dropout},
      {"Elu", "", Elu},
      {"Erf", "", ErfOf},
      {"Exp", "", OfFloats<Exp, 8>},
      {"Floor", "", OfFloats<Floor, 0>},
      {"Gelu", "", Gelu},
      {"HardSigmoid", "", HardSigmoid},
      {"HardSwish", "", HardSwish},
      {"IsInf", "", IsInf},
      {"IsNaN", "", IsNan},
      {"LeakyRelu", "", LeakyRelu},
      {"Log", "", OfFloats<Log, 8>},
      {"Mish", "", MishOf},
      {"Neg", "", Neg},
      {"Not", "", Not},
      {"Reciprocal", "", OfFloats<Reciprocal, 1>},
      {"Relu", "", ReluOfAll},
      {"Round", "", OfFloats<RoundEven, 0>},
      {"Selu", "", Selu},
      {"Shrink", "", Shrink},
      {"Sigmoid", "", OfFloats<Sigmoid, 8>},
      {"Sign", "", Sign},
      {"Sin", "", OfAngles<Sin, 4>},
      {"Sinh", "", OfFloats<Sinh, 8>},
      {"Softplus", "", OfFloats<Softplus, 8>},
      {"Softsign", "", OfFloats<Softsign, 4>},
      {"Sqrt", "", OfFloats<Sqrt, 1>},
      {"Swish", "", Swish},
      {"Tan", "", OfAngles<Tan, 8>},
      {"Tanh", "", OfFloats<Tanh, 8>},
      {"ThresholdedRelu", "", ThresholdedRelu},
  };
}

}  // namespace epiphyte::operators
