#include "plugins/cpu/ops/nn/reference_conv.h"

#include <type_traits>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/kernel/dispatch.h"

namespace epiphyte::cpu {

const Tensor* CheckedBias(OpContext& context, int64_t channels) {
  const Tensor* bias = context.OptionalInput(2);
  if (bias != nullptr && bias->Count() != channels) FailOp("{} biases for {} channels", bias->Count(), channels);
  return bias;
}

namespace {

// General convolution with sums in double.
template <typename T>
class ReferenceConvKernel final : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit ReferenceConvKernel(const KernelInit& init)
      : attributes_(kit::WindowAttributes::Read(init.node())), group_(kit::CheckedGroup(init.node().Int("group", 1))) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    const kit::ConvolutionShape shape(attributes_, x.dims, w.dims, group_);
    const kit::Window& window = shape.window;
    const Tensor* b = CheckedBias(context, shape.filters());
    const size_t spatial = shape.spatial();
    Tensor& y = context.Output(0, x.type, shape.y);
    const int64_t in_plane = shape.in_positions();
    const int64_t out_plane = shape.positions();
    const int64_t in_channels = shape.in_per_group();
    const int64_t taps = in_channels == 0 ? 0 : shape.taps();
    const int64_t out_per_group = shape.filters_per_group();
    context.ParallelFor(x.dims[0] * w.dims[0], 1, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> at(spatial), tap(spatial);
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t n = plane / w.dims[0];
        const int64_t o = plane % w.dims[0];
        const T* source = x.as<T>() + (n * x.dims[1] + o / out_per_group * in_channels) * in_plane;
        const T* weights = w.as<T>() + o * in_channels * taps;
        T* target = y.as<T>() + plane * out_plane;
        for (int64_t i = 0; i < out_plane; ++i) {
          for (int64_t rest = i, d = static_cast<int64_t>(spatial) - 1; d >= 0; --d) {
            at[d] = rest % window.output[d];
            rest /= window.output[d];
          }
          double sum = b != nullptr ? static_cast<double>(static_cast<float>(b->as<T>()[o])) : 0.0;
          if constexpr (std::is_same_v<T, double>) sum = b != nullptr ? b->as<T>()[o] : 0.0;
          for (int64_t t = 0; t < taps; ++t) {
            int64_t offset = 0;
            bool inside = true;
            for (int64_t rest = t, d = static_cast<int64_t>(spatial) - 1; d >= 0; --d) {
              tap[d] = rest % window.kernel[d];
              rest /= window.kernel[d];
            }
            for (size_t d = 0; d < spatial && inside; ++d) {
              const int64_t position = at[d] * window.strides[d] - window.pads_begin[d] + tap[d] * window.dilations[d];
              inside = position >= 0 && position < x.dims[d + 2];
              offset = offset * x.dims[d + 2] + position;
            }
            if (!inside) continue;
            for (int64_t c = 0; c < in_channels; ++c)
              sum += static_cast<double>(ToNumber(source[c * in_plane + offset])) *
                     static_cast<double>(ToNumber(weights[c * taps + t]));
          }
          target[i] = FromNumber(sum);
        }
      }
    });
  }

 private:
  static auto ToNumber(T value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return static_cast<float>(value);
    }
  }
  static T FromNumber(double value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return T(static_cast<float>(value));
    }
  }

  kit::WindowAttributes attributes_;
  int64_t group_;
};

}  // namespace

std::unique_ptr<Kernel> MakeReferenceConv(const KernelInit& init) {
  return std::make_unique<ReferenceConvKernel<float>>(init);
}

void AddReferenceConvs(KernelRegistry& registry) {
  registry.Add<ReferenceConvKernel<double>>("Conv", 1, Types(EP_TYPE_DOUBLE));
  registry.Add<ReferenceConvKernel<Float16>>("Conv", 1, Types(EP_TYPE_FLOAT16));
  registry.Add<ReferenceConvKernel<BFloat16>>("Conv", 1, Types(EP_TYPE_BFLOAT16));
}

}  // namespace epiphyte::cpu
