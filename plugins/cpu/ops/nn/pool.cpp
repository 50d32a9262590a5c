// MaxPool, AveragePool, LpPool and their global forms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "epiphyte/kit/shape/pool.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/primitive.h"
#include "plugins/cpu/onednn/window_limits.h"
#include "plugins/cpu/ops/math/laid_out_reduction.h"
#include "plugins/cpu/ops/math/reduction_operators.h"
#include "plugins/cpu/ops/nn/last_pool.h"
#include "plugins/cpu/ops/nn/plane_windows.h"
#include "plugins/cpu/ops/quantized/byte_pool.h"
#include "plugins/cpu/simd/reduce/normalize.h"
#include "plugins/cpu/simd/window/small_planes.h"

namespace epiphyte::cpu {
namespace {

enum class PoolKind { kMax, kAverage, kLp };

// Exponent of LpPool; a float attribute in its first version.
int64_t PowerOf(const ir::Node& node) {
  const ir::Attribute* p = node.Find("p");
  if (p == nullptr) return 2;
  return !p->ints.empty() ? p->ints[0] : !p->floats.empty() ? TruncateTo<int64_t>(p->floats[0]) : 2;
}

// Divisor of the average when each plane has a single window that covers it; nullopt otherwise.
std::optional<float> TapsOfWholePlane(const kit::Window& window, const Dims& x, bool include_pad) {
  float taps = 1;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    const int64_t size = x[d + 2];
    if (window.output[d] != 1 || window.TapsInside(d, 0, size).count != size) return std::nullopt;
    taps *= static_cast<float>(std::max<int64_t>(include_pad ? window.TapsInPadded(d, 0, size) : size, 1));
  }
  return taps;
}

// Pools such windows in memory order, in float layouts of oneDNN. Returns false for other windows.
bool PoolWholePlanes(OpContext& context, PoolKind kind, const kit::PoolAttributes& attributes) {
  const Tensor& x = context.AnyLayoutInput(0);
  const kit::Window window = attributes.Resolve(x.dims);
  const std::optional<float> taps = TapsOfWholePlane(window, x.dims, attributes.include_pad);
  if (!taps || x.Count() == 0) return false;
  std::vector<bool> reduced(x.rank(), true);
  reduced[0] = reduced[1] = false;
  const std::optional<ReductionShape> shape = ReductionInMemory(x, reduced);
  if (!shape || (kind == PoolKind::kAverage && *taps != static_cast<float>(shape->folded()))) return false;
  auto* y = context.Output(0, EP_TYPE_FLOAT, window.OutputDims(x.dims[0], x.dims[1])).as<float>();
  if (kind == PoolKind::kMax) {
    Reduce<float>(context, Largest(), *shape, x.as<float>(), nullptr, y);
  } else {
    Reduce<float>(context, Mean(), *shape, x.as<float>(), nullptr, y);
  }
  return true;
}

// Maximum and average of row-major floats, with a row-major result. Returns false when the shape is not supported.
bool PoolPlanes(OpContext& context, PoolKind kind, const kit::PoolAttributes& attributes) {
  const Tensor& x = context.Input(0);
  const kit::Window window = attributes.Resolve(x.dims);
  const Dims y_dims = window.OutputDims(x.dims[0], x.dims[1]);
  const int64_t planes = x.dims[0] * x.dims[1], in_plane = x.dims.Count(2, x.rank());
  if (y_dims.Count() == 0 || in_plane == 0) return false;
  if (const std::optional<float> taps = TapsOfWholePlane(window, x.dims, attributes.include_pad)) {
    const float* from = x.as<float>();
    auto* to = context.Output(0, EP_TYPE_FLOAT, y_dims).as<float>();
    const simd::NormalizeLoops& loops = simd::ChosenNormalizeLoops();
    const int64_t grain = std::max<int64_t>(1, 16384 / in_plane);
    context.ParallelFor(planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* plane = from + i * in_plane;
        to[i] = kind == PoolKind::kMax ? loops.largest(plane, in_plane) : loops.sum(plane, in_plane) / *taps;
      }
    });
    return true;
  }
  // Number of taps in each window along each dimension, for averages.
  std::vector<std::vector<float>> counts(window.kernel.size());
  for (size_t d = 0; d < counts.size(); ++d) {
    const int64_t size = x.dims[d + 2];
    constexpr int64_t kMostWindows = int64_t{1} << 20;
    if (window.output[d] > kMostWindows) return false;
    for (int64_t at = 0; at < window.output[d]; ++at) {
      const int64_t taps =
          attributes.include_pad ? window.TapsInPadded(d, at, size) : window.TapsInside(d, at, size).count;
      counts[d].push_back(static_cast<float>(std::max<int64_t>(taps, 1)));
    }
  }
  const std::optional<simd::PlaneWindows> windows = PlaneWindowsOf(window, x.dims);
  if (!windows) return false;
  const float* from = x.as<float>();
  auto* to = context.Output(0, EP_TYPE_FLOAT, y_dims).as<float>();
  const int64_t out_plane = windows->out_height * windows->out_width;
  const float one = 1;
  const float* const row_counts = counts.size() == 2 ? counts[0].data() : &one;
  const float* const column_counts = counts.back().data();
  const bool small = planes >= simd::kPlanesTogether / 2 && simd::SuitsSmallPlanes(*windows);
  const int64_t together = small ? simd::kPlanesTogether : 1;
  const int64_t grain = (PlaneGrain(*windows) + together - 1) / together;
  context.ParallelFor((planes + together - 1) / together, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * together, count = std::min(end * together, planes) - first;
    const int64_t floats = small ? simd::SmallPlaneScratchFloats(*windows) : windows->ScratchFloats();
    const auto memory = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(floats));
    float* const scratch = memory.get();
    const float* const source = from + first * in_plane;
    float* const target = to + first * out_plane;
    if (kind == PoolKind::kMax) {
      (small ? simd::LargestOfSmallPlanes : simd::LargestOfWindows)(*windows, source, target, count, scratch);
    } else {
      (small ? simd::AverageOfSmallPlanes : simd::AverageOfWindows)(*windows, source, row_counts, column_counts, target,
                                                                    count, scratch);
    }
  });
  return true;
}

