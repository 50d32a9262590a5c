// Deep comparison of graphs: names, types, data, attributes, order.
#pragma once

#include <cstring>
#include <string>

#include "core/graph/graph.h"

namespace epiphyte::test {

// Returns "" when the graphs are equal, else the first difference.
inline std::string Difference(const core::Graph& a, const core::Graph& b);

inline std::string Difference(const core::Constant& a, const core::Constant& b) {
  if (a.type() != b.type()) return "element types differ";
  if (a.dims() != b.dims()) return "dims differ";
  if (a.type() == core::DataType::kString) return a.strings() == b.strings() ? "" : "strings differ";
  if (a.byte_size() != b.byte_size()) return "sizes differ";
  return a.byte_size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0 ? "" : "bytes differ";
}

inline std::string Difference(const core::TypePtr& a, const core::TypePtr& b) {
  const std::string first = a ? a->ToString() : "unknown";
  const std::string second = b ? b->ToString() : "unknown";
  return first == second ? "" : first + " != " + second;
}

inline std::string Difference(const core::Attribute& a, const core::Attribute& b) {
  if (a.name() != b.name() || a.type() != b.type()) return "attribute " + a.name() + " != " + b.name();
  // Floats are compared as bytes, so that a NaN equals itself.
  const bool floats =
      a.floats().size() == b.floats().size() &&
      (a.floats().empty() || std::memcmp(a.floats().data(), b.floats().data(), a.floats().size() * sizeof(float)) == 0);
  if (!floats || a.ints() != b.ints() || a.strings() != b.strings()) return "attribute " + a.name() + " differs";
  if (a.tensors().size() != b.tensors().size() || a.graphs().size() != b.graphs().size() ||
      a.types().size() != b.types().size()) {
    return "attribute " + a.name() + " has other counts";
  }
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    const std::string difference = Difference(*a.tensors()[i], *b.tensors()[i]);
    if (!difference.empty()) return "attribute " + a.name() + ": " + difference;
  }
  for (size_t i = 0; i < a.graphs().size(); ++i) {
    const std::string difference = Difference(*a.graphs()[i], *b.graphs()[i]);
    if (!difference.empty()) return "attribute " + a.name() + ": " + difference;
  }
  for (size_t i = 0; i < a.types().size(); ++i) {
    const std::string difference = Difference(a.types()[i], b.types()[i]);
    if (!difference.empty()) return "attribute " + a.name() + ": " + difference;
  }
  return "";
}

inline std::string Difference(const core::Node& a, const core::Node& b) {
  const auto names = [](const std::vector<core::ValueDef*>& values) {
    std::string text;
    for (const core::ValueDef* value : values) text += (value ? value->name() : "") + ",";
    return text;
  };
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || a.name() != b.name())
    return a.op_type() + " != " + b.op_type();
  if (a.since_version() != b.since_version()) return "version of " + a.op_type();
  if (names(a.inputs()) != names(b.inputs()))
    return "inputs of " + a.name() + ": " + names(a.inputs()) + " != " + names(b.inputs());
  if (names(a.outputs()) != names(b.outputs())) return "outputs of " + a.name();
  if (a.attributes().size() != b.attributes().size()) return "number of attributes of " + a.name();
  for (size_t i = 0; i < a.attributes().size(); ++i) {
    const std::string difference = Difference(*a.attributes()[i], *b.attributes()[i]);
    if (!difference.empty()) return a.op_type() + " node " + a.name() + ": " + difference;
  }
  return "";
}

inline std::string Difference(const core::Graph& a, const core::Graph& b) {
  if (a.name() != b.name()) return "graph " + a.name() + " != " + b.name();
  if (a.opsets() != b.opsets()) return "opsets";
  if (a.node_count() != b.node_count()) return "number of nodes";
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const std::string difference = Difference(*a.nodes()[i], *b.nodes()[i]);
    if (!difference.empty()) return difference;
  }
  if (a.value_count() != b.value_count()) return "number of values";
  for (const auto& value : a.values()) {
    const core::ValueDef* other = b.FindValue(value->name());
    if (other == nullptr) return "value " + value->name() + " is missing";
    const std::string types = Difference(value->type(), other->type());
    if (!types.empty()) return "type of " + value->name() + ": " + types;
    if (value->IsConstant() != other->IsConstant() || value->IsInput() != other->IsInput() ||
        value->IsOutput() != other->IsOutput() || value->IsOuterScope() != other->IsOuterScope()) {
      return "role of " + value->name();
    }
    if (!value->IsConstant()) continue;
    const std::string difference = Difference(*value->constant(), *other->constant());
    if (!difference.empty()) return "constant " + value->name() + ": " + difference;
  }
  const auto same_names = [](const std::vector<core::ValueDef*>& x, const std::vector<core::ValueDef*>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i]->name() != y[i]->name()) return false;
    }
    return true;
  };
  if (!same_names(a.inputs(), b.inputs())) return "graph inputs";
  return same_names(a.outputs(), b.outputs()) ? "" : "graph outputs";
}

}  // namespace epiphyte::test
