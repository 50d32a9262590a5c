#include "plugins/cpu/plan/plan_editor.h"

#include <algorithm>
#include <cmath>

namespace epiphyte::cpu {

PlanEditor::PlanEditor(PlanDef& plan)
    : plan_(plan),
      producer_(plan.values.size(), -1),
      readers_(plan.values.size()),
      is_output_(plan.values.size(), false),
      removed_(plan.nodes.size(), false) {
  for (int32_t n = 0; n < node_count(); ++n) {
    for (int32_t value : plan_.nodes[n].inputs)
      if (value >= 0) readers_[value].push_back(n);
    for (int32_t value : plan_.nodes[n].outputs)
      if (value >= 0) producer_[value] = n;
  }
  for (int32_t value : plan_.outputs) is_output_[value] = true;
}

int32_t PlanEditor::ProducerOf(int32_t value, std::string_view op_type) const {
  const int32_t producer = Producer(value);
  return Is(producer, op_type) ? producer : -1;
}

bool PlanEditor::SameStaticShape(int32_t a, int32_t b) const {
  return info(a).IsStatic() && info(b).IsStatic() && info(a).dims == info(b).dims;
}

const Tensor* PlanEditor::Constant(int32_t value) const {
  const ConstantDef* constant = plan_.FindConstant(value);
  return constant == nullptr ? nullptr : &constant->tensor;
}

bool PlanEditor::Scalar(int32_t value, float* number) const {
  const Tensor* tensor = Constant(value);
  if (tensor == nullptr || tensor->type != EP_TYPE_FLOAT || tensor->Count() != 1 || tensor->data == nullptr)
    return false;
  std::memcpy(number, tensor->data, sizeof *number);
  return true;
}

bool PlanEditor::IsScalarNear(int32_t value, double number) const {
  float found = 0;
  return Scalar(value, &found) && std::fabs(found - number) <= 1e-5 * std::max(1.0, std::fabs(number));
}

void PlanEditor::RemoveReader(int32_t value, int32_t node) {
  auto& readers = readers_[value];
  readers.erase(std::find(readers.begin(), readers.end(), node));
}

bool PlanEditor::IsDead(int32_t node) const {
  for (int32_t value : plan_.nodes[node].outputs)
    if (value >= 0 && (!readers_[value].empty() || is_output_[value])) return false;
  return true;
}

void PlanEditor::RemoveDead(std::vector<int32_t> work) {
  while (!work.empty()) {
    const int32_t n = work.back();
    work.pop_back();
    if (n < 0 || removed_[n] || !IsDead(n)) continue;
    removed_[n] = true;
    for (int32_t value : plan_.nodes[n].inputs) {
      if (value < 0) continue;
      RemoveReader(value, n);
      work.push_back(producer_[value]);
    }
  }
}

void PlanEditor::Replace(int32_t node, NodeDef replacement) {
  NodeDef& place = plan_.nodes[node];
  std::vector<int32_t> makers;
  for (int32_t value : place.inputs) {
    if (value < 0) continue;
    RemoveReader(value, node);
    makers.push_back(producer_[value]);
  }
  for (int32_t value : place.outputs)
    if (value >= 0) producer_[value] = -1;
  place = std::move(replacement);
  for (int32_t value : place.inputs)
    if (value >= 0) readers_[value].push_back(node);
  for (int32_t value : place.outputs) {
    if (value < 0) continue;
    // The node that made it so far has become part of this one.
    const int32_t before = producer_[value];
    if (before >= 0 && before != node)
      std::replace(plan_.nodes[before].outputs.begin(), plan_.nodes[before].outputs.end(), value, -1);
    producer_[value] = node;
  }
  RemoveDead(std::move(makers));
}

void PlanEditor::Finish() {
  for (int32_t n = node_count(); n-- > 0;) RemoveDead({n});
  size_t kept = 0;
  for (size_t n = 0; n < plan_.nodes.size(); ++n) {
    if (removed_[n]) continue;
    if (kept != n) plan_.nodes[kept] = std::move(plan_.nodes[n]);
    ++kept;
  }
  plan_.nodes.resize(kept);
}

AttributeValue IntAttribute(std::string name, int64_t value) {
  AttributeValue attribute;
  attribute.name = std::move(name);
  attribute.type = EP_ATTRIBUTE_INT;
  attribute.ints = {value};
  return attribute;
}
AttributeValue IntsAttribute(std::string name, std::vector<int64_t> values) {
  AttributeValue attribute;
  attribute.name = std::move(name);
  attribute.type = EP_ATTRIBUTE_INTS;
  attribute.ints = std::move(values);
  return attribute;
}
AttributeValue FloatAttribute(std::string name, float value) {
  AttributeValue attribute;
  attribute.name = std::move(name);
  attribute.type = EP_ATTRIBUTE_FLOAT;
  attribute.floats = {value};
  return attribute;
}
AttributeValue FloatsAttribute(std::string name, std::vector<float> values) {
  AttributeValue attribute;
  attribute.name = std::move(name);
  attribute.type = EP_ATTRIBUTE_FLOATS;
  attribute.floats = std::move(values);
  return attribute;
}
AttributeValue StringAttribute(std::string name, std::string value) {
  AttributeValue attribute;
  attribute.name = std::move(name);
  attribute.type = EP_ATTRIBUTE_STRING;
  attribute.strings = {std::move(value)};
  return attribute;
}

}  // namespace epiphyte::cpu
