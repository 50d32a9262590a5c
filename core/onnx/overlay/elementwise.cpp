// Inference of elementwise operators.
#include "core/onnx/infer/node_inference.h"
#include "core/onnx/overlay/overlay_inference.h"

namespace epiphyte::core {
namespace {

std::optional<Shape> BroadcastInputs(const NodeInference& node) {
  const Shape* a = node.shape(0);
  const Shape* b = node.shape(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  return Broadcast(node, *a, *b);
}

std::optional<Shape> CopyShape(const Shape* shape) { return shape == nullptr ? std::nullopt : std::optional(*shape); }

}  // namespace

void InferLikeFirst(NodeInference& node) {
  for (size_t i = 0; i < node.node().outputs().size(); ++i) node.SetLike(i, 0);
}

void InferBroadcast(NodeInference& node) {
  const ValueDef* a = node.node().input(0);
  const ValueDef* b = node.node().input(1);
  // Reuses the type object, so that long chains of equal shapes share one.
  if (a != nullptr && b != nullptr && a->type() && a->type() == b->type()) return node.SetLike(0, 0);
  const Shape* first = node.shape(0);
  std::optional<Shape> shape = BroadcastInputs(node);
  if (shape && first != nullptr && *shape == *first) return node.SetLike(0, 0);
  const Shape* second = node.shape(1);
  if (shape && second != nullptr && *shape == *second && node.element(0) == node.element(1)) return node.SetLike(0, 1);
  node.SetTensor(0, node.element(0), std::move(shape));
}

void InferComparison(NodeInference& node) { node.SetTensor(0, DataType::kBool, BroadcastInputs(node)); }

void InferBoolLikeFirst(NodeInference& node) { node.SetTensor(0, DataType::kBool, CopyShape(node.shape(0))); }

void InferStringConcat(NodeInference& node) { node.SetTensor(0, DataType::kString, BroadcastInputs(node)); }

void InferStringSplit(NodeInference& node) {
  std::optional<Shape> pieces = CopyShape(node.shape(0));
  node.SetTensor(1, DataType::kInt64, pieces);
  if (pieces) pieces->emplace_back();
  node.SetTensor(0, DataType::kString, std::move(pieces));
}

// Each derivative has the type of the value by which it is differentiated.
void InferGradient(NodeInference& node) {
  for (size_t i = 0; i < node.node().outputs().size(); ++i) node.SetLike(i, i);
}

}  // namespace epiphyte::core
