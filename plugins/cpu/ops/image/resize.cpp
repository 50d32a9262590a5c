// Resize and Upsample. Nearest-neighbour modes use an index map for each axis. Linear and cubic filters run axis by
// axis, because all filters of ONNX are separable.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/resize.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/simd/convert/convert.h"
#include "plugins/cpu/simd/window/linear_rows.h"

namespace epiphyte::cpu {
namespace {

using kit::ResizeAxis;
using kit::ResizeCoordinates;
using kit::ResizeTaps;

std::vector<double> Reals(const Tensor& tensor, std::string_view name) {
  std::vector<double> values(static_cast<size_t>(tensor.Count()));
  if (tensor.rank() > 1) FailOp("{} of shape {} found, a vector expected", name, ShapeText(tensor.dims));
  DispatchFloats(tensor.type, name, [&]<typename T>() {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(static_cast<Compute<T>>(tensor.as<T>()[i]));
  });
  return values;
}

// y[2 i] = y[2 i + 1] = x[i]
template <typename T>
void Double(const T* x, T* y, int64_t n) {
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) {
    simd::DoubleRow(x, y, n);
  } else {
    for (int64_t i = 0; i < n; ++i) y[2 * i] = y[2 * i + 1] = x[i];
  }
}

// `x` and `dims` are in memory order; y is the output.
template <typename T>
void MoveNearest(OpContext& context, const Tensor& x, Tensor& y, const std::vector<ResizeAxis>& axes,
                 const std::vector<std::vector<int64_t>>& maps, const Dims& dims, const T& outside_value) {
  // Axes behind the last resized one are moved together with it.
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
  CountTexts<T>(context, dims.Count(), [&](int64_t rest) -> const T& {
    int64_t place = 0;
    bool outside = false;
    for (size_t i = axes.size(); i-- > 0; rest /= dims[i]) {
      const int64_t coordinate = rest % dims[i];
      const int64_t at = maps[i].empty() ? coordinate : maps[i][static_cast<size_t>(coordinate)];
      outside |= at < 0;
      place += at * strides[i];
    }
    return outside ? outside_value : from[place];
  });
  // Rows of the axis before the last are contiguous, independent of the outer axes.
  const int64_t lines = last == 0 ? 1 : dims[last - 1];
  Parallel(context, dims.Count(0, last), MoveGrain(row * run * static_cast<int64_t>(sizeof(T))),
           [&](int64_t begin, int64_t end) {
             const int64_t* line_map = last == 0 || maps[last - 1].empty() ? nullptr : maps[last - 1].data();
             const int64_t line_stride = last == 0 ? 0 : strides[last - 1];
             for (int64_t r = begin; r < end;) {
               int64_t plane = 0, rest = r / lines;
               bool outside = false;
               for (size_t i = last == 0 ? 0 : last - 1; i-- > 0; rest /= dims[i]) {
                 const int64_t coordinate = rest % dims[i];
                 const int64_t at = maps[i].empty() ? coordinate : maps[i][static_cast<size_t>(coordinate)];
                 outside |= at < 0;
                 plane += at * strides[i];
               }
               const int64_t stop = std::min(end, (r / lines + 1) * lines);
               int64_t previous = -1;
               for (int64_t line = r % lines; r < stop; ++r, ++line) {
                 const int64_t at = line_map == nullptr ? line : line_map[line];
                 T* out = to + r * row * run;
                 if (outside || at < 0) {
                   std::fill_n(out, row * run, outside_value);
                   previous = -1;
                   continue;
                 }
                 const T* in = from + plane + at * line_stride;
                 if (at == previous) {
                   std::copy_n(out - row * run, row * run, out);
                 } else if (map == nullptr) {
                   std::copy_n(in, row * run, out);
                 } else if (doubles) {
                   Double(in, out, row / 2);
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
                 previous = at;
               }
             }
           });
}

// to (outer, out, inner) = filter of from (outer, in, inner)
template <typename C>
void FilterAxis(OpContext& context, const C* from, C* to, int64_t outer, const ResizeAxis& axis, int64_t inner,
                const ResizeTaps& taps) {
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

// Taps of a linear filter for the SIMD loops; nullopt for a filter with more taps.
std::optional<simd::LinearTaps> LinearTapsOf(const ResizeAxis& axis, const ResizeTaps& taps) {
  if (taps.taps != 2 || axis.in > INT32_MAX) return std::nullopt;
  std::vector<int32_t> indices[2];
  std::vector<float> weights[2];
  for (size_t i = 0; i < taps.indices.size(); ++i) {
    indices[i % 2].push_back(static_cast<int32_t>(taps.indices[i]));
    weights[i % 2].push_back(static_cast<float>(taps.weights[i]));
  }
  return simd::LinearTaps(axis.in, std::move(indices[0]), std::move(indices[1]), std::move(weights[0]),
                          std::move(weights[1]));
}

// Tolerance for rounded weights before integers are truncated as in a cast; antialiased integers are rounded.
template <typename T>
constexpr float kAllowance = sizeof(T) == 1 ? 1e-3f : 1e-6f;
template <typename T, typename C>
T FromFiltered(C value, bool round) {
  if constexpr (std::is_integral_v<T>) {
    double v = static_cast<double>(value);
    v = round ? std::nearbyint(v) : std::trunc(v + std::copysign(static_cast<double>(kAllowance<T>), v));
    return SaturateTo<T>(v);
  } else {
    return static_cast<T>(value);
  }
}

// Rows of images as the filters read and write them: floats, in place or in a buffer.
template <typename T>
class FilteredRows {
 public:
  const float* Load(const T* row, int64_t n, float* buffer) const {
    if constexpr (std::is_same_v<T, float>)
      return row;
    else
      return load_(row, buffer, n), buffer;
  }
  // Memory for n floats, to be passed to Store.
  float* Target(T* row, float* buffer) const {
    if constexpr (std::is_same_v<T, float>)
      return row;
    else
      return buffer;
  }
  void Store(float* floats, int64_t n, T* row) const {
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < n; ++i) floats[i] += floats[i] < 0 ? -kAllowance<T> : kAllowance<T>;
    }
    if constexpr (!std::is_same_v<T, float>) store_(floats, row, n);
  }

 private:
  struct None {};
  std::conditional_t<std::is_same_v<T, float>, None, simd::ConvertLoop<T, float>> load_;
  std::conditional_t<std::is_same_v<T, float>, None, simd::ConvertLoop<float, T>> store_;
};

// Resizes images with contiguous rows. A result row blends two sampled rows, which are kept until others are needed.
template <typename T>
void ResizeImages(OpContext& context, const T* from, T* to, int64_t images, const simd::LinearTaps& rows,
                  const simd::LinearTaps& columns) {
  const FilteredRows<T> floats;
  constexpr int64_t kBand = 32;  // result rows per task
  const int64_t in_height = rows.in_width, in_width = columns.in_width;
  const int64_t height = rows.count(), width = columns.count(), bands = (height + kBand - 1) / kBand;
  // the shrinking direction goes first, which leaves less work for the other one
  const bool blends_first = height < in_height;
  Parallel(context, images * bands, MoveGrain(kBand * width * 8), [&](int64_t begin, int64_t end) {
    const int64_t kept_size = blends_first ? in_width : 2 * width;
    std::vector<float> memory(static_cast<size_t>(kept_size));
    std::vector<float> converted(std::is_same_v<T, float> ? 0 : static_cast<size_t>(2 * in_width + width));
    float* const loaded = converted.data();
    float* const result = loaded + (converted.empty() ? 0 : 2 * in_width);
    for (int64_t item = begin; item < end; ++item) {
      const T* const image = from + item / bands * in_height * in_width;
      T* const out = to + item / bands * height * width;
      float* kept[2] = {memory.data(), memory.data() + (blends_first ? 0 : width)};
      int32_t kept_row[2] = {-1, -1};
      // Returns the sampled image row. Row `other` stays in memory.
      const auto sampled = [&](int32_t row, int32_t other) -> const float* {
        if (kept_row[0] == row) return kept[0];
        if (kept_row[1] == row) return kept[1];
        const size_t free = kept_row[0] == other ? 1 : 0;
        simd::SampleRow(columns, floats.Load(image + row * in_width, in_width, loaded), kept[free]);
        kept_row[free] = row;
        return kept[free];
      };
      const int64_t first = item % bands * kBand;
      for (int64_t r = first; r < std::min(first + kBand, height); ++r) {
        const auto at = static_cast<size_t>(r);
        const int32_t lower = rows.lower[at], upper = rows.upper[at];
        const float a = rows.lower_weights[at], b = rows.upper_weights[at];
        float* const made = floats.Target(out + r * width, result);
        if (blends_first) {
          simd::BlendRows(floats.Load(image + lower * in_width, in_width, loaded),
                          floats.Load(image + upper * in_width, in_width, loaded + in_width), a, b, kept[0], in_width);
          simd::SampleRow(columns, kept[0], made);
        } else {
          const float* const low = sampled(lower, upper);
          const float* const high = sampled(upper, lower);
          simd::BlendRows(low, high, a, b, made, width);
        }
        floats.Store(made, width, out + r * width);
      }
    }
  });
}

class ResizeKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  // The nearest mode moves elements without computing.
  static Float32Promotion PromotionOf(const ir::Node& node) {
    return node.String("mode", "nearest") == "nearest" ? Float32Promotion::kFollowInputs : Float32Promotion::kAlways;
  }

