// Element-wise operators, with and without broadcasting.
#include <numbers>

#include "core/onnx/gradient/rules.h"
#include "core/onnx/infer/value_data.h"

namespace epiphyte::core::gradient {
namespace {

Value Zero(Step& s) { return s.e().Like(0, s.In()); }
Value Positive(Step& s, Value x) { return s.e().Op("Greater", {x, s.e().Like(0, x)}); }
// min(x, 0). An exponential of it stays finite, also in further derivatives.
Value Negatives(Step& s, Value x) { return s.e().Op("Min", {x, s.e().Like(0, x)}); }

bool IsConstantFalse(const ValueDef* flag) {
  const ConstantPtr constant = ValueData::ConstantOf(flag);
  return constant != nullptr && constant->type() == DataType::kBool && constant->element_count() == 1 &&
         *static_cast<const uint8_t*>(constant->bytes()) == 0;
}

void GiveTimes(Step& s, Value factor) { s.Give(0, s.e().Mul(s.g(), factor)); }
void GiveOver(Step& s, Value divisor) { s.Give(0, s.e().Div(s.g(), divisor)); }
// x² + a
Value SquarePlus(Step& s, double a) { return s.e().Add(s.e().Square(s.In()), s.e().Like(a, s.In())); }
// a - v²
Value Minus(Step& s, double a, Value v) { return s.e().Sub(s.e().Like(a, v), s.e().Square(v)); }

void GiveWhere(Step& s, Value condition, Value otherwise) { s.Give(0, s.e().Where(condition, s.g(), otherwise)); }

void Cast(Step& s) { s.Give(0, s.e().CastLike(s.g(), s.In())); }

void Elu(Step& s) {
  Emitter& e = s.e();
  const Value slope = e.Times(e.Op("Exp", {Negatives(s, s.In())}), s.Float("alpha", 1));
  GiveWhere(s, Positive(s, s.In()), e.Mul(s.g(), slope));
}

void Selu(Step& s) {
  Emitter& e = s.e();
  const double alpha = s.Float("alpha", 1.67326319217681884765625f), gamma = s.Float("gamma", 1.05070102214813232422f);
  const Value slope = e.Times(e.Op("Exp", {Negatives(s, s.In())}), alpha * gamma);
  s.Give(0, e.Where(Positive(s, s.In()), e.Times(s.g(), gamma), e.Mul(s.g(), slope)));
}

void LeakyRelu(Step& s) { GiveWhere(s, Positive(s, s.In()), s.e().Times(s.g(), s.Float("alpha", 0.01f))); }

void ThresholdedRelu(Step& s) {
  GiveWhere(s, s.e().Op("Greater", {s.In(), s.e().Like(s.Float("alpha", 1), s.In())}), Zero(s));
}

void HardSigmoid(Step& s) {
  Emitter& e = s.e();
  const Value y = s.Out();
  const Value inside = e.Op("And", {Positive(s, y), e.Less(y, e.Like(1, y))});
  s.Give(0, e.Where(inside, e.Times(s.g(), s.Float("alpha", 0.2f)), Zero(s)));
}

void Shrink(Step& s) {
  Emitter& e = s.e();
  const Value outside = e.Op("Greater", {e.Op("Abs", {s.In()}), e.Like(s.Float("lambd", 0.5f), s.In())});
  GiveWhere(s, outside, Zero(s));
}

void PRelu(Step& s) {
  Emitter& e = s.e();
  const Value negative = e.Less(s.In(), Zero(s));
  if (s.Wants(0)) s.Give(0, e.Where(negative, e.Mul(s.g(), s.In(1)), s.g()));
  if (s.Wants(1)) s.GiveSum(1, e.Where(negative, e.Mul(s.g(), s.In()), Zero(s)));
}

void Add(Step& s) {
  for (const size_t i : {0, 1}) s.GiveSum(i, s.g());
}

void Sub(Step& s) {
  s.GiveSum(0, s.g());
  if (s.Wants(1)) s.GiveSum(1, s.e().Neg(s.g()));
}

void Mul(Step& s) {
  for (const size_t i : {0, 1})
    if (s.Wants(i)) s.GiveSum(i, s.e().Mul(s.g(), s.In(1 - i)));
}

void Div(Step& s) {
  const Value part = s.e().Div(s.g(), s.In(1));
  s.GiveSum(0, part);
  if (s.Wants(1)) s.GiveSum(1, s.e().Neg(s.e().Mul(part, s.Out())));
}

// The result is 1 for an exponent of 0, whatever the base.
void Pow(Step& s) {
  Emitter& e = s.e();
  const Value exponent = e.CastLike(s.In(1), s.In());  // the exponent may have another type
  const Value zero = Zero(s);
  if (s.Wants(0)) {
    const Value slope = e.Mul(exponent, e.Op("Pow", {s.In(), e.Sub(exponent, e.Like(1, s.In()))}));
    s.GiveSum(0, e.Mul(s.g(), e.Where(e.Op("Equal", {exponent, zero}), zero, slope)));
  }
  if (s.Wants(1)) {
    const Value base = e.Where(Positive(s, s.In()), s.In(), e.Like(1, s.In()));
    const Value part = e.Mul(s.g(), e.Mul(s.Out(), e.Op("Log", {base})));
    s.GiveSum(1, e.CastLike(part, s.In(1)));
  }
}

void Sum(Step& s) {
  for (size_t i = 0; i < s.node().inputs().size(); ++i) s.GiveSum(i, s.g());
}

void Mean(Step& s) {
  const Value part = s.e().Times(s.g(), 1.0 / static_cast<double>(s.node().inputs().size()));
  for (size_t i = 0; i < s.node().inputs().size(); ++i) s.GiveSum(i, part);
}

// Max and Min: inputs that are equal to the extreme share the derivative.
void Extreme(Step& s) {
  Emitter& e = s.e();
  const size_t count = s.node().inputs().size();
  Values hits;
  for (size_t i = 0; i < count; ++i) hits.push_back(e.CastLike(e.Op("Equal", {s.In(i), s.Out()}), s.In()));
  const Value part = e.Div(s.g(), count == 1 ? hits.front() : e.Op("Sum", hits));
  for (size_t i = 0; i < count; ++i)
    if (s.Wants(i)) s.GiveSum(i, e.Mul(part, hits[i]));
}

void Where(Step& s) {
  Emitter& e = s.e();
  const Value zero = e.Like(0, s.In(1));
  if (s.Wants(1)) s.GiveSum(1, e.Where(s.In(0), s.g(), zero));
  if (s.Wants(2)) s.GiveSum(2, e.Where(s.In(0), zero, s.g()));
}

// The bounds are attributes before opset 11.
void Clip(Step& s) {
  Emitter& e = s.e();
  Value below = nullptr, above = nullptr, outside = nullptr;
  const auto bound = [&](size_t input, std::string_view attribute) -> Value {
    if (s.In(input) != nullptr) return s.In(input);
    const Attribute* number = s.node().FindAttribute(attribute);
    return number == nullptr ? nullptr : e.Like(number->f(), s.In());
  };
  if (const Value low = bound(1, "min")) below = outside = e.Less(s.In(), low);
  if (const Value high = bound(2, "max")) {
    above = e.Op("Greater", {s.In(), high});
    outside = outside == nullptr ? above : e.Op("Or", {below, above});
  }
  s.Give(0, outside == nullptr ? s.g() : e.Where(outside, Zero(s), s.g()));
  if (s.Wants(1)) s.GiveSum(1, e.Where(below, s.g(), Zero(s)));
  if (s.Wants(2)) s.GiveSum(2, e.Where(above, s.g(), Zero(s)));
}

// In training kept elements are scaled; only the mask shows which elements were kept.
void Dropout(Step& s) {
  Emitter& e = s.e();
  const Value training = s.In(2);
  if (training == nullptr || IsConstantFalse(training)) return s.Give(0, s.g());
  if (s.Out(1) == nullptr) s.Refuse("in training it has to make its mask too; give it a second output");
  const Value one = e.Like(1, s.In());
  const Value ratio = s.In(1) == nullptr ? e.Like(0.5, s.In()) : e.CastLike(s.In(1), s.In());
  const Value kept = e.Where(training, e.Sub(one, ratio), one);
  s.Give(0, e.Div(e.Mul(s.g(), e.CastLike(s.Out(1), s.In())), kept));
}

constexpr NamedRule kElementwiseRules[] = {
    {"Abs", [](Step& s) { GiveTimes(s, s.e().Op("Sign", {s.In()})); }},
    {"Acos", [](Step& s) { GiveOver(s, s.e().Neg(s.e().Sqrt(Minus(s, 1, s.In())))); }},
    {"Acosh", [](Step& s) { GiveOver(s, s.e().Sqrt(SquarePlus(s, -1))); }},
    {"Add", Add},
    {"Asin", [](Step& s) { GiveOver(s, s.e().Sqrt(Minus(s, 1, s.In()))); }},
    {"Asinh", [](Step& s) { GiveOver(s, s.e().Sqrt(SquarePlus(s, 1))); }},
    {"Atan", [](Step& s) { GiveOver(s, SquarePlus(s, 1)); }},
    {"Atanh", [](Step& s) { GiveOver(s, Minus(s, 1, s.In())); }},
    {"Cast", Cast},
    {"CastLike", Cast},
    {"Clip", Clip},
    {"Cos", [](Step& s) { GiveTimes(s, s.e().Neg(s.e().Op("Sin", {s.In()}))); }},
    {"Cosh", [](Step& s) { GiveTimes(s, s.e().Op("Sinh", {s.In()})); }},
    {"Div", Div},
    {"Dropout", Dropout},
    {"Elu", Elu},
    {"Erf",
     [](Step& s) {
       const Value bell = s.e().Op("Exp", {s.e().Neg(s.e().Square(s.In()))});
       GiveTimes(s, s.e().Times(bell, 2 * std::numbers::inv_sqrtpi));
     }},
    {"Exp", [](Step& s) { GiveTimes(s, s.Out()); }},
    {"HardSigmoid", HardSigmoid},
    {"Identity", [](Step& s) { s.Give(0, s.g()); }},
    {"LeakyRelu", LeakyRelu},
    {"Log", [](Step& s) { GiveOver(s, s.In()); }},
    {"Max", Extreme},
    {"Mean", Mean},
    {"Min", Extreme},
    {"Mul", Mul},
    {"Neg", [](Step& s) { s.Give(0, s.e().Neg(s.g())); }},
    {"PRelu", PRelu},
    {"Pow", Pow},
    {"Reciprocal", [](Step& s) { GiveTimes(s, s.e().Neg(s.e().Square(s.Out()))); }},
    {"Relu", [](Step& s) { GiveWhere(s, Positive(s, s.In()), Zero(s)); }},
    {"Selu", Selu},
    {"Shrink", Shrink},
    {"Sigmoid", [](Step& s) { GiveTimes(s, s.e().Sub(s.Out(), s.e().Square(s.Out()))); }},
    {"Sin", [](Step& s) { GiveTimes(s, s.e().Op("Cos", {s.In()})); }},
    {"Sinh", [](Step& s) { GiveTimes(s, s.e().Op("Cosh", {s.In()})); }},
    {"Softplus", [](Step& s) { GiveTimes(s, s.e().Op("Sigmoid", {s.In()})); }},
    {"Softsign",
     [](Step& s) { GiveOver(s, s.e().Square(s.e().Add(s.e().Op("Abs", {s.In()}), s.e().Like(1, s.In())))); }},
    {"Sqrt", [](Step& s) { GiveOver(s, s.e().Times(s.Out(), 2)); }},
    {"Sub", Sub},
    {"Sum", Sum},
    {"Tan", [](Step& s) { GiveTimes(s, s.e().Add(s.e().Square(s.Out()), s.e().Like(1, s.Out()))); }},
    {"Tanh", [](Step& s) { GiveTimes(s, Minus(s, 1, s.Out())); }},
    {"ThresholdedRelu", ThresholdedRelu},
    {"Where", Where},
};

}  // namespace

std::span<const NamedRule> ElementwiseRules() { return kElementwiseRules; }

}  // namespace epiphyte::core::gradient