// Maximum and average of floats in any layout except row-major, which PoolPlanes serves. Averages use oneDNN, unless
// channels are last. oneDNN's maximum is not used: it loses NaN, and treats -infinity as the lowest finite number.
class OneDnnPool {
 public:
  OneDnnPool(PoolKind kind, const kit::PoolAttributes& attributes) : kind_(kind), attributes_(attributes) {}

  // Returns false when the shape is not supported.
  bool Run(OpContext& context) const {
    State& state = context.State<State>();
    if (PoolChannelsLast(context, kind_ == PoolKind::kMax, attributes_, &state.last)) return true;
    if (kind_ == PoolKind::kMax) return PoolPlanes(context, kind_, attributes_);
    const Tensor& x = context.AnyLayoutInput(0);
    const bool same_layout =
        state.x_layout == x.layout || (state.x_layout && x.layout && state.x_layout->desc == x.layout->desc);
    if (!state.known || !(state.x_dims == x.dims) || !same_layout) Prepare(state, x);
    if (!state.call) return false;
    Tensor& y = context.OutputWithLayout(0, EP_TYPE_FLOAT, state.y_dims, state.y_layout, state.y_bytes);
    state.call.Set(DNNL_ARG_SRC, x.data);
    state.call.Set(DNNL_ARG_DST, y.data);
    state.call.Run(context);
    return true;
  }

 private:
  struct State {
    bool known = false;
    Dims x_dims, y_dims;
    std::shared_ptr<const Layout> x_layout, y_layout;
    uint64_t y_bytes = 0;
    PrimitiveCall call;
    LastLayout last;
  };

  void Prepare(State& state, const Tensor& x) const {
    state.known = true;
    state.x_dims = x.dims;
    state.x_layout = x.layout;
    state.call = PrimitiveCall();
    const kit::Window window = attributes_.Resolve(x.dims);
    state.y_dims = window.OutputDims(x.dims[0], x.dims[1]);
    if (!SuitsOneDnn(attributes_.window) || x.rank() > 5 || state.y_dims.Count() == 0 || x.Count() == 0) return;
    dnnl::memory::dims pads_end;
    for (size_t i = 0; i < window.kernel.size(); ++i) {
      if (window.dilations[i] != 1 || window.pads_begin[i] < 0) return;
      const int64_t end = window.PadsEndRead(i, x.dims[i + 2]);
      if (window.pads_begin[i] >= window.kernel[i] || end >= window.kernel[i]) return;
      if (attributes_.include_pad && end > window.pads_end[i]) return;
      pads_end.push_back(end);
    }
    const auto algorithm = attributes_.include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                                   : dnnl::algorithm::pooling_avg_exclude_padding;
    const MemoryDesc x_desc = x.layout ? x.layout->desc : PlainDesc(EP_TYPE_FLOAT, x.dims);
    const auto list = [](const Dims& dims) { return dnnl::memory::dims(dims.begin(), dims.end()); };
    try {
      const auto pd = PoolingDesc(algorithm, x_desc, AnyDesc(EP_TYPE_FLOAT, state.y_dims), list(window.strides),
                                  list(window.kernel), list(window.pads_begin), pads_end, UserScratchpad());
      state.y_layout = MakeLayout(pd.dst_desc());
      state.y_bytes = pd.dst_desc().get_size();
      state.call.Reset(dnnl::pooling_forward(pd), pd.scratchpad_desc());
      state.call.Add(DNNL_ARG_SRC, x_desc);
      state.call.Add(DNNL_ARG_DST, pd.dst_desc());
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      state.call = PrimitiveCall();
    }
  }

