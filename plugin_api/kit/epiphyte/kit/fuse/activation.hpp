// Activations: how a fused operator of the kit says which one it applies to its result, and how one is found behind a
// value. And activations that exporters write out: Clip of a Relu, x * HardSigmoid(x), x * sigmoid(a x),
// x * tanh(softplus(x)).
//
//   if (const fuse::FoundActivation found = fuse::FindActivation(editor, value)) {
//     found.activation.AddTo(fused);
//     fused.outputs = {editor.node(found.node).outputs[0]};
//     editor.Replace(found.node, std::move(fused));
//   }
//   …
//   const fuse::Activation activation = fuse::Activation::Read(node);   // in a kernel
#pragma once

#include <functional>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// As attributes: "activation" (NameOf the operation), "activation_alpha", "activation_beta".
struct Activation {
  ElementwiseOp op = ElementwiseOp::kCount;  // none; else one of a single operand
  float alpha = 0;                           // the operation's p0
  float beta = 0;                            // and p1

  explicit operator bool() const { return op != ElementwiseOp::kCount; }
  // None for a node of another domain than the kit's: ONNX's operators have no such attributes, whatever a model says.
  // Throws Error(EP_STATUS_INVALID_GRAPH) for one that isn't known.
  static Activation Read(const ir::Node& node);
  void AddTo(ir::Node& node) const;
};
// Drops what AddTo adds: a model may have such attributes where they mean nothing.
void DropActivation(ir::Node& node);

using TakesActivation = std::function<bool(const Activation& activation)>;  // empty: every one

struct FoundActivation {
  int32_t node = -1;  // the last of those that compute it
  Activation activation;
  explicit operator bool() const { return node >= 0; }
};
// The activation that alone reads `value`, of float types; x * sigmoid(x) is one. Bounds of a Clip are constant and in
// order.
FoundActivation FindActivation(const ir::Editor& editor, int32_t value, const TakesActivation& takes = {});

// Clip(Relu(x)) is Clip(x) with a lower bound of at least 0.
void MergeReluIntoClip(ir::Editor& editor);
// x * HardSigmoid(x) with slope 1/6 and offset 1/2, and x * clip(x + 3, 0, 6) / 6 in any order, become HardSwish.
void FuseHardSwish(ir::Editor& editor);
// x * sigmoid(x) and x * sigmoid(alpha * x) become Swish (opset 24).
void FuseSwish(ir::Editor& editor);
// x * tanh(softplus(x)), also as x * tanh(log(1 + exp(x))), becomes Mish (opset 18).
void FuseMish(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
