// Resize and Upsample. Nearest neighbours are moved by a map for each axis; linear and cubic filters run axis by axis,
// because all of ONNX's are separable.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/image/resize_axis.h"

namespace epiphyte::cpu {
namespace {

std::vector<double> Reals(const Tensor& tensor, std::string_view name) {
  std::vector<double> values(static_cast<size_t>(tensor.Count()));
  if (tensor.rank() > 1) FailOp("{} of shape {} found, a vector expected", name, ShapeText(tensor.dims));
  DispatchFloats(tensor.type, name, [&]<typename T>() {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(static_cast<Compute<T>>(tensor.as<T>()[i]));
  });
  return values;
}

// `x` and `dims` as memory has them; y is the output.
template <typename T>
void MoveNearest(OpContext& context, const Tensor& x, Tensor& y, const std::vector<ResizeAxis>& axes,
                 const std::vector<std::vector<int64_t>>& maps, const Dims& dims, const T& outside_value) {
  // Axes behind the last one that changes move together with it.
  size_t count = axes.size();
  while (count > 1 && maps[count - 1].empty()) --count;
  const size_t last = count - 1;
  const int64_t run = dims.Count(count, dims.size()), row = dims[last];
  const Dims strides = kit::RowMajorStrides(x.dims);
  const int64_t* map = maps[last].empty() ? nullptr : maps[last].data();
  bool doubles = map != nullptr && run == 1 && row == 2 * x.dims[last];
  for (int64_t i = 0; doubles && i < row; ++i) doubles = map[i] == i / 2;

  MoveSource<T> source(context, x);
  MoveTarget<T> target(context, y);
  const T* from = source.data();
  T* to = target.data();
  Parallel(context, dims.Count(0, last), MoveGrain(row * run * static_cast<int64_t>(sizeof(T))),
           [&](int64_t begin, int64_t end) {
             int64_t previous = -1;
             for (int64_t r = begin; r < end; ++r) {
               T* out = to + r * row * run;
               int64_t base = 0, rest = r;
               bool outside = false;
               for (size_t i = last; i-- > 0;) {
                 const int64_t coordinate = rest % dims[i];
                 const int64_t at = maps[i].empty() ? coordinate : maps[i][static_cast<size_t>(coordinate)];
                 rest /= dims[i];
                 outside |= at < 0;
                 base += at * strides[i];
               }
               if (outside) {
                 std::fill_n(out, row * run, outside_value);
                 previous = -1;
                 continue;
               }
               const T* in = from + base;
               if (base == previous) {
                 std::copy_n(out - row * run, row * run, out);
               } else if (map == nullptr) {
                 std::copy_n(in, row * run, out);
               } else if (doubles) {
                 for (int64_t i = 0; i < row / 2; ++i) out[2 * i] = out[2 * i + 1] = in[i];
               } else {
                 for (int64_t i = 0; i < row; ++i) {
                   if (map[i] < 0)
                     std::fill_n(out + i * run, run, outside_value);
                   else if (run == 1)
                     out[i] = in[map[i]];
                   else
                     std::copy_n(in + map[i] * run, run, out + i * run);
                 }
               }
               previous = base;
             }
           });
}

// to (outer, out, inner) = filter of from (outer, in, inner)
template <typename C>
void FilterAxis(OpContext& context, const C* from, C* to, int64_t outer, const ResizeAxis& axis, int64_t inner,
                const Taps& taps) {
  const int64_t n = taps.taps;
  const std::vector<C> weights(taps.weights.begin(), taps.weights.end());
  Parallel(context, outer * axis.out, MoveGrain(inner * n * static_cast<int64_t>(sizeof(C))),
           [&](int64_t begin, int64_t end) {
             for (int64_t r = begin; r < end; ++r) {
               const int64_t x = r % axis.out;
               const C* base = from + r / axis.out * axis.in * inner;
               const C* weight = weights.data() + x * n;
               const int64_t* index = taps.indices.data() + x * n;
               if (inner == 1) {
                 C sum = 0;
                 for (int64_t t = 0; t < n; ++t) sum += weight[t] * base[index[t]];
                 to[r] = sum;
                 continue;
               }
               C* out = to + r * inner;
               const C *a = base + index[0] * inner, *b = base + index[1] * inner;
               for (int64_t i = 0; i < inner; ++i) out[i] = weight[0] * a[i] + weight[1] * b[i];
               for (int64_t t = 2; t < n; ++t) {
                 const C* in = base + index[t] * inner;
                 for (int64_t i = 0; i < inner; ++i) out[i] += weight[t] * in[i];
               }
             }
           });
}

// Integers are cut off, as a cast does, after an allowance for the rounding of weights; antialiased ones are rounded.
template <typename T, typename C>
T FromFiltered(C value, bool round) {
  if constexpr (std::is_integral_v<T>) {
    const double allowance = sizeof(T) == 1 ? 1e-3 : 1e-6;
    double v = static_cast<double>(value);
    v = round ? std::nearbyint(v) : std::trunc(v + std::copysign(allowance, v));
    return SaturateTo<T>(v);
  } else {
    return static_cast<T>(value);
  }
}

class ResizeKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit ResizeKernel(const KernelInit& init) {
    const ir::Node& node = init.node();
    version_ = node.since_version;
    upsample_ = node.op_type == "Upsample";
    const std::string mode = node.String("mode", "nearest");
    nearest_ = mode == "nearest";
    filter_.cubic = mode == "cubic";
    if (!nearest_ && !filter_.cubic && mode != "linear" && mode != "bilinear")
      FailOp("mode '{}' found, nearest, linear or cubic expected", mode);
    if (upsample_ || version_ < 11) {
      coordinates_ = CoordinateMode::kAsymmetric;
      rounding_ = upsample_ ? NearestMode::kFloor : NearestMode::kSimple;
    } else {
      coordinates_ = CoordinateModeOf(node.String("coordinate_transformation_mode", "half_pixel"));
      rounding_ = NearestModeOf(node.String("nearest_mode", "round_prefer_floor"));
    }
    if (upsample_ && version_ < 7) {
      scales_ = {1, 1, node.Float("height_scale", 1), node.Float("width_scale", 1)};
    } else if (upsample_ && version_ < 9) {
      for (float scale : node.Floats("scales")) scales_.push_back(scale);
    }
    filter_.antialias = node.Int("antialias", 0) != 0;
    filter_.exclude_outside = node.Int("exclude_outside", 0) != 0;
    filter_.a = node.Float("cubic_coeff_a", -0.75f);
    extrapolation_ = node.Float("extrapolation_value", 0);
    has_axes_ = node.Has("axes");
    axes_ = Dims(std::span<const int64_t>(node.Ints("axes")));
    policy_ = node.String("keep_aspect_ratio_policy", "stretch");
    if (policy_ != "stretch" && policy_ != "not_larger" && policy_ != "not_smaller")
      FailOp("keep_aspect_ratio_policy '{}' found, stretch, not_larger or not_smaller expected", policy_);
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    const std::vector<ResizeAxis> axes = Axes(context, x);
    Dims dims = x.dims;
    bool identity = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      dims[i] = axes[i].out;
      identity &= axes[i].IsIdentity(coordinates_);
    }
    if (identity) return context.OutputAlias(0, 0, dims);
    if (kit::CheckedCount(dims) == 0) {
      context.Output(0, x.type, dims);
      return;
    }
    if (x.Count() == 0)
      FailOp("input of shape {} found for an output of shape {}, elements expected", ShapeText(x.dims),
             ShapeText(dims));
    const std::optional<AxisOrder> order = x.type == EP_TYPE_FLOAT && x.layout != nullptr ? OrderOf(x) : std::nullopt;
    if (!order || (order->block > 1 && !axes[1].IsIdentity(coordinates_)))
      return ResizeInto(context.Output(0, x.type, dims), context, context.Input(0), axes, dims);
    // What isn't row-major stays as it is: axes are resized where memory has them, and blocks aren't.
    const uint64_t bytes = ElementBytes(x.type, static_cast<uint64_t>(dims.Count()));
    Tensor& y = context.OutputWithLayout(0, x.type, dims, MakeLayout(*order, x.type, dims), bytes);
    Tensor lies = x;
    lies.layout = nullptr;
    lies.dims = InMemory(x.dims, *order);
    std::vector<ResizeAxis> moved;
    for (size_t i = 0; i < order->rank; ++i) moved.push_back(axes[order->axes[i]]);
    if (order->block > 1) {
      moved[1].in = moved[1].out = lies.dims[1];
      moved[1].length = static_cast<double>(lies.dims[1]);
      moved.push_back(moved[1]);
      moved.back().in = moved.back().out = order->block;
      moved.back().length = order->block;
    }
    ResizeInto(y, context, lies, moved, InMemory(dims, *order));
  }