  PoolKind kind_;
  const kit::PoolAttributes& attributes_;
};

template <typename T>
class PoolKernel final : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  PoolKernel(const KernelInit& init, PoolKind kind, bool global)
      : kind_(kind),
        attributes_(kit::PoolAttributes::Read(init.node(), global)),
        power_(static_cast<double>(PowerOf(init.node()))),
        onednn_(kind, attributes_) {}

  void Run(OpContext& context) const override {
    const bool indices = kind_ == PoolKind::kMax && context.HasOutput(1);
    if constexpr (std::is_same_v<T, float>) {
      if (kind_ != PoolKind::kLp && !indices) {
        const bool row_major = context.AnyLayoutInput(0).layout == nullptr;
        if (row_major ? PoolPlanes(context, kind_, attributes_) : PoolWholePlanes(context, kind_, attributes_)) return;
        if (onednn_.Run(context)) return;
      }
    }
    if constexpr (sizeof(T) == 1) {
      if (!indices && kind_ == PoolKind::kMax && context.AnyLayoutInput(0).rank() >= 3)
        return MaxPoolOfBytes(context, attributes_);
    }
    RunReference(context, indices);
  }

 private:
  using Number =
      std::conditional_t<std::is_integral_v<T>, T, std::conditional_t<std::is_same_v<T, double>, double, float>>;

  // Extent of a window along one dimension, by its position.
  struct Seen {
    int64_t first;      // input index of the first tap inside the input
    int64_t count;      // number of taps inside the input
    int64_t in_padded;  // number of taps inside the padded input
  };

  void RunReference(OpContext& context, bool indices) const {
    switch (kind_) {
      case PoolKind::kMax: return RunKind<PoolKind::kMax>(context, indices);
      case PoolKind::kAverage: return RunKind<PoolKind::kAverage>(context, indices);
      case PoolKind::kLp: return RunKind<PoolKind::kLp>(context, indices);
    }
  }

  template <PoolKind kKind>
  void RunKind(OpContext& context, bool indices) const {
    indices ? RunRows<kKind, true>(context) : RunRows<kKind, false>(context);
  }

  // A tap of consecutive windows along the last dimension. It is inside the input for windows in [begin, end); window c
  // reads element c * stride + shift of the row.
  struct Tap {
    int64_t shift, begin, end;
  };
  // State of one row of windows.
  struct Row {
    explicit Row(int64_t windows)
        : best(static_cast<size_t>(windows)), index(static_cast<size_t>(windows)), sum(static_cast<size_t>(windows)) {}
    std::vector<Number> best;
    std::vector<int64_t> index;
    std::vector<double> sum;
  };

  // Processes a row of windows tap by tap, so that adjacent windows are computed together.
  template <PoolKind kKind, bool kIndices>
  void RunRows(OpContext& context) const {
    const Tensor& x = context.Input(0);
    const kit::Window window = attributes_.Resolve(x.dims);
    const Dims y_dims = window.OutputDims(x.dims[0], x.dims[1]);
    Tensor& y = context.Output(0, x.type, y_dims);
    int64_t* index_out = kIndices ? context.Output(1, EP_TYPE_INT64, y_dims).template as<int64_t>() : nullptr;
    const size_t last = x.rank() - 3;
    const int64_t in_plane = x.dims.Count(2, x.rank());
    const int64_t out_plane = y_dims.Count(2, y_dims.size());
    if (y.Count() == 0) return;
    double work = static_cast<double>(out_plane);  // upper bound of the taps inside the input
    std::vector<std::vector<Seen>> seen(last + 1);
    for (size_t d = 0; d <= last; ++d) {
      const int64_t size = x.dims[d + 2];
      work *= static_cast<double>(std::min(window.kernel[d], size));
      for (int64_t at = 0; at < window.output[d]; ++at) {
        const kit::Taps inside = window.TapsInside(d, at, size);
        seen[d].push_back({inside.first, inside.count, window.TapsInPadded(d, at, size)});
      }
    }
    const std::vector<Seen>& along = seen[last];
    const int64_t windows = window.output[last], width = x.dims[last + 2], stride = window.strides[last];
    const std::vector<Tap> taps = TapsAlong(window, last, width);
    // Long kernels are processed window by window instead.
    const auto for_each_tap = [&](const auto& visit) {
      for (const Tap& tap : taps) visit(tap);
      if (!taps.empty()) return;
      for (int64_t c = 0; c < windows; ++c)
        for (int64_t t = 0; t < along[static_cast<size_t>(c)].count; ++t)
          visit(Tap{along[static_cast<size_t>(c)].first + t * window.dilations[last] - c * stride, c, c + 1});
    };
    const int64_t grain =
        work < 16384 ? std::max<int64_t>(1, 16384 / std::max<int64_t>(1, static_cast<int64_t>(work))) : 1;
    context.ParallelFor(x.dims[0] * x.dims[1], grain, [&](int64_t begin, int64_t end) {
      Row row(windows);
      Dims at(last + 1, 0);   // position of the row of windows; the last dimension stays 0
      Dims tap(last + 1, 0);  // position of the row of taps
      Dims rows(last + 1, 1);
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* const source = x.as<T>() + plane * in_plane;
        std::fill(at.begin(), at.end(), 0);
        for (int64_t first_window = 0; first_window < out_plane; first_window += windows) {
          double in_padded = 1;  // number of rows of taps inside the padded input, for averages
          int64_t row_count = 1;
          for (size_t d = 0; d < last; ++d) {
            const Seen& across = seen[d][static_cast<size_t>(at[d])];
            rows[d] = across.count;
            in_padded *= static_cast<double>(across.in_padded);
            row_count *= across.count;
          }
          std::fill(row.sum.begin(), row.sum.end(), 0.0);
          std::fill(tap.begin(), tap.end(), 0);
          for (int64_t r = 0; r < row_count; ++r) {
            int64_t offset = 0;
            for (size_t d = 0; d < last; ++d)
              offset =
                  offset * x.dims[d + 2] + seen[d][static_cast<size_t>(at[d])].first + tap[d] * window.dilations[d];
            offset *= width;
            // The first tap always replaces the initial value.
            if (kKind == PoolKind::kMax && r == 0) {
              for (size_t c = 0; c < along.size(); ++c) {
                if (along[c].count == 0) continue;
                row.best[c] = static_cast<Number>(source[offset + along[c].first]);
                row.index[c] = offset + along[c].first;
              }
            }
            for_each_tap([&](const Tap& t) {
              if (stride == 1) {
                Accumulate<kKind, kIndices>(row, source, offset, t, std::integral_constant<int64_t, 1>());
              } else if (stride == 2) {
                Accumulate<kKind, kIndices>(row, source, offset, t, std::integral_constant<int64_t, 2>());
              } else {
                Accumulate<kKind, kIndices>(row, source, offset, t, stride);
              }
            });
            if (last > 0) Advance(tap, rows, last);
          }
          const int64_t target = plane * out_plane + first_window;
          for (size_t c = 0; c < along.size(); ++c) {
            const int64_t count = row_count * along[c].count;
            const double padded = in_padded * static_cast<double>(along[c].in_padded);
            y.as<T>()[target + static_cast<int64_t>(c)] = Finish<kKind>(row.best[c], row.sum[c], count, padded);
            if constexpr (kIndices) {
              const int64_t index = count == 0 ? 0 : attributes_.StoredIndex(row.index[c], x.dims);
              index_out[target + static_cast<int64_t>(c)] = plane * in_plane + index;
            }
          }
          Advance(at, window.output, last);
        }
      }
    });
  }

  // Taps that are inside the input for any window. Empty for a long kernel, because most of its taps may be outside.
  static std::vector<Tap> TapsAlong(const kit::Window& window, size_t d, int64_t width) {
    constexpr int64_t kMostTaps = 1024;
    const int64_t stride = window.strides[d], windows = window.output[d];
    std::vector<Tap> taps;
    if (window.kernel[d] > kMostTaps) return taps;
    for (int64_t t = 0; t < window.kernel[d]; ++t) {
      const int64_t shift = t * window.dilations[d] - window.pads_begin[d];
      const int64_t begin = shift >= 0 ? 0 : (stride - 1 - shift) / stride;
      const int64_t end = shift >= width ? 0 : std::min(windows, (width - 1 - shift) / stride + 1);
      if (begin < end) taps.push_back({shift, begin, end});
    }
    return taps;
  }

  template <PoolKind kKind, bool kIndices, typename Stride>
  void Accumulate(Row& row, const T* source, int64_t offset, const Tap& tap, Stride stride) const {
    const T* const from = source + (offset + tap.begin * stride + tap.shift);
    const int64_t n = tap.end - tap.begin;
    if constexpr (kKind == PoolKind::kMax) {
      Number* const best = row.best.data() + tap.begin;
      [[maybe_unused]] int64_t* const index = row.index.data() + tap.begin;
      for (int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<Number>(from[i * stride]);
        // The first NaN wins.
        const bool better = value > best[i] || (value != value && best[i] == best[i]);
        best[i] = better ? value : best[i];
        if constexpr (kIndices) index[i] = better ? offset + (tap.begin + i) * stride + tap.shift : index[i];
      }
    } else {
      double* const sum = row.sum.data() + tap.begin;
      const auto add = [&](const auto& term) {
        for (int64_t i = 0; i < n; ++i) sum[i] += term(static_cast<double>(static_cast<Number>(from[i * stride])));
      };
      if (kKind == PoolKind::kAverage) return add([](double value) { return value; });
      if (power_ == 2) return add([](double value) { return value * value; });
      if (power_ == 1) return add([](double value) { return std::fabs(value); });
      add([this](double value) { return std::pow(std::fabs(value), power_); });
    }
  }

  // `count`: taps of the window inside the input; `in_padded`: taps inside the padded input.
  template <PoolKind kKind>
  T Finish(Number best, double sum, int64_t count, double in_padded) const {
    double result = sum;
    if constexpr (kKind == PoolKind::kMax) {
      if (count != 0) return static_cast<T>(best);
      return static_cast<T>(std::is_integral_v<T> ? std::numeric_limits<Number>::lowest()
                                                  : -std::numeric_limits<Number>::infinity());
    } else if constexpr (kKind == PoolKind::kAverage) {
      const double divisor = attributes_.include_pad ? in_padded : static_cast<double>(count);
      result = divisor == 0 ? 0.0 : sum / divisor;
    } else {
      result = power_ == 2 ? std::sqrt(sum) : power_ == 1 ? sum : std::pow(sum, 1.0 / power_);
    }
    return static_cast<T>(NumberAs<Number>(result));
  }

  // Advances to the next position in the first `count` dimensions.
  static void Advance(Dims& position, const Dims& bounds, size_t count) {
    for (size_t d = count; d-- > 0;) {
      if (++position[d] < bounds[d]) return;
      position[d] = 0;
    }
  }

  PoolKind kind_;
  kit::PoolAttributes attributes_;
  double power_;  // exponent of LpPool
  OneDnnPool onednn_;
};

