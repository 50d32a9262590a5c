#include "core/onnx/infer/loop_inference.h"

#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/onnx/infer/saved_types.h"

namespace epiphyte::core {
namespace {

// Numbers of inputs of a Loop, and of inputs of its body, before the carried values; then of outputs of the body before
// them.
constexpr size_t kTripCountAndCondition = 2;
constexpr size_t kCondition = 1;
// Loops nested in fewer than this many other Loops are inferred repeatedly. In deeper ones carried values have unknown
// shapes, because each level would multiply the work on their bodies.
constexpr int kDeepestRepeated = 2;

int LoopsAround(const Node& node) {
  int loops = 0;
  for (const Node* around = node.graph().parent(); around != nullptr; around = around->graph().parent())
    loops += around->Is("Loop") ? 1 : 0;
  return loops;
}

// The type of a scalar, or of a one-element tensor if the body declares the input so.
TypePtr OneOf(DataType element, const ValueDef& input) {
  const TypePtr& declared = input.type();
  const bool is_vector = declared && declared->shape() && declared->shape()->size() == 1;
  return Type::Tensor(element, is_vector ? Shape{Dim(1)} : Shape{});
}

class LoopInference {
 public:
  LoopInference(NodeInference& node, Graph& body, const InferBody& infer_body)
      : node_(node), body_(body), infer_body_(infer_body), declared_(body) {
    fixed_inputs_ = {OneOf(DataType::kInt64, *body.inputs()[0]), OneOf(DataType::kBool, *body.inputs()[1])};
    for (size_t i = kTripCountAndCondition; i < body.inputs().size(); ++i) {
      const ValueDef* initial = node.node().input(i);
      carried_.push_back(initial == nullptr ? nullptr : initial->type());
    }
  }

  void Run() {
    const bool may_repeat = LoopsAround(node_.node()) < kDeepestRepeated;
    if (!may_repeat || !(TryOnce() || TryOnce())) {
      for (TypePtr& type : carried_) type = WithoutShape(type);
      InferOnce();
    }
    SetOutputs();
  }

 private:
  // False if the shapes of the first iteration lead to a contradiction; without them inference may succeed.
  bool TryOnce() {
    try {
      return InferOnce();
    } catch (const Error& error) {
      if (error.code() != StatusCode::kInvalidGraph) throw;
      return false;
    }
  }

  // Returns whether the carried values kept their types.
  bool InferOnce() {
    declared_.Restore();
    std::vector<TypePtr> inputs = fixed_inputs_;
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    for (size_t i = kTripCountAndCondition; i < body_.inputs().size(); ++i) {
      ValueDef* input = body_.inputs()[i];
      input->set_type(WithoutShape(input->type()));
    }
    made_ = infer_body_(body_, inputs);
    bool stable = true;
    for (size_t i = 0; i < carried_.size() && kCondition + i < made_.size(); ++i) {
      TypePtr& type = carried_[i];
      if (!type || type->kind() == EP_KIND_UNKNOWN) continue;
      const TypePtr& next = made_[kCondition + i];
      const bool next_known = next && next->kind() != EP_KIND_UNKNOWN;
      TypePtr joined = next_known ? JoinTypes(type, next) : WithoutShape(type);
      const bool is_optional = type->kind() == EP_KIND_OPTIONAL || (next_known && next->kind() == EP_KIND_OPTIONAL);
      if (!joined && is_optional) joined = Type::Unknown();
      if (!joined) {
        node_.Reject("carried value {} begins as {}, but its body makes it {}", i, type->ToString(), next->ToString());
      }
      stable = stable && *joined == *type;
      type = std::move(joined);
    }
    return stable;
  }

  void SetOutputs() {
    for (size_t i = 0; kCondition + i < made_.size(); ++i) {
      const TypePtr& type = made_[kCondition + i];
      if (i < carried_.size()) {
        const bool known = carried_[i] && carried_[i]->kind() != EP_KIND_UNKNOWN;
        node_.Set(i, known ? carried_[i] : WithoutShape(type));
      } else if (type && type->IsTensor()) {
        std::optional<Shape> shape = type->shape();
        if (shape) shape->insert(shape->begin(), Dim());
        node_.SetTensor(i, type->element_type(), std::move(shape));
      }
    }
  }

  NodeInference& node_;
  Graph& body_;
  const InferBody& infer_body_;
  const SavedTypes declared_;
  std::vector<TypePtr> fixed_inputs_;
  std::vector<TypePtr> carried_;
  std::vector<TypePtr> made_;
};

}  // namespace

void InferLoop(NodeInference& node, const InferBody& infer_body) {
  const Attribute* body = node.node().FindAttribute("body");
  if (body == nullptr || body->type() != AttributeType::kGraph) node.Reject("it has no body");
  if (body->g().inputs().size() < kTripCountAndCondition) {
    node.Reject(
        "its body has {} inputs, {} or more expected: the number of the turn, the condition, and what is carried",
        body->g().inputs().size(), kTripCountAndCondition);
  }
  LoopInference(node, body->g(), infer_body).Run();
}

}  // namespace epiphyte::core
