// Convolution and pooling.
#include <limits>

#include "core/onnx/gradient/rules.h"

namespace epiphyte::core::gradient {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

struct Window {
  size_t axes = 0;  // number of spatial axes
  std::vector<int64_t> strides, dilations;
  Value kernel = nullptr;     // sizes of the window, int64[axes]
  Value begin = nullptr;      // leading pads, int64[axes]
  std::vector<int64_t> pads;  // attribute 'pads'; empty when they are computed from sizes of the run
  int64_t group = 1;

  std::vector<int64_t> Spatial() const {
    std::vector<int64_t> all;
    for (size_t i = 0; i < axes; ++i) all.push_back(static_cast<int64_t>(i) + 2);
    return all;
  }
};

std::vector<int64_t> IntsOr(const Step& s, std::string_view name, size_t count, int64_t fallback) {
  std::vector<int64_t> found = s.Ints(name);
  return found.empty() ? std::vector<int64_t>(count, fallback) : found;
}

Value Sizes(Emitter& e, Value x) { return e.Dims(x, 2, kEnd); }

// A permutation that starts with `first` and keeps the following `axes` dimensions in place.
Axes Order(Axes first, size_t axes) {
  for (size_t i = 0; i < axes; ++i) first.push_back(static_cast<int64_t>(first.size()));
  return first;
}

// The pads that preserve the size up to the strides: the overhang of the windows, half on each side.
Value SamePads(Emitter& e, const Window& window, Value in, Value out, bool more_in_front) {
  const auto one = [&] { return e.Integer(1); };
  const Value reach = e.Mul(e.Sub(window.kernel, one()), e.Integers(window.dilations));
  const Value last = e.Mul(e.Sub(Sizes(e, out), one()), e.Integers(window.strides));
  const Value beyond = e.Sub(e.Add(e.Add(last, reach), one()), Sizes(e, in));
  const Value total = e.Op("Max", {beyond, e.Integer(0)});
  const Value half = e.Div(total, e.Integer(2));
  return more_in_front ? e.Sub(total, half) : half;
}

Window WindowOf(Step& s, size_t axes, Value kernel) {
  Emitter& e = s.e();
  Window window;
  window.axes = axes;
  window.strides = IntsOr(s, "strides", axes, 1);
  window.dilations = IntsOr(s, "dilations", axes, 1);
  window.group = s.Int("group", 1);
  window.kernel = kernel;
  if (window.strides.size() != axes || window.dilations.size() != axes)
    s.Refuse("its strides and dilations are not those of {} dimensions", axes);
  const std::string mode = s.node().StringAttribute("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    window.begin = SamePads(e, window, s.In(), s.Out(), mode == "SAME_LOWER");
    return window;
  }
  window.pads = mode == "VALID" ? std::vector<int64_t>(2 * axes, 0) : IntsOr(s, "pads", 2 * axes, 0);
  if (window.pads.size() != 2 * axes) s.Refuse("its pads are not those of {} dimensions", axes);
  window.begin = e.Integers({window.pads.begin(), window.pads.begin() + static_cast<std::ptrdiff_t>(axes)});
  return window;
}

// The derivative by the input `x` of a convolution with weights `w`: transposed convolution of `g`. Output padding
// covers the elements that the strides skip at the end; the pads are then cut off. The result has the sizes of `x`.
Value Spread(Emitter& e, const Window& window, Value g, Value w, Value x) {
  std::vector<int64_t> room = window.strides;
  for (int64_t& each : room) --each;
  const Value all =
      e.Op("ConvTranspose", {g, w},
           Attributes(Attribute::Ints("strides", window.strides), Attribute::Ints("dilations", window.dilations),
                      Attribute::Int("group", window.group), Attribute::Ints("output_padding", std::move(room))));
  return e.Slice(all, window.begin, e.Add(window.begin, Sizes(e, x)), window.Spatial());
}

// The derivative by the weights `w` of a convolution of `x`. It is a convolution of `x` with `g` in which batch and
// channels are swapped, and so are strides and dilations. Groups become part of the batch of `x`.
Value WeightPart(Emitter& e, const Window& window, Value x, Value g, Value w) {
  if (window.pads.empty()) {
    const Value none = e.Integers({0, 0});
    const Value total = e.Sub(e.Add(e.Add(e.Mul(e.Sub(Sizes(e, g), e.Integer(1)), e.Integers(window.strides)),
                                          e.Mul(e.Sub(window.kernel, e.Integer(1)), e.Integers(window.dilations))),
                                    e.Integer(1)),
                              Sizes(e, x));
    const Value behind = e.Sub(e.Op("Max", {total, e.Integer(0)}), window.begin);
    x = e.Op("Pad", {x, e.Concat({none, window.begin, none, behind}, 0)});
  }
  if (window.group > 1) {
    const Value sizes = Sizes(e, x);
    x = e.ReshapeAround(x, e.Concat({e.Dims(x, 0, 1), e.Integers({window.group, -1}), sizes}, 0));
    const Value turned = e.Transpose(x, Order({2, 1, 0}, window.axes));
    x = e.ReshapeAround(turned, e.Concat({e.Dims(turned, 0, 1), e.Integers({-1}), sizes}, 0));
  } else {
    x = e.Transpose(x, Order({1, 0}, window.axes));
  }
  std::vector<Attribute> attributes =
      Attributes(Attribute::Ints("strides", window.dilations), Attribute::Ints("dilations", window.strides),
                 Attribute::Int("group", window.group));
  if (!window.pads.empty()) attributes.push_back(Attribute::Ints("pads", window.pads));
  const Value all = e.Op("Conv", {x, e.Transpose(g, Order({1, 0}, window.axes))}, std::move(attributes));
  const Value turned = e.Transpose(all, Order({1, 0}, window.axes));
  return e.Slice(turned, e.Integers(std::vector<int64_t>(window.axes, 0)), Sizes(e, w), window.Spatial());
}

void GiveBias(Step& s, const Window& window) {
  if (!s.Wants(2)) return;
  Axes axes = window.Spatial();
  axes.insert(axes.begin(), 0);
  s.Give(2, s.e().ReduceSum(s.g(), axes, false));
}

void Conv(Step& s) {
  Emitter& e = s.e();
  const Window window = WindowOf(s, s.RankFrom(3, 1) - 2, Sizes(e, s.In(1)));
  if (s.Wants(0)) s.Give(0, Spread(e, window, s.g(), s.In(1), s.In()));
  if (s.Wants(1)) s.Give(1, WeightPart(e, window, s.In(), s.g(), s.In(1)));
  GiveBias(s, window);
}

// A ConvTranspose is the transpose of a convolution, so its derivative by the input is a convolution.
void ConvTranspose(Step& s) {
  Emitter& e = s.e();
  const std::string mode = s.node().StringAttribute("auto_pad", "NOTSET");
  if (!s.Ints("output_shape").empty() || (mode != "NOTSET" && mode != "VALID"))
    s.Refuse("its pads follow from a size of its output; give them by 'pads'");
  const Window window = WindowOf(s, s.RankFrom(3, 1) - 2, Sizes(e, s.In(1)));
  if (s.Wants(0)) {
    const Value all =
        e.Op("Conv", {s.g(), s.In(1)},
             Attributes(Attribute::Ints("strides", window.strides), Attribute::Ints("dilations", window.dilations),
                        Attribute::Int("group", window.group), Attribute::Ints("pads", window.pads)));
    // Output padding as wide as a stride would give one extra element, so the result is cut.
    s.Give(0, e.Slice(all, e.Integers(std::vector<int64_t>(window.axes, 0)), Sizes(e, s.In()), window.Spatial()));
  }
  if (s.Wants(1)) s.Give(1, WeightPart(e, window, s.g(), s.In(), s.In(1)));
  GiveBias(s, window);
}

// Each window passes its derivative to the element that it selected.
void MaxPool(Step& s) {
  Emitter& e = s.e();
  if (s.Int("storage_order", 0) != 0) s.Refuse("its storage order is by columns, by rows expected");
  if (e.opset() < 16) {
    s.Refuse("windows may overlap, and adding to an element more than once is of opset 16; convert the model to that");
  }
  std::vector<Attribute> attributes;
  for (const auto& attribute : s.node().attributes()) attributes.push_back(attribute->Clone());
  const Value chosen = e.Ops("MaxPool", 2, {s.In()}, std::move(attributes)).back();
  const Value none = e.Filled(e.ShapeOf(e.Flat(s.In())), 0, e.TypeOf(s.In()));
  const Value parts = e.Op("ScatterElements", {none, e.Flat(chosen), e.Flat(s.g())},
                           Attributes(Attribute::Int("axis", 0), Attribute::String("reduction", "add")));
  s.Give(0, e.ReshapeLike(parts, s.In()));
}

// Every element of a window gets the same share, in all channels.
void AveragePool(Step& s) {
  Emitter& e = s.e();
  if (s.Int("ceil_mode", 0) != 0) s.Refuse("windows that reach beyond its pads (ceil_mode) are not supported");
  const std::vector<int64_t> kernel = s.Ints("kernel_shape");
  const Window window = WindowOf(s, kernel.size(), e.Integers(kernel));
  double count = 1;
  for (const int64_t size : kernel) count *= static_cast<double>(size);
  Value part = e.Times(s.g(), 1 / count);
  if (s.Int("count_include_pad", 0) == 0) {
    // The fraction of each window that isn't padding.
    std::vector<Attribute> attributes;
    for (const auto& attribute : s.node().attributes())
      if (attribute->name() != "count_include_pad") attributes.push_back(attribute->Clone());
    attributes.push_back(Attribute::Int("count_include_pad", 1));
    part = e.Div(part, e.Op("AveragePool", {e.Filled(e.ShapeOf(s.In()), 1, e.TypeOf(s.In()))}, std::move(attributes)));
  }
  const Value one_channel = e.Integers({-1, 1});
  const Value flat = e.ReshapeAround(part, e.Concat({one_channel, Sizes(e, part)}, 0));
  const Value ones = e.Filled(e.Concat({e.Integers({1, 1}), window.kernel}, 0), 1, e.TypeOf(s.In()));
  s.Give(0, e.ReshapeLike(Spread(e, window, flat, ones, s.In()), s.In()));
}

constexpr NamedRule kWindowRules[] = {
    {"AveragePool", AveragePool}, {"Conv", Conv}, {"ConvTranspose", ConvTranspose}, {"MaxPool", MaxPool}};

}  // namespace

std::span<const NamedRule> WindowRules() { return kWindowRules; }

}  // namespace epiphyte::core::gradient
