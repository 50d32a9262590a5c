#include "epiphyte/kit/plugin/microsoft.hpp"

#include <vector>

namespace epiphyte::kit {
namespace {

void InferMatMulNBits(const Inference& inference) {
  const ValueView a = inference.node().input(0);
  if (!a.IsTensor()) return;
  if (!a.has_rank()) return inference.SetTensorOfUnknownRank(0, a.element_type());
  std::vector<int64_t> dims(a.dims().begin(), a.dims().end());
  if (dims.empty()) inference.Reject("A is a scalar; at least one dimension expected");
  const int64_t k = inference.node().Int("K", 0);
  if (dims.back() >= 0 && dims.back() != k)
    inference.Reject("A's last dimension is " + std::to_string(dims.back()) + ", expected K, which is " +
                     std::to_string(k));
  dims.back() = inference.node().Int("N", 0);
  inference.SetTensor(0, a.element_type(), dims);
}

}  // namespace

std::span<const Operator> MicrosoftOperators() {
  static constexpr OperatorAttribute kAttributes[] = {{"K", EP_ATTRIBUTE_INT, true},
                                                      {"N", EP_ATTRIBUTE_INT, true},
                                                      {"accuracy_level", EP_ATTRIBUTE_INT},
                                                      {"bits", EP_ATTRIBUTE_INT},
                                                      {"block_size", EP_ATTRIBUTE_INT, true}};
  static constexpr Operator kOperators[] = {{.domain = "com.microsoft",
                                             .name = "MatMulNBits",
                                             .min_inputs = 3,
                                             .max_inputs = 6,
                                             .attributes = kAttributes,
                                             .infer = InferMatMulNBits}};
  return kOperators;
}

}  // namespace epiphyte::kit
