#include "core/onnx/infer/libonnx_guard.h"

#include <onnx/defs/schema.h>

#include <algorithm>

#include "core/onnx/infer/attribute_guard.h"
#include "core/onnx/infer/node_inference.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

bool IsWithin(size_t count, int least, int most) {
  return count >= static_cast<size_t>(least) && count <= static_cast<size_t>(most);
}

bool HasArityOf(const onnx::OpSchema& source, const Node& node) {
  return IsWithin(CountWithoutTrailingNulls(node.inputs()), source.min_input(), source.max_input()) &&
         IsWithin(node.outputs().size(), source.min_output(), source.max_output());
}

// Checks the attribute types against `source`. CheckNode has done so already unless `source` is another operator's
// schema.
bool HasAttributesOf(const onnx::OpSchema& source, const Node& node) {
  return std::ranges::all_of(source.attributes(), [&node](const auto& entry) {
    const auto& [name, rule] = entry;
    const Attribute* attribute = node.FindAttribute(name);
    if (attribute == nullptr) return !rule.required;
    const auto expected = static_cast<AttributeType>(rule.type);
    return attribute->type() == expected || expected == AttributeType::kSparseTensor;
  });
}

void CheckRank(const NodeInference& node, size_t input, size_t rank) {
  const Shape* shape = node.shape(input);
  if (shape == nullptr || shape->size() == rank) return;
  node.Reject("input {} has {} dimensions, {} expected", input, shape->size(), rank);
}

// MaxRoiPool's function reads two pooled sizes, but only compares their count with the image's rank.
void CheckPooledShape(const NodeInference& node) {
  CheckRank(node, 0, 4);
  CheckRank(node, 1, 2);
  const size_t sizes = node.Ints("pooled_shape").size();
  if (sizes != 2) node.Reject("attribute 'pooled_shape' has {} values, 2 expected", sizes);
}

// SplitToSequence's function divides by a scalar split without checking it.
void CheckSplitSize(const NodeInference& node) {
  const auto split = node.ints(1);
  const Shape* shape = node.shape(1);
  if (!split || shape == nullptr || !shape->empty() || split->size() != 1 || split->front() > 0) return;
  node.Reject("input 'split' has the value {}, 1 or more expected", split->front());
}

}  // namespace

bool IsOptionalInput(const onnx::OpSchema& source, size_t index) {
  return index < source.inputs().size() && source.inputs()[index].GetOption() == onnx::OpSchema::Optional;
}

bool MeetsLibonnxPreconditions(const NodeInference& node, const OperatorSchema& schema, const onnx::OpSchema& source) {
  CheckNode(node.node(), schema);
  if (!HasArityOf(source, node.node()) || !HasAttributesOf(source, node.node())) return false;
  CheckAttributeValues(node);
  if (!source.domain().empty()) return true;
  const std::string& op_type = source.Name();
  if (op_type == "RNN" || op_type == "GRU" || op_type == "LSTM") CheckRank(node, 0, 3);
  if (op_type == "MaxRoiPool") CheckPooledShape(node);
  if (op_type == "SplitToSequence") CheckSplitSize(node);
  return true;
}

}  // namespace epiphyte::core