template <typename T>
void AddPool(KernelRegistry& registry, std::string_view op_type, PoolKind kind, bool global) {
  const LayoutUse layouts = (!std::is_same_v<T, float> && sizeof(T) != 1) || kind == PoolKind::kLp
                                ? LayoutUse::kRowMajor
                            : global ? LayoutUse::kTakesAny
                                     : LayoutUse::kMakes;
  const auto make = [kind, global](const KernelInit& init) {
    return std::make_unique<PoolKernel<T>>(init, kind, global);
  };
  registry.Add(op_type, "", {1, INT64_MAX, TypeBit(kTypeOf<T>), make, layouts, &PoolKernel<T>::PromotionOf});
}

}  // namespace

void Register_pool(KernelRegistry& registry) {
  const struct {
    std::string_view op_type;
    PoolKind kind;
    bool global;
  } kOperators[] = {{"MaxPool", PoolKind::kMax, false},
                    {"AveragePool", PoolKind::kAverage, false},
                    {"LpPool", PoolKind::kLp, false},
                    {"GlobalMaxPool", PoolKind::kMax, true},
                    {"GlobalAveragePool", PoolKind::kAverage, true},
                    {"GlobalLpPool", PoolKind::kLp, true}};
  for (const auto& op : kOperators) {
    AddPool<float>(registry, op.op_type, op.kind, op.global);
    AddPool<double>(registry, op.op_type, op.kind, op.global);
    AddPool<Float16>(registry, op.op_type, op.kind, op.global);
    AddPool<BFloat16>(registry, op.op_type, op.kind, op.global);
  }
  AddPool<int8_t>(registry, "MaxPool", PoolKind::kMax, false);
  AddPool<uint8_t>(registry, "MaxPool", PoolKind::kMax, false);
}

}  // namespace epiphyte::cpu
