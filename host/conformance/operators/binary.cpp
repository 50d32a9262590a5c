// Element-wise functions of two or more inputs with broadcasting.
#include <cmath>

#include "host/conformance/operators/broadcast.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {
namespace {

struct Pair {
  Array a, b;
};

// Returns two arrays with shapes that broadcast.
Pair TwoOf(Random& random, DataType type, Draw draw) {
  const Dims dims = random.Shape(0, 5);
  Array a = random.Values(type, PartOf(random, dims), draw);
  Array b = random.Values(type, random.Chance(70) ? PartOf(random, dims) : a.dims, draw);
  return {std::move(a), std::move(b)};
}

template <typename F>
Array Combine(const Array& a, const Array& b, DataType type, const F& function) {
  const Dims dims = Spread(a.dims, b.dims);
  Array y(type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) { y[i] = function(SpreadAt(a, index), SpreadAt(b, index)); });
  return y;
}

// Bound for a result that is the exact one, rounded once. For double, the reference adds a second rounding.
Bound Exact(DataType type) { return {.ulps = type == DataType::kDouble ? Number{1} : 0}; }

struct Sum {
  static Number OfFloats(Number a, Number b) { return a + b; }
  static __int128 OfIntegers(__int128 a, __int128 b) { return a + b; }
};
struct Difference {
  static Number OfFloats(Number a, Number b) { return a - b; }
  static __int128 OfIntegers(__int128 a, __int128 b) { return a - b; }
};
struct Product {
  static Number OfFloats(Number a, Number b) { return a * b; }
  static __int128 OfIntegers(__int128 a, __int128 b) {
    return static_cast<__int128>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  }
};
struct Quotient {
  static Number OfFloats(Number a, Number b) { return a / b; }
  static __int128 OfIntegers(__int128 a, __int128 b) { return a / b; }
};

template <typename Op>
void Arithmetic(Random& random, Case& c) {
  const DataType type = random.NumberType();
  c.opset = random.Int(14, 21);
  Pair pair = TwoOf(random, type, Draw::kAll);
  if (std::is_same_v<Op, Quotient> && IsInteger(type))
    for (Number& value : pair.b.values) value = value == 0 || value == -1 ? 3 : value;
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, type,
                   [&](Number a, Number b) {
                     if (IsFloat(type)) return Op::OfFloats(a, b);
                     return Wrap(type, Op::OfIntegers(static_cast<__int128>(a), static_cast<__int128>(b)));
                   }),
           Exact(type));
}

void Mod(Random& random, Case& c) {
  const DataType type = random.NumberType();
  Pair pair = TwoOf(random, type, Draw::kFinite);
  for (Number& value : pair.b.values)
    if (value == 0 || (IsInteger(type) && value == -1)) value = 3;
  const bool fmod = IsFloat(type) || random.Chance(30);
  if (fmod || random.Chance(30)) c.Set("fmod", fmod);
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, type, [&](Number a, Number b) {
    const Number rest = std::fmod(a, b);
    return fmod || rest == 0 || (rest < 0) == (b < 0) ? rest : rest + b;
  }));
}

void BitShift(Random& random, Case& c) {
  const DataType type = random.Pick({DataType::kUint8, DataType::kUint16, DataType::kUint32, DataType::kUint64});
  const bool left = random.Chance(50);
  c.Set("direction", left ? "LEFT" : "RIGHT");
  Pair pair = TwoOf(random, type, Draw::kAll);
  pair.b = random.Integers(type, pair.b.dims, 0, static_cast<int64_t>(core::DataTypeBits(type)) - 1);
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, type, [&](Number a, Number b) {
    const auto bits = static_cast<__int128>(a);
    return Wrap(type, left ? bits << static_cast<int>(b) : bits >> static_cast<int>(b));
  }));
}

Number PowerOf(Number a, Number b) { return std::pow(a, b); }

void Pow(Random& random, Case& c) {
  c.opset = random.Int(15, 21);
  const DataType type = random.Chance(70) ? random.FloatType() : random.Pick({DataType::kInt32, DataType::kInt64});
  const DataType exponent = random.Chance(60) ? type : random.NumberType();
  const Dims dims = random.Shape(0, 5);
  Array a = random.Values(type, PartOf(random, dims), IsFloat(type) ? Draw::kPositive : Draw::kPlain);
  Array b = IsFloat(exponent) && IsFloat(type) ? random.Values(exponent, PartOf(random, dims), Draw::kPlain)
                                               : random.Integers(exponent, PartOf(random, dims), 0, 5);
  if (random.Chance(40)) b = Array(exponent, {}, {static_cast<Number>(random.Int(0, 3))});
  c.Input(a);
  c.Input(b);
  c.Output(Combine(a, b, type, PowerOf), {.ulps = IsFloat(type) ? Number{16} : 0});
}

template <bool (*function)(Number, Number)>
void Compare(Random& random, Case& c) {
  c.opset = random.Int(16, 21);
  const DataType type = random.NumberType();
  const Pair pair = TwoOf(random, type, random.Chance(50) ? Draw::kAll : Draw::kFew);
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, DataType::kBool, [](Number a, Number b) { return Number(function(a, b)); }));
}
bool IsEqual(Number a, Number b) { return a == b; }
bool IsGreater(Number a, Number b) { return a > b; }
bool IsGreaterOrEqual(Number a, Number b) { return a >= b; }
bool IsLess(Number a, Number b) { return a < b; }
bool IsLessOrEqual(Number a, Number b) { return a <= b; }

void Equal(Random& random, Case& c) {
  if (random.Chance(80)) return Compare<IsEqual>(random, c);
  const Pair pair = TwoOf(random, random.Pick({DataType::kBool, DataType::kString}), Draw::kFew);
  c.opset = 19;
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, DataType::kBool, [](Number a, Number b) { return Number(a == b); }));
}

