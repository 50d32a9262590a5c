// BatchNormalization with given statistics or, in training, with the statistics of the batch; with an optional
// activation.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/reduce/normalize.h"
#include "plugins/cpu/simd/window/channel_scale.h"

namespace epiphyte::cpu {
namespace {

// Number of contiguous channels in a layout: the channels of a block, or all of them. 0: channels are not innermost.
int64_t ChannelsTogether(const Tensor& x) {
  const std::optional<AxisOrder> order = x.rank() < 2 ? std::nullopt : OrderOf(x);
  if (!order || x.layout == nullptr) return 0;
  if (order->block > 1) return order->block;
  return order->axes[order->rank - 1] == 1 ? x.dims[1] : 0;
}

template <typename T>
class BatchNormalizationKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit BatchNormalizationKernel(const KernelInit& init)
      : epsilon_(init.node().Float("epsilon", 1e-5f)),
        momentum_(init.node().Float("momentum", 0.9f)),
        version_(init.node().since_version),
        spatial_(init.node().Int("spatial", 1) != 0),
        activation_(Activation::Read(init.node())),
        training_(version_ >= 14 ? init.node().Int("training_mode", 0) != 0
                                 : version_ < 7 && init.node().Int("is_test", 0) == 0 && HasTrainingOutputs(init)) {}

