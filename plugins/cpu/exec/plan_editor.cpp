#include "plugins/cpu/exec/plan_editor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/cpu/kernel/convert.h"

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

std::optional<std::vector<float>> PlanEditor::Floats(int32_t value) const {
  const Tensor* tensor = Constant(value);
  if (tensor == nullptr || tensor->type != EP_TYPE_FLOAT) return {};
  std::vector<float> floats(static_cast<size_t>(tensor->Count()));
  if (floats.empty()) return floats;
  if (tensor->data == nullptr) return {};
  std::memcpy(floats.data(), tensor->data, floats.size() * sizeof(float));
  return floats;
}

bool PlanEditor::Scalar(int32_t value, float* number) const {
  const Tensor* tensor = Constant(value);
  if (tensor == nullptr || !Contains(kNumbers, tensor->type) || tensor->Count() != 1 || tensor->data == nullptr)
    return false;
  alignas(8) std::byte bytes[8];
  std::memcpy(bytes, tensor->data, tensor->Bytes());
  Tensor aligned;
  aligned.type = tensor->type;
  aligned.dims = tensor->dims;
  aligned.data = bytes;
  LoadFloats(aligned, 0, 1, number);
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
  DropUnusedValues();
}

int32_t PlanEditor::AddConstant(std::string name, std::vector<int64_t> dims, std::span<const float> data) {
  ConstantDef constant;
  constant.tensor.type = EP_TYPE_FLOAT;
  constant.tensor.dims.assign(dims.data(), dims.size());
  constant.owner.reset(new float[data.size()], std::default_delete<float[]>());
  constant.tensor.data = constant.owner.get();
  std::copy(data.begin(), data.end(), static_cast<float*>(constant.tensor.data));
  constant.borrowed = true;  // most are packed and dropped; one that is kept is copied to where kept ones are
  ValueInfo info;
  info.name = std::move(name);
  info.type = EP_TYPE_FLOAT;
  info.kind = EP_KIND_TENSOR;
  info.rank = static_cast<int32_t>(dims.size());
  info.dims = std::move(dims);
  constant.value = plan_.AddValue(std::move(info));
  plan_.constant_of_value[constant.value] = static_cast<int32_t>(plan_.constants.size());
  plan_.constants.push_back(std::move(constant));
  producer_.push_back(-1);
  readers_.emplace_back();
  is_output_.push_back(false);
  return plan_.constants.back().value;
}

void PlanEditor::DropUnusedValues() {
  std::vector<int32_t> number(plan_.values.size(), -1);
  const auto use = [&](const std::vector<int32_t>& values) {
    for (int32_t value : values)
      if (value >= 0) number[value] = 0;
  };
  use(plan_.inputs);
  use(plan_.outputs);
  for (const NodeDef& node : plan_.nodes) {
    use(node.inputs);
    use(node.outputs);
  }
  int32_t count = 0;
  for (size_t value = 0; value < number.size(); ++value) {
    if (number[value] < 0) continue;
    if (static_cast<size_t>(count) != value) plan_.values[count] = std::move(plan_.values[value]);
    number[value] = count++;
  }
  plan_.values.resize(count);
  std::erase_if(plan_.constants, [&](const ConstantDef& constant) { return number[constant.value] < 0; });
  plan_.constant_of_value.assign(count, -1);
  for (size_t i = 0; i < plan_.constants.size(); ++i) {
    int32_t& value = plan_.constants[i].value;
    value = number[value];
    plan_.constant_of_value[value] = static_cast<int32_t>(i);
  }
  const auto renumber = [&](std::vector<int32_t>& values) {
    for (int32_t& value : values)
      if (value >= 0) value = number[value];
  };
  renumber(plan_.inputs);
  renumber(plan_.outputs);
  for (NodeDef& node : plan_.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
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
