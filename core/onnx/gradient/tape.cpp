#include "core/onnx/gradient/tape.h"

#include "core/base/error.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core::gradient {
namespace {

const ValueDef* Resolved(const ValueDef* value) {
  while (value->outer() != nullptr) value = value->outer();
  return value;
}

// Values of other kinds are detected later: their producers have no rule.
bool MayHaveDerivative(const ValueDef& value) {
  const DataType type = Emitter::TypeOf(&value);
  return type == DataType::kUndefined || IsFloat(type);
}

}  // namespace

void Followed::Add(const ValueDef* value) { values_.insert(Resolved(value)); }

bool Followed::Has(const ValueDef* value) const { return values_.contains(Resolved(value)); }

bool Followed::Extend(const Node& node) {
  const auto follows = [&](const std::vector<ValueDef*>& inputs) {
    for (const ValueDef* input : inputs)
      if (input != nullptr && Has(input)) return true;
    return false;
  };
  if (rules_.is_flat(node) || !(follows(node.inputs()) || follows(node.implicit_inputs()))) return false;
  bool any = false;
  for (const ValueDef* output : node.outputs()) {
    if (output == nullptr || !MayHaveDerivative(*output)) continue;
    values_.insert(output);
    any = true;
  }
  return any;
}

Value Tape::Of(const ValueDef* value) const {
  const auto found = derivatives_.find(Resolved(value));
  return found == derivatives_.end() ? nullptr : found->second;
}

void Tape::Give(const ValueDef* value, Value part) {
  Value& derivative = derivatives_[Resolved(value)];
  derivative = derivative == nullptr ? part : emitter_.Add(derivative, part);
}

void Tape::Differentiate(std::span<Node* const> nodes, Value y, Value g) {
  std::vector<const Node*> followed;
  for (const Node* node : nodes)
    if (followed_.Extend(*node)) followed.push_back(node);
  if (!IsFollowed(y)) return;
  Give(y, g);
  for (auto node = followed.rbegin(); node != followed.rend(); ++node) {
    Step step(**node, emitter_, *this);
    bool needed = false;
    for (size_t i = 0; i < (*node)->outputs().size(); ++i) needed |= step.g(i) != nullptr;
    if (!needed) continue;
    const Rule rule = followed_.rules().find(**node);
    if (rule == nullptr)
      step.Refuse("its operator has no derivative here; there are those of {}", followed_.rules().names());
    rule(step);
  }
}

void Step::Give(size_t input, Value part) {
  if (Wants(input)) tape_.Give(node_.input(input), part);
}

void Step::GiveSum(size_t input, Value part) {
  if (Wants(input)) Give(input, e_.SumTo(part, In(input)));
}

void Step::Through(const std::function<Value()>& forward) {
  const size_t begin = e_.made().size();
  const Value made = forward();
  const std::vector<Node*> nodes(e_.made().begin() + static_cast<std::ptrdiff_t>(begin), e_.made().end());
  if (g() != nullptr) tape_.Differentiate(nodes, made, g());
}

std::vector<int64_t> Step::Ints(std::string_view name) const {
  const Attribute* attribute = node_.FindAttribute(name);
  return attribute == nullptr ? std::vector<int64_t>() : attribute->ints();
}

int64_t Step::Axis(int64_t axis, size_t input) {
  const ValueDef* value = node_.input(input);
  if (axis >= 0 && !Emitter::RankIfKnown(value)) return axis;
  const auto rank = static_cast<int64_t>(e_.RankOf(value));
  if (axis < -rank || axis >= rank) Refuse("axis {} found, a value in [{}, {}] expected", axis, -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

size_t Step::RankFrom(size_t least, size_t input) {
  const size_t rank = e_.RankOf(node_.input(input));
  if (rank < least) Refuse("its input {} has {} dimensions, at least {} expected", input, rank, least);
  return rank;
}

std::vector<int64_t> Step::Axes(size_t input) {
  std::vector<int64_t> axes = Ints("axes");
  if (node_.input(input) != nullptr) {
    const auto known = e_.Ints(In(input));
    if (!known) Refuse("its axes are computed during the run; give them as a constant");
    axes = *known;
  }
  for (int64_t& axis : axes) axis = Axis(axis);
  return axes;
}

void Step::RefuseBecause(const std::string& reason) {
  Fail(StatusCode::kNotImplemented, "{}: {}, which it differentiates: {}", e_.label(), NodeLabel(node_), reason);
}

}  // namespace epiphyte::core::gradient
