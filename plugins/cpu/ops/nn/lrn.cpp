// LRN: divides each element by a power of the sum of squares of its neighbours in other channels.
#include <algorithm>
#include <array>
#include <cmath>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/primitive.h"
#include "plugins/cpu/simd/window/local_response.h"

namespace epiphyte::cpu {
namespace {

struct LrnAttributes {
  explicit LrnAttributes(const ir::Node& node)
      : alpha(node.Float("alpha", 0.0001f)),
        beta(node.Float("beta", 0.75f)),
        bias(node.Float("bias", 1.0f)),
        size(node.Int("size", 0)) {
    if (size < 1) FailOp("size is {}; at least 1 expected", size);
  }
  float alpha, beta, bias;
  int64_t size;
};

// Number of positions processed together, such that their sums stay in registers.
constexpr int64_t kTile = 64;

// y = x * (bias + factor * squares) ^ -beta
using simd::ScaleByPower;
void ScaleByPower(const double* x, const double* squares, double* y, int64_t n, double bias, double factor,
                  double beta) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * std::pow(bias + factor * squares[i], -beta);
}

template <typename T>
class LrnKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kTakesAny;
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit LrnKernel(const KernelInit& init) : attributes_(init.node()) {}

  void Run(OpContext& context) const override {
    if constexpr (std::is_same_v<T, float>) {
      if (RunBlocked(context)) return;
    }
    const Tensor& x = context.Input(0);
    if (x.rank() < 2) FailOp("an input of rank {}; at least 2 expected", x.rank());
    Tensor& y = context.Output(0, x.type, x.dims);
    if (y.Count() == 0) return;
    const int64_t channels = x.dims[1];
    const int64_t plane = x.dims.Count(2, x.rank());
    const int64_t tiles = (plane + kTile - 1) / kTile;
    const int64_t before = (attributes_.size - 1) / 2;
    const int64_t after = attributes_.size - 1 - before;
    const int64_t grain = std::max<int64_t>(1, 4096 / channels / std::min(attributes_.size, channels));
    context.ParallelFor(x.dims[0] * tiles, grain, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t first = tile % tiles * kTile;
        const int64_t offset = tile / tiles * channels * plane + first;
        RunTile(x.as<T>() + offset, y.as<T>() + offset, std::min(kTile, plane - first), channels, plane, before, after);
      }
    });
  }

 private:
  struct State {
    Dims dims;
    std::shared_ptr<const Layout> layout;
    PrimitiveCall call;
  };

  void RunTile(const T* x, T* y, int64_t count, int64_t channels, int64_t plane, int64_t before, int64_t after) const {
    using Number = Compute<T>;
    const auto factor = static_cast<Number>(attributes_.alpha) / static_cast<Number>(attributes_.size);
    std::array<Number, kTile> own, squares, result;
    for (int64_t c = 0; c < channels; ++c) {
      squares.fill(0);
      for (int64_t other = std::max<int64_t>(0, c - before);
           other <= std::min(channels - 1, c + std::min(after, channels)); ++other) {
        const T* from = x + other * plane;
        for (int64_t i = 0; i < count; ++i) {
          const auto value = static_cast<Number>(from[i]);
          squares[static_cast<size_t>(i)] += value * value;
        }
      }
      for (int64_t i = 0; i < count; ++i) own[static_cast<size_t>(i)] = static_cast<Number>(x[c * plane + i]);
      ScaleByPower(own.data(), squares.data(), result.data(), count, static_cast<Number>(attributes_.bias), factor,
                   static_cast<Number>(attributes_.beta));
      for (int64_t i = 0; i < count; ++i) y[c * plane + i] = static_cast<T>(result[static_cast<size_t>(i)]);
    }
  }

  // Runs oneDNN on blocked channels, as behind a convolution. oneDNN centres windows of even size differently, so those
  // are excluded.
  bool RunBlocked(OpContext& context) const {
    const Tensor& x = context.AnyLayoutInput(0);
    if (!x.layout || x.rank() != 4 || attributes_.size % 2 == 0 || x.Count() == 0) return false;
    State& state = context.State<State>();
    if (!(state.dims == x.dims) || !state.layout || !(state.layout->desc == x.layout->desc)) {
      state = State();
      state.dims = x.dims;
      state.layout = x.layout;
      try {
        const auto pd = LrnDesc(x.layout->desc, attributes_.size, attributes_.alpha, attributes_.beta, attributes_.bias,
                                UserScratchpad());
        if (std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos) {
          state.call.Reset(dnnl::lrn_forward(pd), pd.scratchpad_desc());
          state.call.Add(DNNL_ARG_SRC, x.layout->desc);
          state.call.Add(DNNL_ARG_DST, x.layout->desc);
        }
      } catch (const dnnl::error& error) {
        ThrowIfNoMemory(error);
        // oneDNN has no implementation: the loop runs on row-major data.
      }
    }
    if (!state.call) return false;
    Tensor& y = context.OutputWithLayout(0, x.type, x.dims, x.layout, x.layout->desc.get_size());
    state.call.Set(DNNL_ARG_SRC, x.data);
    state.call.Set(DNNL_ARG_DST, y.data);
    state.call.Run(context);
    return true;
  }

  LrnAttributes attributes_;
};

}  // namespace

void Register_lrn(KernelRegistry& registry) {
  registry.Add<LrnKernel<float>>("LRN", 1, Types(EP_TYPE_FLOAT));
  registry.Add<LrnKernel<double>>("LRN", 1, Types(EP_TYPE_DOUBLE));
  registry.Add<LrnKernel<Float16>>("LRN", 1, Types(EP_TYPE_FLOAT16));
  registry.Add<LrnKernel<BFloat16>>("LRN", 1, Types(EP_TYPE_BFLOAT16));
}

}  // namespace epiphyte::cpu
