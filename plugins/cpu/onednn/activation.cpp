#include "plugins/cpu/onednn/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/cpu/kernel/elementwise_run.h"

namespace epiphyte::cpu {
namespace {

// Returns false when oneDNN lacks the operation. `ops` may be null.
bool Append(const Activation& activation, dnnl::post_ops* ops) {
  using dnnl::algorithm;
  const auto eltwise = [&](algorithm kind, float alpha, float beta) {
    if (ops != nullptr) AppendEltwise(*ops, kind, alpha, beta);
    return true;
  };
  switch (activation.op) {
    case ElementwiseOp::kRelu: return eltwise(algorithm::eltwise_relu, 0, 0);
    case ElementwiseOp::kLeakyRelu: return eltwise(algorithm::eltwise_relu, activation.alpha, 0);
    case ElementwiseOp::kClip: return eltwise(algorithm::eltwise_clip, activation.alpha, activation.beta);
    case ElementwiseOp::kSigmoid: return eltwise(algorithm::eltwise_logistic, 0, 0);
    case ElementwiseOp::kTanh: return eltwise(algorithm::eltwise_tanh, 0, 0);
    case ElementwiseOp::kSwish: return eltwise(algorithm::eltwise_swish, 1, 0);
    case ElementwiseOp::kGelu: return eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    case ElementwiseOp::kGeluTanh: return eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
    case ElementwiseOp::kHardSwish:
      if (ops != nullptr) AppendHardSwish(*ops);
      return true;
    default: return false;
  }
}

}  // namespace

bool IsOneDnnActivation(const Activation& activation) { return Append(activation, nullptr); }

void AppendActivation(const Activation& activation, dnnl::post_ops& ops) {
  if (activation && !Append(activation, &ops))
    throw kit::Error(EP_STATUS_INVALID_GRAPH,
                     FormatText("activation '{}' can't follow a product", kit::fuse::NameOf(activation.op)));
}

float LimitOfActivation(const Activation& activation, float limit) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  if (!activation || !std::isfinite(limit)) return limit;
  switch (activation.op) {
    case ElementwiseOp::kRelu:
    case ElementwiseOp::kSwish:
    case ElementwiseOp::kGelu:
    case ElementwiseOp::kGeluTanh:
    case ElementwiseOp::kHardSwish: return limit;
    case ElementwiseOp::kLeakyRelu: return std::fabs(activation.alpha) <= 1 ? limit : kNone;
    case ElementwiseOp::kClip: {
      const float bounds = std::max(std::fabs(activation.alpha), std::fabs(activation.beta));
      return activation.alpha <= 0 && activation.beta >= 0 ? std::min(limit, bounds) : bounds;
    }
    case ElementwiseOp::kSigmoid:
    case ElementwiseOp::kTanh: return 1;
    default: return kNone;
  }
}

void ApplyActivation(const Activation& activation, float* x, int64_t n) {
  ElementwiseLoop(activation.op, activation.alpha, activation.beta)(x, nullptr, x, n);
}

}  // namespace epiphyte::cpu
