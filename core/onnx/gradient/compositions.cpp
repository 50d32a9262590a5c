// Operators that are differentiated as compositions of other operators.
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/onnx/gradient/rules.h"

namespace epiphyte::core::gradient {
namespace {

Axes Range(int64_t begin, int64_t end) {
  Axes axes;
  for (int64_t axis = begin; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

int64_t Rank(Step& s) { return static_cast<int64_t>(s.e().RankOf(s.In())); }

// Reshapes a vector with one number for each channel for broadcasting with x[N,C,…].
Value OfChannels(Step& s, Value numbers) {
  if (numbers == nullptr) return nullptr;
  return s.e().CastLike(s.e().Unsqueeze(numbers, Range(1, Rank(s) - 1)), s.In());
}

// Epsilon is added under the root.
Value Normalized(Emitter& e, Value x, Value mean, Value variance, double epsilon) {
  return e.Div(e.Sub(x, mean), e.Sqrt(e.Add(variance, e.Like(epsilon, x))));
}

Value NormalizedOver(Emitter& e, Value x, const Axes& axes, double epsilon) {
  const Value mean = e.Reduce("ReduceMean", x, axes);
  return Normalized(e, x, mean, e.Reduce("ReduceMean", e.Square(e.Sub(x, mean)), axes), epsilon);
}

Value Scaled(Emitter& e, Value x, Value scale, Value bias) {
  const Value scaled = e.Mul(x, scale);
  return bias == nullptr ? scaled : e.Add(scaled, bias);
}

void OnlyOutput(Step& s) {
  for (size_t i = 1; i < s.node().outputs().size(); ++i)
    if (s.g(i) != nullptr)
      s.Refuse("a differentiated value depends on its output {}, but only output 0 has a derivative", i);
}

void BatchNormalization(Step& s) {
  OnlyOutput(s);
  s.RankFrom(2, 0);
  s.Through([&] {
    Emitter& e = s.e();
    const double epsilon = s.Float("epsilon", 1e-5f);
    const bool training = s.Int("training_mode", 0) != 0 || s.node().output(1) != nullptr;
    Axes axes = Range(0, Rank(s));
    axes.erase(axes.begin() + 1);
    const Value normal = training ? NormalizedOver(e, s.In(), axes, epsilon)
                                  : Normalized(e, s.In(), OfChannels(s, s.In(3)), OfChannels(s, s.In(4)), epsilon);
    return Scaled(e, normal, OfChannels(s, s.In(1)), OfChannels(s, s.In(2)));
  });
}

void InstanceNormalization(Step& s) {
  s.Through([&] {
    const Value normal = NormalizedOver(s.e(), s.In(), Range(2, Rank(s)), s.Float("epsilon", 1e-5f));
    return Scaled(s.e(), normal, OfChannels(s, s.In(1)), OfChannels(s, s.In(2)));
  });
}

// Scale and bias have one value for each channel from version 21 on, and one for each group before.
void GroupNormalization(Step& s) {
  s.Through([&] {
    Emitter& e = s.e();
    const Value groups = e.Integers({0, s.Int("num_groups", 1), -1});
    Value normal = NormalizedOver(e, e.ReshapeAround(s.In(), groups), {2}, s.Float("epsilon", 1e-5f));
    if (s.node().since_version() >= 21) {
      normal = e.ReshapeLike(normal, s.In());
      return Scaled(e, normal, OfChannels(s, s.In(1)), OfChannels(s, s.In(2)));
    }
    const auto of_groups = [&](size_t input) { return e.Unsqueeze(s.In(input), {1}); };
    return e.ReshapeLike(Scaled(e, normal, of_groups(1), of_groups(2)), s.In());
  });
}

// Computes in the type of the stash_type attribute.
template <typename Normal>
Value Stashed(Step& s, Normal normal) {
  Emitter& e = s.e();
  const auto stash = static_cast<DataType>(s.Int("stash_type", 1));
  const DataType type = e.TypeOf(s.In());
  const bool wider = stash == DataType::kFloat && type != DataType::kDouble;
  const Value y = normal(wider ? e.Cast(s.In(), stash) : s.In());
  return e.CastLike(y, s.In());
}

void LayerNormalization(Step& s) {
  OnlyOutput(s);
  s.Through([&] {
    const Axes axes = Range(s.Axis(s.Int("axis", -1)), Rank(s));
    const Value normal = Stashed(s, [&](Value x) { return NormalizedOver(s.e(), x, axes, s.Float("epsilon", 1e-5f)); });
    return Scaled(s.e(), normal, s.In(1), s.In(2));
  });
}

void RmsNormalization(Step& s) {
  s.Through([&] {
    Emitter& e = s.e();
    const Axes axes = Range(s.Axis(s.Int("axis", -1)), Rank(s));
    const Value normal = Stashed(s, [&](Value x) {
      const Value square = e.Reduce("ReduceMean", e.Square(x), axes);
      return e.Div(x, e.Sqrt(e.Add(square, e.Like(s.Float("epsilon", 1e-5f), x))));
    });
    return Scaled(e, normal, e.CastLike(s.In(1), s.In()), nullptr);
  });
}

void LpNormalization(Step& s) {
  s.Through([&] {
    Emitter& e = s.e();
    const Axes axes = {s.Axis(s.Int("axis", -1))};
    if (s.Int("p", 2) == 1) return e.Div(s.In(), e.ReduceSum(e.Op("Abs", {s.In()}), axes));
    return e.Div(s.In(), e.Sqrt(e.ReduceSum(e.Square(s.In()), axes)));
  });
}

void MeanVarianceNormalization(Step& s) {
  s.Through([&] {
    Emitter& e = s.e();
    Axes axes = s.Ints("axes");
    if (axes.empty()) axes = {0, 2, 3};
    const Value centered = e.Sub(s.In(), e.Reduce("ReduceMean", s.In(), axes));
    const Value deviation = e.Sqrt(e.Reduce("ReduceMean", e.Square(centered), axes));
    return e.Div(centered, e.Add(deviation, e.Like(1e-9, deviation)));
  });
}

void GlobalAveragePool(Step& s) {
  s.Through([&] { return s.e().Reduce("ReduceMean", s.In(), Range(2, Rank(s))); });
}

void GlobalMaxPool(Step& s) {
  s.Through([&] { return s.e().Reduce("ReduceMax", s.In(), Range(2, Rank(s))); });
}

void Celu(Step& s) {
  s.Through([&] {
    Emitter& e = s.e();
    const double alpha = s.Float("alpha", 1);
    const Value zero = e.Like(0, s.In());
    // Only of non-positive inputs, so that the exponential stays finite.
    const Value power = e.Op("Exp", {e.Times(e.Op("Min", {s.In(), zero}), 1 / alpha)});
    const Value low = e.Times(e.Sub(power, e.Like(1, s.In())), alpha);
    return e.Add(e.Op("Relu", {s.In()}), low);
  });
}

void Gelu(Step& s) {
  s.Through([&] {
    Emitter& e = s.e();
    const Value x = s.In();
    Value bent = nullptr;
    if (s.node().StringAttribute("approximate", "none") == "tanh") {
      const Value cube = e.Times(e.Mul(x, e.Square(x)), 0.044715);
      bent = e.Op("Tanh", {e.Times(e.Add(x, cube), std::numbers::sqrt2 * std::numbers::inv_sqrtpi)});
    } else {
      bent = e.Op("Erf", {e.Times(x, 1 / std::numbers::sqrt2)});
    }
    return e.Mul(e.Times(x, 0.5), e.Add(bent, e.Like(1, x)));
  });
}

void HardSwish(Step& s) {
  s.Through([&] {
    return s.e().Mul(s.In(), s.e().Op("HardSigmoid", {s.In()},
                                      Attributes(Attribute::Float("alpha", 1.0f / 6), Attribute::Float("beta", 0.5f))));
  });
}

void Mish(Step& s) {
  s.Through([&] { return s.e().Mul(s.In(), s.e().Op("Tanh", {s.e().Op("Softplus", {s.In()})})); });
}

void Swish(Step& s) {
  s.Through([&] { return s.e().Mul(s.In(), s.e().Op("Sigmoid", {s.e().Times(s.In(), s.Float("alpha", 1))})); });
}

constexpr NamedRule kCompositionRules[] = {
    {"BatchNormalization", BatchNormalization},
    {"Celu", Celu},
    {"Gelu", Gelu},
    {"GlobalAveragePool", GlobalAveragePool},
    {"GlobalMaxPool", GlobalMaxPool},
    {"GroupNormalization", GroupNormalization},
    {"HardSwish", HardSwish},
    {"InstanceNormalization", InstanceNormalization},
    {"LayerNormalization", LayerNormalization},
    {"LpNormalization", LpNormalization},
    {"MeanVarianceNormalization", MeanVarianceNormalization},
    {"Mish", Mish},
    {"RMSNormalization", RmsNormalization},
    {"Swish", Swish},
};

}  // namespace

std::span<const NamedRule> CompositionRules() { return kCompositionRules; }

}  // namespace epiphyte::core::gradient
