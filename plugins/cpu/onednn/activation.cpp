#include "plugins/cpu/onednn/activation.h"

#include "plugins/cpu/kernel/elementwise_program.h"

namespace epiphyte::cpu {

void Activation::AppendTo(dnnl::post_ops& ops) const {
  using dnnl::algorithm;
  if (name.empty()) return;
  if (name == "Relu") return AppendEltwise(ops, algorithm::eltwise_relu, 0, 0);
  if (name == "LeakyRelu") return AppendEltwise(ops, algorithm::eltwise_relu, alpha, 0);
  if (name == "Clip") return AppendEltwise(ops, algorithm::eltwise_clip, alpha, beta);
  if (name == "Sigmoid") return AppendEltwise(ops, algorithm::eltwise_logistic, 0, 0);
  if (name == "Tanh") return AppendEltwise(ops, algorithm::eltwise_tanh, 0, 0);
  if (name == "Swish") return AppendEltwise(ops, algorithm::eltwise_swish, 1, 0);
  if (name == "GeluErf") return AppendEltwise(ops, algorithm::eltwise_gelu_erf, 0, 0);
  if (name == "GeluTanh") return AppendEltwise(ops, algorithm::eltwise_gelu_tanh, 0, 0);
  if (name == "HardSwish") return AppendHardSwish(ops);
  throw OpError(EP_STATUS_INVALID_GRAPH, fmt::format("unknown activation '{}'", name));
}

void Activation::Apply(float* x, int64_t n) const {
  static constexpr std::pair<std::string_view, ElementwiseOp> kOps[] = {
      {"Relu", ElementwiseOp::kRelu},          {"LeakyRelu", ElementwiseOp::kLeakyRelu},
      {"Clip", ElementwiseOp::kClip},          {"Sigmoid", ElementwiseOp::kSigmoid},
      {"Tanh", ElementwiseOp::kTanh},          {"Swish", ElementwiseOp::kSwish},
      {"GeluErf", ElementwiseOp::kGelu},       {"GeluTanh", ElementwiseOp::kGeluTanh},
      {"HardSwish", ElementwiseOp::kHardSwish}};
  for (const auto& [known, op] : kOps)
    if (name == known) return RunUnary(op, x, alpha, beta, x, n);
  throw OpError(EP_STATUS_INVALID_GRAPH, fmt::format("unknown activation '{}'", name));
}

}  // namespace epiphyte::cpu