 private:
  // Dimensions and axes as they follow each other in memory.
  void ResizeInto(Tensor& y, OpContext& context, const Tensor& x, const std::vector<ResizeAxis>& axes,
                  const Dims& dims) const {
    if (nearest_) return Nearest(context, x, y, axes, dims);
    DispatchNumbers(x.type, "Resize", [&]<typename T>() {
      using C =
          std::conditional_t<std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) > 1), double, float>;
      Interpolate<T, C>(context, x, y, axes, dims);
    });
  }

  std::vector<ResizeAxis> Axes(OpContext& context, const Tensor& x) const {
    const size_t rank = x.rank();
    std::vector<ResizeAxis> axes(rank);
    for (size_t i = 0; i < rank; ++i) {
      axes[i].in = axes[i].out = x.dims[i];
      axes[i].length = static_cast<double>(x.dims[i]);
    }
    Dims which(rank, 0);
    for (size_t i = 0; i < rank; ++i) which[i] = static_cast<int64_t>(i);
    if (has_axes_) which = kit::NormalizeAxes(axes_, rank);

    const auto input = [&](size_t i) -> const Tensor* {
      if (i >= context.InputCount() || !context.HasInput(i)) return nullptr;
      const Tensor& tensor = context.Input(i);
      return tensor.Count() == 0 ? nullptr : &tensor;
    };
    const bool has_roi = !upsample_ && version_ >= 11;
    const Tensor* sizes = has_roi ? input(3) : nullptr;
    const Tensor* scales_input = input(has_roi ? 2 : 1);
    if (coordinates_ == CoordinateMode::kTfCropAndResize) {
      const Tensor* roi_input = input(1);
      if (roi_input == nullptr) FailOp("no roi found, one expected in mode tf_crop_and_resize");
      const std::vector<double> roi = Reals(*roi_input, "roi");
      if (roi.size() != 2 * which.size()) FailOp("roi of {} numbers found, {} expected", roi.size(), 2 * which.size());
      for (size_t i = 0; i < which.size(); ++i) {
        axes[static_cast<size_t>(which[i])].roi_start = roi[i];
        axes[static_cast<size_t>(which[i])].roi_end = roi[i + which.size()];
      }
    }
    if (sizes != nullptr) {
      ApplySizes(IntegersOf(*sizes, "sizes"), which, axes);
      return axes;
    }
    const std::vector<double> scales = scales_input != nullptr ? Reals(*scales_input, "scales") : scales_;
    if (scales.size() != which.size()) FailOp("{} scales found, {} expected", scales.size(), which.size());
    for (size_t i = 0; i < which.size(); ++i) {
      ResizeAxis& axis = axes[static_cast<size_t>(which[i])];
      // In float, as shape inference does it: 0.7f * 10 is 7.
      const float length = static_cast<float>(axis.in) * static_cast<float>(scales[i]);
      if (!(scales[i] > 0) || !(length < 0x1p57f))
        FailOp("scale {} found for a dimension of {}, a positive number that leads to a possible size expected",
               scales[i], axis.in);
      axis.scale = scales[i];
      axis.length = static_cast<double>(axis.in) * scales[i];
      axis.out = static_cast<int64_t>(std::floor(length));
    }
    return axes;
  }

  void ApplySizes(const Dims& sizes, const Dims& which, std::vector<ResizeAxis>& axes) const {
    if (sizes.size() != which.size()) FailOp("{} sizes found, {} expected", sizes.size(), which.size());
    double common = -1;
    for (size_t i = 0; i < which.size(); ++i) {
      const ResizeAxis& axis = axes[static_cast<size_t>(which[i])];
      if (sizes[i] < 0) FailOp("sizes {} found, numbers of at least 0 expected", ShapeText(sizes));
      const double scale = axis.in == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
      if (common < 0 || (policy_ == "not_larger" ? scale < common : scale > common)) common = scale;
    }
    for (size_t i = 0; i < which.size(); ++i) {
      ResizeAxis& axis = axes[static_cast<size_t>(which[i])];
      if (policy_ == "stretch") {
        axis.out = sizes[i];
        axis.scale = axis.in == 0 ? 1 : static_cast<double>(axis.out) / static_cast<double>(axis.in);
        axis.length = static_cast<double>(axis.out);
      } else {
        axis.scale = common;
        axis.length = common * static_cast<double>(axis.in);
        if (!(axis.length < 0x1p57)) FailOp("sizes {} found, a smaller common scale expected", ShapeText(sizes));
        axis.out = static_cast<int64_t>(std::floor(axis.length + 0.5));
      }
    }
  }

  void Nearest(OpContext& context, const Tensor& x, Tensor& y, const std::vector<ResizeAxis>& axes,
               const Dims& dims) const {
    std::vector<std::vector<int64_t>> maps(axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
      if (!axes[i].IsIdentity(coordinates_)) maps[i] = NearestMap(axes[i], coordinates_, rounding_);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      T outside{};
      if (coordinates_ == CoordinateMode::kTfCropAndResize && extrapolation_ != 0) {
        DispatchNumbers(x.type, "Resize with an extrapolation value", [&]<typename V>() {
          if constexpr (sizeof(V) == sizeof(T) && std::is_trivially_copyable_v<T>) {
            const V value = SaturateTo<V>(extrapolation_);
            std::memcpy(&outside, &value, sizeof(V));
          }
        });
      }
      MoveNearest<T>(context, x, y, axes, maps, dims, outside);
    });
  }

  template <typename T, typename C>
  void Interpolate(OpContext& context, const Tensor& x, Tensor& y, const std::vector<ResizeAxis>& axes,
                   const Dims& dims) const {
    std::vector<size_t> order;
    for (size_t i = 0; i < axes.size(); ++i)
      if (!axes[i].IsIdentity(coordinates_)) order.push_back(i);
    // What shrinks goes first: less is left for the others.
    const auto growth = [&](size_t i) { return static_cast<double>(axes[i].out) / static_cast<double>(axes[i].in); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return growth(a) < growth(b); });

    const C* from;
    if constexpr (std::is_same_v<T, C>) {
      from = x.as<T>();
    } else {
      const int64_t count = x.Count();
      auto* wide = static_cast<C*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(C)));
      for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<C>(static_cast<Compute<T>>(x.as<T>()[i]));
      from = wide;
    }
    std::vector<Taps> taps(axes.size());
    Dims shape = x.dims;
    for (size_t pass = 0; pass < order.size(); ++pass) {
      const size_t i = order[pass];
      taps[i] = MakeTaps(axes[i], coordinates_, filter_);
      const int64_t outer = shape.Count(0, i), inner = shape.Count(i + 1, shape.size());
      shape[i] = axes[i].out;
      C* to;
      if (std::is_same_v<T, C> && pass + 1 == order.size())
        to = y.as<C>();
      else
        to = static_cast<C*>(context.Scratch(static_cast<uint64_t>(kit::CheckedCount(shape)) * sizeof(C)));
      FilterAxis(context, from, to, outer, axes[i], inner, taps[i]);
      from = to;
    }
    T* out = y.as<T>();
    const int64_t count = dims.Count();
    if constexpr (!std::is_same_v<T, C>)
      for (int64_t i = 0; i < count; ++i) out[i] = FromFiltered<T>(from[i], filter_.antialias);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (taps[i].outside.empty()) continue;
      const int64_t inner = dims.Count(i + 1, dims.size());
      for (int64_t r = 0; r < count / inner; ++r)
        if (taps[i].outside[static_cast<size_t>(r % axes[i].out)] != 0)
          std::fill_n(out + r * inner, inner, FromFiltered<T>(static_cast<C>(extrapolation_), false));
    }
  }

  int64_t version_ = 1;
  bool upsample_ = false;
  bool nearest_ = true;
  CoordinateMode coordinates_ = CoordinateMode::kHalfPixel;
  NearestMode rounding_ = NearestMode::kRoundPreferFloor;
  Filter filter_;
  float extrapolation_ = 0;
  bool has_axes_ = false;
  Dims axes_;
  std::string policy_;
  std::vector<double> scales_;
};

}  // namespace

void Register_resize(KernelRegistry& registry) {
  registry.Add<ResizeKernel>("Resize");
  registry.Add<ResizeKernel>("Upsample");
}

}  // namespace epiphyte::cpu
