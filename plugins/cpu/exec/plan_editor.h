// The fusions' passes over a plan.
#pragma once

#include "epiphyte/kit/graph/editor.hpp"
#include "plugins/cpu/exec/plan_def.h"

namespace epiphyte::cpu {

using PlanEditor = ir::Editor;

// Attributes for fused nodes.
inline AttributeValue IntAttribute(std::string name, int64_t value) {
  return AttributeValue::Int(std::move(name), value);
}
inline AttributeValue IntsAttribute(std::string name, std::vector<int64_t> values) {
  return AttributeValue::Ints(std::move(name), std::move(values));
}
inline AttributeValue FloatAttribute(std::string name, float value) {
  return AttributeValue::Float(std::move(name), value);
}
inline AttributeValue FloatsAttribute(std::string name, std::vector<float> values) {
  return AttributeValue::Floats(std::move(name), std::move(values));
}
inline AttributeValue StringAttribute(std::string name, std::string value) {
  return AttributeValue::String(std::move(name), std::move(value));
}

}  // namespace epiphyte::cpu