template <bool (*function)(bool, bool)>
void Logical(Random& random, Case& c) {
  const Pair pair = TwoOf(random, DataType::kBool, Draw::kAll);
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, DataType::kBool,
                   [](Number a, Number b) { return Number(function(a != 0, b != 0)); }));
}
bool BothOf(bool a, bool b) { return a && b; }
bool EitherOf(bool a, bool b) { return a || b; }
bool OneOf(bool a, bool b) { return a != b; }

template <__int128 (*function)(__int128, __int128)>
void Bitwise(Random& random, Case& c) {
  const DataType type = random.IntegerType();
  const Pair pair = TwoOf(random, type, Draw::kAll);
  c.Input(pair.a);
  c.Input(pair.b);
  c.Output(Combine(pair.a, pair.b, type, [&](Number a, Number b) {
    return Wrap(type, function(static_cast<__int128>(a), static_cast<__int128>(b)));
  }));
}
__int128 BitsOfBoth(__int128 a, __int128 b) { return a & b; }
__int128 BitsOfEither(__int128 a, __int128 b) { return a | b; }
__int128 BitsOfOne(__int128 a, __int128 b) { return a ^ b; }

void PRelu(Random& random, Case& c) {
  const DataType type = random.FloatType();
  const Dims dims = random.Shape(0, 5);
  const Array x = random.Values(type, dims, Draw::kAll);
  const Array slope = random.Values(type, PartOf(random, dims), Draw::kPlain);
  c.opset = 16;
  c.Input(x);
  c.Input(slope);
  c.Output(Combine(x, slope, type, [](Number a, Number b) { return a < 0 ? a * b : a; }), Exact(type));
}

void Where(Random& random, Case& c) {
  const DataType type = random.AnyType();
  const Dims dims = random.Shape(0, 5);
  const Array condition = random.Values(DataType::kBool, PartOf(random, dims), Draw::kAll);
  const Array x = random.Values(type, PartOf(random, dims), Draw::kAll);
  const Array y = random.Values(type, PartOf(random, dims), Draw::kAll);
  c.opset = 16;
  c.Input(condition);
  c.Input(x);
  c.Input(y);
  const Dims all = Spread(Spread(condition.dims, x.dims), y.dims);
  Array chosen(type, all);
  ForEachIndex(all, [&](const Dims& index, int64_t i) {
    chosen[i] = SpreadAt(condition, index) != 0 ? SpreadAt(x, index) : SpreadAt(y, index);
  });
  c.Output(chosen, {.signs = true});
}

// Makes one to six inputs, which are combined from the first to the last.
template <typename F>
Array Several(Random& random, Case& c, DataType type, Draw draw, const F& function) {
  const Dims dims = random.Shape(0, 5);
  Array all;
  const int64_t count = random.Int(1, 6);
  for (int64_t i = 0; i < count; ++i) {
    const Array x = random.Values(type, PartOf(random, dims), draw);
    c.Input(x);
    all = i == 0 ? x : Combine(all, x, type, function);
  }
  return all;
}
void Max(Random& random, Case& c) {
  c.Output(Several(random, c, random.NumberType(), Draw::kAll,
                   [](Number a, Number b) { return std::isnan(a) || a > b ? a : b; }));
}
void Min(Random& random, Case& c) {
  c.Output(Several(random, c, random.NumberType(), Draw::kAll,
                   [](Number a, Number b) { return std::isnan(a) || a < b ? a : b; }));
}
Number AddOf(Number a, Number b) { return a + b; }
// The error is one rounding for each input, relative to the largest possible sum of magnitudes.
Bound OfSum(const Case& c, const Array& y) {
  const Number count = static_cast<Number>(c.inputs.size());
  return {.ulps = count, .sizes = std::vector<Number>(y.values.size(), 8 * count)};
}
void SumOf(Random& random, Case& c) {
  const Array y = Several(random, c, random.FloatType(), Draw::kPlain, AddOf);
  c.Output(y, OfSum(c, y));
}
void Mean(Random& random, Case& c) {
  const Array y = Several(random, c, random.FloatType(), Draw::kPlain, AddOf);
  const auto count = static_cast<Number>(c.inputs.size());
  c.Output(Map(y, [&](Number v) { return v / count; }), OfSum(c, y));
}

}  // namespace

std::vector<OperatorCases> BinaryOperators() {
  return {
      {"Add", "", Arithmetic<Sum>},
      {"And", "", Logical<BothOf>},
      {"BitShift", "", BitShift},
      {"BitwiseAnd", "", Bitwise<BitsOfBoth>},
      {"BitwiseOr", "", Bitwise<BitsOfEither>},
      {"BitwiseXor", "", Bitwise<BitsOfOne>},
      {"Div", "", Arithmetic<Quotient>},
      {"Equal", "", Equal},
      {"Greater", "", Compare<IsGreater>},
      {"GreaterOrEqual", "", Compare<IsGreaterOrEqual>},
      {"Less", "", Compare<IsLess>},
      {"LessOrEqual", "", Compare<IsLessOrEqual>},
      {"Max", "", Max},
      {"Mean", "", Mean},
      {"Min", "", Min},
      {"Mod", "", Mod},
      {"Mul", "", Arithmetic<Product>},
      {"Or", "", Logical<EitherOf>},
      {"PRelu", "", PRelu},
      {"Pow", "", Pow},
      {"Sub", "", Arithmetic<Difference>},
      {"Sum", "", SumOf},
      {"Where", "", Where},
      {"Xor", "", Logical<OneOf>},
  };
}

}  // namespace epiphyte::operators
