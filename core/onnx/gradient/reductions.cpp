// Reductions, and operators that normalize with a reduction.
#include <algorithm>
#include <numeric>

#include "core/onnx/gradient/rules.h"

namespace epiphyte::core::gradient {
namespace {

// `v` has the shape of the reduction's result. Adds the reduced dimensions with size 1 if the reduction dropped them.
Value Kept(Step& s, Value v) {
  Emitter& e = s.e();
  if (s.Int("keepdims", 1) != 0) return v;
  Axes axes = s.Axes(1);
  // All axes are reduced: the result is a scalar, which broadcasts to any shape.
  if (axes.empty()) return v;
  return e.Unsqueeze(v, std::move(axes));
}

// True when the node reduces over no axes and therefore returns its input.
bool IsNone(Step& s) { return s.Int("noop_with_empty_axes", 0) != 0 && s.Axes(1).empty(); }

Value OverCount(Step& s, Value v) {
  Emitter& e = s.e();
  return e.Div(v, e.CastLike(e.Op("Div", {e.SizeOf(s.In()), e.SizeOf(s.Out())}), s.In()));
}

void GiveExpanded(Step& s, Value v) { s.Give(0, s.e().Expand(Kept(s, v), s.e().ShapeOf(s.In()))); }

// With kept dimensions it doesn't matter which axes were summed, so they may be computed during the run.
void ReduceSum(Step& s) {
  if (s.Int("keepdims", 1) == 0 && IsNone(s)) return s.Give(0, s.g());
  GiveExpanded(s, s.g());
}

void ReduceMean(Step& s) {
  if (s.Int("keepdims", 1) == 0 && IsNone(s)) return s.Give(0, s.g());
  GiveExpanded(s, OverCount(s, s.g()));
}

// Other reductions: multiplies the derivative of the result by the slope of each element.
template <typename Slope>
void GiveSlope(Step& s, Slope slope) {
  if (IsNone(s)) s.Refuse("it reduces over no axes");
  s.Give(0, s.e().Mul(Kept(s, s.g()), slope(s.e(), s.In(), Kept(s, s.Out()))));
}

void ReduceL1(Step& s) {
  GiveSlope(s, [](Emitter& e, Value x, Value) { return e.Op("Sign", {x}); });
}

void ReduceL2(Step& s) {
  GiveSlope(s, [](Emitter& e, Value x, Value y) { return e.Div(x, y); });
}

void ReduceSumSquare(Step& s) {
  GiveSlope(s, [](Emitter& e, Value x, Value) { return e.Times(x, 2); });
}

void ReduceLogSum(Step& s) {
  if (IsNone(s)) s.Refuse("it reduces over no axes");
  GiveExpanded(s, s.e().Mul(s.g(), s.e().Op("Exp", {s.e().Neg(s.Out())})));
}

void ReduceLogSumExp(Step& s) {
  GiveSlope(s, [](Emitter& e, Value x, Value y) { return e.Op("Exp", {e.Sub(x, y)}); });
}

// Elements that are equal to the extreme share the derivative.
void ReduceExtreme(Step& s) {
  Emitter& e = s.e();
  if (IsNone(s)) return s.Give(0, s.g());
  const Value hits = e.CastLike(e.Op("Equal", {s.In(), Kept(s, s.Out())}), s.In());
  Axes axes = s.Axes(1);
  if (axes.empty()) {
    axes.resize(e.RankOf(s.In()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  s.Give(0, e.Mul(e.Div(Kept(s, s.g()), e.ReduceSum(hits, axes)), hits));
}

// Before opset 13 all dimensions from `axis` on are treated as one.
Axes SoftmaxAxes(Step& s) {
  if (s.node().since_version() >= 13) return {s.Int("axis", -1)};
  Axes axes;
  const auto rank = static_cast<int64_t>(s.e().RankOf(s.In()));
  for (int64_t axis = s.Axis(s.Int("axis", 1)); axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

void Softmax(Step& s) {
  Emitter& e = s.e();
  const Value weighted = e.Mul(s.g(), s.Out());
  s.Give(0, e.Sub(weighted, e.Mul(s.Out(), e.ReduceSum(weighted, SoftmaxAxes(s)))));
}

void LogSoftmax(Step& s) {
  Emitter& e = s.e();
  s.Give(0, e.Sub(s.g(), e.Mul(e.Op("Exp", {s.Out()}), e.ReduceSum(s.g(), SoftmaxAxes(s)))));
}

// Each element contributes to all later sums, so the derivative is the cumulative sum in the other direction.
void CumSum(Step& s) {
  const int64_t reverse = s.Int("reverse", 0) != 0 ? 0 : 1;
  s.Give(0,
         s.e().Op("CumSum", {s.g(), s.In(1)},
                  Attributes(Attribute::Int("exclusive", s.Int("exclusive", 0)), Attribute::Int("reverse", reverse))));
}

constexpr NamedRule kReductionRules[] = {
    {"CumSum", CumSum},           {"LogSoftmax", LogSoftmax},           {"ReduceL1", ReduceL1},
    {"ReduceL2", ReduceL2},       {"ReduceLogSum", ReduceLogSum},       {"ReduceLogSumExp", ReduceLogSumExp},
    {"ReduceMax", ReduceExtreme}, {"ReduceMean", ReduceMean},           {"ReduceMin", ReduceExtreme},
    {"ReduceSum", ReduceSum},     {"ReduceSumSquare", ReduceSumSquare}, {"Softmax", Softmax},
};

}  // namespace

std::span<const NamedRule> ReductionRules() { return kReductionRules; }

}  // namespace epiphyte::core::gradient