  void Run(OpContext& context) const override {
    const Tensor& any = context.AnyLayoutInput(0);
    const int64_t block = std::is_same_v<T, float> && !training_ && spatial_ ? ChannelsTogether(any) : 0;
    const Tensor& x = block != 0 ? any : context.Input(0);
    if (x.rank() < 1) FailOp("a scalar found; an input of at least one dimension expected");
    // The only dimension is the batch; there is a single channel then.
    const bool has_channels = x.rank() > 1;
    const int64_t batch = x.dims[0];
    // Without "spatial", each position of a channel has its own statistics.
    const int64_t channels = !has_channels ? 1 : spatial_ ? x.dims[1] : x.dims.Count(1, x.rank());
    const int64_t plane = spatial_ && has_channels ? x.dims.Count(2, x.rank()) : 1;
    std::vector<double> scale(channels), shift(channels), mean(channels), variance(channels);
    const Tensor* inputs[5] = {};
    for (size_t i = 1; i < 5; ++i) {
      inputs[i] = &context.Input(i);
      if (inputs[i]->Count() != channels)
        FailOp("input {} has {} elements; {} expected", i, inputs[i]->Count(), channels);
    }
    const auto read = [](const Tensor& tensor, int64_t i) {
      switch (tensor.type) {
        case EP_TYPE_DOUBLE: return tensor.as<double>()[i];
        case EP_TYPE_FLOAT16: return static_cast<double>(static_cast<float>(tensor.as<Float16>()[i]));
        case EP_TYPE_BFLOAT16: return static_cast<double>(static_cast<float>(tensor.as<BFloat16>()[i]));
        default: return static_cast<double>(tensor.as<float>()[i]);
      }
    };
    for (size_t i = 1; i < 5; ++i)
      if ((kFloats & TypeBit(inputs[i]->type)) == 0) FailOp("input {} is of type {}", i, TypeName(inputs[i]->type));
    for (int64_t c = 0; c < channels; ++c) {
      mean[c] = read(*inputs[3], c);
      variance[c] = read(*inputs[4], c);
    }
    if (training_) {
      const std::vector<double> old_mean = mean;
      const std::vector<double> old_variance = variance;
      BatchStatistics(x, channels, plane, mean, variance);
      WriteRunning(context, inputs[3]->type, 1, old_mean, mean);
      WriteRunning(context, inputs[4]->type, 2, old_variance, variance);
    }
    for (int64_t c = 0; c < channels; ++c) {
      scale[c] = read(*inputs[1], c) / std::sqrt(variance[c] + epsilon_);
      shift[c] = read(*inputs[2], c) - mean[c] * scale[c];
    }

    Tensor* y = context.OutputInPlace(0, 0, x.type, x.dims);
    if (y == nullptr)
      y = block != 0 ? &context.OutputWithLayout(0, x.type, x.dims, x.layout, x.layout->desc.get_size())
                     : &context.Output(0, x.type, x.dims);
    const T* from = x.as<T>();
    T* to = y->template as<T>();
    if constexpr (std::is_same_v<T, float>) {
      const std::vector<float> scales(scale.begin(), scale.end());
      const std::vector<float> shifts(shift.begin(), shift.end());
      if (block == 0 && plane != 1) {
        ParallelLoop(context, batch * channels, plane, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ScalePlane(from, to, i * plane, plane, scales[i % channels], shifts[i % channels]);
        });
      } else if (block == channels || block == 0) {
        ParallelLoop(context, batch * plane, channels, [&](int64_t begin, int64_t end) {
          ScaleBlock(from + begin * channels, to + begin * channels, scales.data(), shifts.data(), end - begin,
                     channels);
        });
      } else {
        const int64_t blocks = channels / block;
        ParallelLoop(context, batch * blocks, plane * block, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t at = i * plane * block, c = i % blocks * block;
            ScaleBlock(from + at, to + at, scales.data() + c, shifts.data() + c, plane, block);
          }
        });
      }
    } else {
      ParallelLoop(context, batch * channels, plane, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double a = scale[i % channels];
          const double b = shift[i % channels];
          for (int64_t p = i * plane; p < (i + 1) * plane; ++p) to[p] = FromDouble(ToDouble(from[p]) * a + b);
        }
      });
    }
  }

 private:
  // Number of elements that stay in the L1 cache until the activation is applied.
  static constexpr int64_t kPiece = 4096;

  void ScalePlane(const float* x, float* y, int64_t at, int64_t plane, float scale, float shift) const {
    const auto affine = simd::ChosenNormalizeLoops().affine;
    const int64_t end = at + plane, step = activation_ ? kPiece : plane;
    for (; at < end; at += step) {
      const int64_t count = std::min(step, end - at);
      affine(x + at, y + at, count, scale, shift);
      if (activation_) ApplyActivation(activation_, y + at, count);
    }
  }

  // Scales `points` rows of `width` channels.
  void ScaleBlock(const float* x, float* y, const float* scale, const float* shift, int64_t points,
                  int64_t width) const {
    const int64_t step = activation_ ? std::max<int64_t>(kPiece / width, 1) : points;
    for (int64_t p = 0; p < points; p += step) {
      const int64_t count = std::min(step, points - p);
      simd::ScaleChannels(x + p * width, scale, shift, y + p * width, count, width);
      if (activation_) ApplyActivation(activation_, y + p * width, count * width);
    }
  }

  static bool HasTrainingOutputs(const KernelInit& init) { return init.node().outputs.size() > 1; }
  static double ToDouble(T value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return static_cast<double>(static_cast<float>(value));
    }
  }
  static T FromDouble(double value) {
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else {
      return T(static_cast<float>(value));
    }
  }

  static void BatchStatistics(const Tensor& x, int64_t channels, int64_t plane, std::vector<double>& mean,
                              std::vector<double>& variance) {
    const int64_t batch = x.dims[0];
    const double count = static_cast<double>(batch * plane);
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      double squares = 0;
      for (int64_t n = 0; n < batch; ++n)
        for (int64_t p = 0; p < plane; ++p) sum += ToDouble(x.as<T>()[(n * channels + c) * plane + p]);
      mean[c] = count == 0 ? 0 : sum / count;
      for (int64_t n = 0; n < batch; ++n) {
        for (int64_t p = 0; p < plane; ++p) {
          const double distance = ToDouble(x.as<T>()[(n * channels + c) * plane + p]) - mean[c];
          squares += distance * distance;
        }
      }
      variance[c] = count == 0 ? 0 : squares / count;
    }
  }

  void WriteRunning(OpContext& context, ElementType type, size_t output, const std::vector<double>& old,
                    const std::vector<double>& current) const {
    if (!context.HasOutput(output)) return;
    const int64_t dims[] = {static_cast<int64_t>(old.size())};
    Tensor& y = context.Output(output, type, dims);
    for (size_t i = 0; i < old.size(); ++i) {
      const double value = old[i] * momentum_ + current[i] * (1.0 - momentum_);
      switch (type) {
        case EP_TYPE_DOUBLE: y.as<double>()[i] = value; break;
        case EP_TYPE_FLOAT16: y.as<Float16>()[i] = Float16(static_cast<float>(value)); break;
        case EP_TYPE_BFLOAT16: y.as<BFloat16>()[i] = BFloat16(static_cast<float>(value)); break;
        default: y.as<float>()[i] = static_cast<float>(value);
      }
    }
  }

  float epsilon_, momentum_;
  int64_t version_;
  bool spatial_;
  Activation activation_;
  bool training_;
};

}  // namespace

void Register_batch_normalization(KernelRegistry& registry) {
  registry.Add<BatchNormalizationKernel<float>>("BatchNormalization", 1, Types(EP_TYPE_FLOAT));
  registry.Add<BatchNormalizationKernel<float>>("BatchNormalization", 1, Types(EP_TYPE_FLOAT), INT64_MAX,
                                                kit::fuse::kDomain);
  registry.Add<BatchNormalizationKernel<double>>("BatchNormalization", 1, Types(EP_TYPE_DOUBLE));
  registry.Add<BatchNormalizationKernel<Float16>>("BatchNormalization", 1, Types(EP_TYPE_FLOAT16));
  registry.Add<BatchNormalizationKernel<BFloat16>>("BatchNormalization", 1, Types(EP_TYPE_BFLOAT16));
}

}  // namespace epiphyte::cpu
