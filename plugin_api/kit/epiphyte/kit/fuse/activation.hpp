// Activation: the activation that a fused operator of the kit applies to its result, and how to find one behind a
// value. Also fuses activations that exporters write as several operators: Clip of a Relu, x * HardSigmoid(x), x *
// sigmoid(a x), x * tanh(softplus(x)).
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

// An activation, stored as the attributes "activation" (NameOf the operation), "activation_alpha" and
// "activation_beta".
struct Activation {
  ElementwiseOp op = ElementwiseOp::kCount;  // kCount: no activation; else an operation of one operand
  float alpha = 0;                           // parameter p0 of the operation
  float beta = 0;                            // parameter p1 of the operation

  explicit operator bool() const { return op != ElementwiseOp::kCount; }
  // Reads a node's activation. Returns none for nodes outside the kit's domain, because ONNX's operators have no such
  // attributes. Throws Error(EP_STATUS_INVALID_GRAPH) for an unknown activation.
  static Activation Read(const ir::Node& node);
  void AddTo(ir::Node& node) const;
};
// Drops the attributes that AddTo adds. A model may have such attributes on nodes where they have no meaning.
void DropActivation(ir::Node& node);

using TakesActivation = std::function<bool(const Activation& activation)>;  // empty: all activations

struct FoundActivation {
  int32_t node = -1;  // last of the nodes that compute the activation
  Activation activation;
  explicit operator bool() const { return node >= 0; }
};
// Finds the activation that is the only reader of `value`, for float types. x * sigmoid(x) counts as one. Bounds of a
// Clip must be constant and in order.
FoundActivation FindActivation(const ir::Editor& editor, int32_t value, const TakesActivation& takes = {});

// Replaces Clip(Relu(x)) by Clip(x) with a lower bound of at least 0.
void MergeReluIntoClip(ir::Editor& editor);
// Replaces x * HardSigmoid(x) with slope 1/6 and offset 1/2, and x * clip(x + 3, 0, 6) / 6 in any order, by HardSwish.
void FuseHardSwish(ir::Editor& editor);
// Replaces x * sigmoid(x) and x * sigmoid(alpha * x) by Swish (opset 24).
void FuseSwish(ir::Editor& editor);
// Replaces x * tanh(softplus(x)), also written as x * tanh(log(1 + exp(x))), by Mish (opset 18).
void FuseMish(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
