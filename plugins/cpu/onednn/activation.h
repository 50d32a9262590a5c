// Activations that a fused operator applies to its result: "activation", "activation_alpha", "activation_beta".
#pragma once

#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

struct Activation {
  std::string name;  // "" is none
  float alpha = 0;
  float beta = 0;

  // None for a node that is no fused one: ONNX's operators have no such attributes, whatever a model says.
  static Activation Read(const NodeDef& node) {
    if (node.domain != kFusedDomain) return {};
    return {node.String("activation"), node.Float("activation_alpha", 0), node.Float("activation_beta", 0)};
  }
  explicit operator bool() const { return !name.empty(); }
  void AppendTo(dnnl::post_ops& ops) const;
  // In place, for products that oneDNN doesn't make.
  void Apply(float* x, int64_t n) const;
};

}  // namespace epiphyte::cpu
