// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/math/softmax_float.h"

namespace epiphyte::cpu {
namespace {

enum class Reduction { kNone, kSum, kMean };

Reduction ReadReduction(const ir::Node& node) {
  const std::string reduction = node.String("reduction", "mean");
  if (reduction == "none") return Reduction::kNone;
  if (reduction == "sum") return Reduction::kSum;
  if (reduction == "mean") return Reduction::kMean;
  FailOp("reduction is '{}', expected none, sum or mean", reduction);
}

int64_t LabelAt(const Tensor& labels, int64_t i) {
  return labels.type == EP_TYPE_INT32 ? labels.as<int32_t>()[i] : labels.as<int64_t>()[i];
}

// Scores [N, C, d...], labels [N, d...], one weight for each class.
template <bool kFromScores>
class LikelihoodLossKernel : public Kernel {
 public:
  explicit LikelihoodLossKernel(const KernelInit& init)
      : name_(init.node().op_type), reduction_(ReadReduction(init.node())) {
    if (init.node().Has("ignore_index")) ignored_ = init.node().Int("ignore_index", 0);
  }

  void Run(OpContext& context) const override {
    const Tensor& scores = context.Input(0);
    const Tensor& labels = context.Input(1);
    const Tensor* weights = context.OptionalInput(2);
    CheckShapes(scores, labels, weights);
    DispatchFloats(scores.type, name_, [&]<typename T>() { RunTyped<T>(context, scores, labels, weights); });
  }

 private:
  void CheckShapes(const Tensor& scores, const Tensor& labels, const Tensor* weights) const {
    bool fits = scores.rank() >= 2 && labels.rank() == scores.rank() - 1 && labels.dims[0] == scores.dims[0];
    for (size_t i = 1; fits && i < labels.rank(); ++i) fits = labels.dims[i] == scores.dims[i + 1];
    if (!fits) FailOp("scores {} and labels {} do not fit", ShapeText(scores.dims), ShapeText(labels.dims));
    if (labels.type != EP_TYPE_INT32 && labels.type != EP_TYPE_INT64) {
      FailOp("labels are {}, expected int32 or int64", TypeName(labels.type));
    }
    if (weights != nullptr && (weights->Count() != scores.dims[1] || weights->type != scores.type)) {
      FailOp("weights have shape {} and type {}, expected [{}] of {}", ShapeText(weights->dims),
             TypeName(weights->type), scores.dims[1], TypeName(scores.type));
    }
    for (int64_t i = 0; i < labels.Count(); ++i) {
      const int64_t label = LabelAt(labels, i);
      if (label != ignored_ && (label < 0 || label >= scores.dims[1])) {
        FailOp("label {} is not below the number of classes, {}", label, scores.dims[1]);
      }
    }
  }

  template <typename T>
  void RunTyped(OpContext& context, const Tensor& scores, const Tensor& labels, const Tensor* weights) const {
    using C = Compute<T>;
    const int64_t classes = scores.dims[1];
    const int64_t plane = scores.dims.Count(2, scores.rank());
    const T* logs = scores.as<T>();
    if constexpr (kFromScores) {
      T* log_softmax = context.Output(1, scores.type, scores.dims).template as<T>();
      if constexpr (std::is_same_v<T, float>) {
        if (scores.Count() != 0) SoftmaxAlong(context, kit::AxisView(scores.dims, 1), logs, log_softmax, true);
      } else {
        ParallelLoop(context, labels.Count(), classes * kSoftmaxCost, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t base = i / plane * classes * plane + i % plane;
            LogSoftmax(scores.as<T>() + base, log_softmax + base, classes, plane);
          }
        });
      }
      logs = log_softmax;
    }
    const bool per_label = reduction_ == Reduction::kNone;
    Tensor& loss = context.Output(0, scores.type, per_label ? labels.dims : Dims());
    double sum = 0;
    double weight_sum = 0;
    for (int64_t n = 0; n < scores.dims[0] && plane != 0; ++n) {
      const T* const image = logs + n * classes * plane;
      for (int64_t p = 0; p < plane; ++p) {
        const int64_t i = n * plane + p, label = LabelAt(labels, i);
        C value = 0;
        if (label != ignored_) {
          const C weight = weights == nullptr ? C(1) : static_cast<C>(weights->as<T>()[label]);
          value = -static_cast<C>(image[label * plane + p]) * weight;
          weight_sum += static_cast<double>(weight);
        }
        if (per_label) loss.as<T>()[i] = static_cast<T>(value);
        sum += static_cast<double>(value);
      }
    }
    if (reduction_ == Reduction::kMean) sum /= weight_sum;
    if (!per_label) *loss.as<T>() = static_cast<T>(static_cast<C>(sum));
  }

  template <typename T>
  static void LogSoftmax(const T* x, T* y, int64_t n, int64_t stride) {
    using C = Compute<T>;
    C largest = -std::numeric_limits<C>::infinity();
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<C>(x[i * stride]));
    C sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<C>(x[i * stride]) - largest);
    const C log = std::log(sum);
    for (int64_t i = 0; i < n; ++i) y[i * stride] = static_cast<T>(static_cast<C>(x[i * stride]) - largest - log);
  }

  std::string name_;
  Reduction reduction_;
  std::optional<int64_t> ignored_;
};

}  // namespace

void Register_losses(KernelRegistry& registry) {
  registry.Add<LikelihoodLossKernel<false>>("NegativeLogLikelihoodLoss", 12, kFloats);
  registry.Add<LikelihoodLossKernel<true>>("SoftmaxCrossEntropyLoss", 12, kFloats);
}

}  // namespace epiphyte::cpu