  explicit ResizeKernel(const KernelInit& init) : attributes_(kit::ResizeAttributes::Read(init.node())) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    const std::vector<ResizeAxis> axes = Axes(context, x);
    const Dims dims = kit::ResizedDims(x.dims, axes);
    if (std::all_of(axes.begin(), axes.end(), [&](const ResizeAxis& axis) { return IsIdentity(axis); }))
      return context.OutputAlias(0, 0, dims);
    if (dims.Count() == 0) {
      context.Output(0, x.type, dims);
      return;
    }
    const std::optional<AxisOrder> order = x.layout != nullptr ? OrderOf(x) : std::nullopt;
    if (!order || (order->block > 1 && !IsIdentity(axes[1])))
      return ResizeInto(context.Output(0, x.type, dims), context, context.Input(0), axes, dims);
    // A layout other than row-major stays: the axes are resized in memory order; blocks are not an axis of the resize.
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
  // Resizes with dimensions and axes in memory order.
  void ResizeInto(Tensor& y, OpContext& context, const Tensor& x, const std::vector<ResizeAxis>& axes,
                  const Dims& dims) const {
    if (attributes_.filter == kit::ResizeFilter::kNearest) return Nearest(context, x, y, axes, dims);
    DispatchNumbers(x.type, "Resize", [&]<typename T>() {
      using C =
          std::conditional_t<std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) > 1), double, float>;
      Interpolate<T, C>(context, x, y, axes, dims);
    });
  }

  bool IsIdentity(const ResizeAxis& axis) const { return axis.IsIdentity(attributes_.coordinates); }

  std::vector<ResizeAxis> Axes(OpContext& context, const Tensor& x) const {
    const auto input = [&](size_t i) -> const Tensor* {
      if (i == 0 || i >= context.InputCount() || !context.HasInput(i)) return nullptr;
      const Tensor& tensor = context.Input(i);
      return tensor.Count() == 0 ? nullptr : &tensor;
    };
    std::vector<double> roi, scales;
    Dims sizes;
    if (attributes_.coordinates == ResizeCoordinates::kTfCropAndResize)
      if (const Tensor* given = input(attributes_.roi_input)) roi = Reals(*given, "roi");
    if (const Tensor* given = input(attributes_.sizes_input))
      sizes = IntegersOf(*given, "sizes");
    else if (const Tensor* given_scales = input(attributes_.scales_input))
      scales = Reals(*given_scales, "scales");
    return attributes_.Resolve(x.dims, {.roi = roi, .scales = scales, .sizes = sizes});
  }

  void Nearest(OpContext& context, const Tensor& x, Tensor& y, const std::vector<ResizeAxis>& axes,
               const Dims& dims) const {
    std::vector<std::vector<int64_t>> maps(axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
      if (!IsIdentity(axes[i])) maps[i] = kit::NearestMap(axes[i], attributes_);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      T outside{};
      if (attributes_.coordinates == ResizeCoordinates::kTfCropAndResize && attributes_.extrapolation != 0) {
        DispatchNumbers(x.type, "Resize with an extrapolation value", [&]<typename V>() {
          if constexpr (sizeof(V) == sizeof(T) && std::is_trivially_copyable_v<T>) {
            const V value = SaturateTo<V>(attributes_.extrapolation);
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
      if (!IsIdentity(axes[i])) order.push_back(i);
    // Shrinking axes go first, which leaves less work for the others.
    const auto growth = [&](size_t i) { return static_cast<double>(axes[i].out) / static_cast<double>(axes[i].in); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return growth(a) < growth(b); });

    std::vector<ResizeTaps> taps(axes.size());
    Dims shape = x.dims;
    for (size_t i : order) taps[i] = kit::MakeResizeTaps(axes[i], attributes_);
    if constexpr (std::is_same_v<C, float>) {
      const size_t last = axes.size() - 1;
      const bool rounds = std::is_integral_v<T> && attributes_.antialias;
      if (!rounds && order.size() == 2 && std::min(order[0], order[1]) + 1 == last &&
          std::max(order[0], order[1]) == last) {
        const auto rows = LinearTapsOf(axes[last - 1], taps[last - 1]), columns = LinearTapsOf(axes[last], taps[last]);
        if (rows && columns) {
          ResizeImages(context, x.as<T>(), y.as<T>(), dims.Count(0, last - 1), *rows, *columns);
          return FillOutside<T, C>(y.as<T>(), dims, axes, taps);
        }
      }
    }
    const C* from;
    if constexpr (std::is_same_v<T, C>) {
      from = x.as<T>();
    } else {
      const int64_t count = x.Count();
      auto* wide = static_cast<C*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(C)));
      for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<C>(static_cast<Compute<T>>(x.as<T>()[i]));
      from = wide;
    }
    for (size_t pass = 0; pass < order.size(); ++pass) {
      const size_t i = order[pass];
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
      for (int64_t i = 0; i < count; ++i) out[i] = FromFiltered<T>(from[i], attributes_.antialias);
    FillOutside<T, C>(out, dims, axes, taps);
  }

  // Fills positions outside the requested region.
  template <typename T, typename C>
  void FillOutside(T* out, const Dims& dims, const std::vector<ResizeAxis>& axes,
                   const std::vector<ResizeTaps>& taps) const {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (taps[i].outside.empty()) continue;
      const int64_t inner = dims.Count(i + 1, dims.size());
      for (int64_t r = 0; r < dims.Count() / inner; ++r)
        if (taps[i].outside[static_cast<size_t>(r % axes[i].out)] != 0)
          std::fill_n(out + r * inner, inner, FromFiltered<T>(static_cast<C>(attributes_.extrapolation), false));
    }
  }

  kit::ResizeAttributes attributes_;
};

}  // namespace

void Register_resize(KernelRegistry& registry) {
  registry.Add<ResizeKernel>("Resize");
  registry.Add<ResizeKernel>("Upsample");
}

}  // namespace epiphyte::cpu
