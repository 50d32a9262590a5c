// Operators that move elements: reshape, permute, or place them in a larger tensor.
#include <algorithm>

#include "core/onnx/gradient/rules.h"

namespace epiphyte::core::gradient {
namespace {

void Reshaped(Step& s) { s.Give(0, s.e().ReshapeLike(s.g(), s.In())); }

void Transpose(Step& s) {
  const std::vector<int64_t> perm = s.Ints("perm");
  // Without `perm` the axes are reversed; reversing them again is the inverse.
  if (perm.empty()) return s.Give(0, s.e().Op("Transpose", {s.g()}));
  constexpr int64_t kNone = -1;
  const auto rank = static_cast<int64_t>(perm.size());
  Axes inverse(perm.size(), kNone);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t axis = perm[static_cast<size_t>(i)];
    if (axis < 0 || axis >= rank || inverse[static_cast<size_t>(axis)] != kNone)
      s.Refuse("its perm does not name each of {} axes once", rank);
    inverse[static_cast<size_t>(axis)] = i;
  }
  s.Give(0, s.e().Transpose(s.g(), std::move(inverse)));
}

void Concat(Step& s) {
  Emitter& e = s.e();
  const int64_t axis = s.Int("axis", 1);
  Value begin = e.Integers({0});
  for (size_t i = 0; i < s.node().inputs().size(); ++i) {
    const Value end = e.Add(begin, e.Dim(s.In(i), axis));
    if (s.Wants(i)) s.Give(i, e.Slice(s.g(), begin, end, {axis}));
    begin = end;
  }
}

Value Scattered(Emitter& e, Value to, Value places, Value parts, int64_t axis, bool added) {
  std::vector<Attribute> attributes = Attributes(Attribute::Int("axis", axis));
  if (added) {
    if (e.opset() < 16) {
      e.Unsupported("a derivative takes ScatterElements that adds, which is of opset 16; convert the model to that");
    }
    attributes.push_back(Attribute::String("reduction", "add"));
  }
  return e.Op("ScatterElements", {to, places, parts}, std::move(attributes));
}

// Applies the node to element indices instead of elements. The result tells for each element of the derivative where it
// belongs. `repeats`: an element may be copied to several places.
void GiveByPlaces(Step& s, bool repeats) {
  Emitter& e = s.e();
  if (!s.Wants(0)) s.Refuse("only its first input has a derivative");
  const Value x = s.In(), size = e.SizeOf(x);
  const Value numbers = e.ReshapeLike(e.Op("Range", {e.Integer(0), size, e.Integer(1)}), x);
  Values inputs = {numbers};
  for (size_t i = 1; i < s.node().inputs().size(); ++i) inputs.push_back(s.In(i));
  const Values moved = e.Again(s.node(), inputs);
  Value parts = e.Filled(e.ShapeOf(e.Flat(x)), 0, e.TypeOf(x));
  for (size_t i = 0; i < moved.size(); ++i) {
    if (s.g(i) != nullptr) parts = Scattered(e, parts, e.Flat(moved[i]), e.Flat(s.g(i)), 0, repeats);
  }
  s.Give(0, e.ReshapeLike(parts, x));
}

void Moved(Step& s) { GiveByPlaces(s, false); }
void Repeated(Step& s) { GiveByPlaces(s, true); }

// For constant padding, negative pads remove the added elements. Other modes pad with copies of the input's own
// elements.
void Pad(Step& s) {
  Emitter& e = s.e();
  const std::string mode = s.node().StringAttribute("mode", "constant");
  if (mode != "constant") return Repeated(s);
  if (s.node().input(1) == nullptr) s.Refuse("in this opset its pads are an attribute; convert the model to opset 11");
  const Value part = e.Op("Pad", {s.g(), e.Neg(s.In(1)), nullptr, s.In(3)});
  s.Give(0, part);
  if (!s.Wants(2)) return;
  const auto sum = [&](Value x) { return e.Op("ReduceSum", {x}, Attributes(Attribute::Int("keepdims", 0))); };
  s.Give(2, e.ReshapeLike(e.Sub(sum(s.g()), sum(part)), s.In(2)));
}

void Expand(Step& s) { s.GiveSum(0, s.g()); }

void Trilu(Step& s) { s.Give(0, s.e().Again(s.node(), {s.g(), s.In(1)}).front()); }

bool Adds(Step& s) {
  const std::string reduction = s.node().StringAttribute("reduction", "none");
  if (reduction != "none" && reduction != "add") s.Refuse("its reduction is '{}', none or add expected", reduction);
  return reduction == "add";
}

void ScatterElements(Step& s) {
  Emitter& e = s.e();
  const int64_t axis = s.Int("axis", 0);
  const bool adds = Adds(s);
  if (s.Wants(0)) s.Give(0, adds ? s.g() : Scattered(e, s.g(), s.In(1), e.Zeros(s.In(2)), axis, false));
  if (s.Wants(2)) s.Give(2, e.Op("GatherElements", {s.g(), s.In(1)}, Attributes(Attribute::Int("axis", axis))));
}

void ScatterNd(Step& s) {
  Emitter& e = s.e();
  const bool adds = Adds(s);
  if (s.Wants(0)) s.Give(0, adds ? s.g() : e.Op("ScatterND", {s.g(), s.In(1), e.Zeros(s.In(2))}));
  if (s.Wants(2)) s.Give(2, e.Op("GatherND", {s.g(), s.In(1)}));
}

// ConstantOfShape and similar operators depend on shapes only, so they have no rule.
constexpr NamedRule kMovementRules[] = {
    {"Compress", Moved},
    {"Concat", Concat},
    {"DepthToSpace", Moved},
    {"Expand", Expand},
    {"Flatten", Reshaped},
    {"Gather", Repeated},
    {"GatherElements", Repeated},
    {"GatherND", Repeated},
    {"Pad", Pad},
    {"Reshape", Reshaped},
    {"ReverseSequence", Moved},
    {"ScatterElements", ScatterElements},
    {"ScatterND", ScatterNd},
    {"Slice", Moved},
    {"SpaceToDepth", Moved},
    {"Split", Moved},
    {"Squeeze", Reshaped},
    {"Tile", Repeated},
    {"Transpose", Transpose},
    {"Trilu", Trilu},
    {"Unsqueeze", Reshaped},
};

}  // namespace

std::span<const NamedRule> MovementRules() { return kMovementRules; }

}  // namespace epiphyte::core::gradient
