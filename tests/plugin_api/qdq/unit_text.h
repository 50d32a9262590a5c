// QDQ units as text, for tests that compare them:
//
//   Conv(x0, x1, _) | Relu [128, 255] -> r0
//   Conv(x0, x2, _) -> r1, shares x0
//
// The brackets after the operator have what each input is dequantized to, or `_` if it isn't. After the arrow is what
// each output is quantized to. Between the two is a Relu or Clip with the range of quantized numbers that it leaves.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "epiphyte/kit/qdq/units.hpp"

namespace epiphyte::test {

inline std::string ResultName(const kit::ir::Editor& editor, int32_t node) {
  return node < 0 ? "_" : editor.info(editor.node(node).outputs[0]).name;
}

inline std::string UnitText(const kit::ir::Editor& editor, const kit::qdq::Unit& unit) {
  const auto names = [&](const std::vector<int32_t>& nodes) {
    std::string text;
    for (const int32_t node : nodes) text += (text.empty() ? "" : ", ") + ResultName(editor, node);
    return text;
  };
  std::string text = editor.node(unit.target).op_type + "(" + names(unit.dequantize) + ")";
  if (unit.clamp >= 0) {
    text += " | " + editor.node(unit.clamp).op_type + " [" + std::to_string(unit.range.low) + ", " +
            std::to_string(unit.range.high) + "]";
    if (!unit.bounds.empty()) text += " of " + names(unit.bounds);
  }
  text += " -> " + names(unit.quantize);
  if (!unit.shared.empty()) text += ", shares " + names(unit.shared);
  return text;
}

// Returns a line for each unit of several nodes.
inline std::string UnitsText(const kit::ir::Editor& editor, const kit::qdq::Units& found) {
  std::string text;
  for (const kit::qdq::Unit& unit : found.units) {
    if (unit.IsQdq()) text += (text.empty() ? "" : "\n") + UnitText(editor, unit);
  }
  return text;
}

// Checks invariants that hold for every graph. Each node is in exactly one unit, and units are in the order of the
// graph. A unit reads only its own values or those of an earlier unit. Exactly the nodes without a QDQ unit have a
// reason, of one line.
inline void ExpectWhole(const kit::ir::Editor& editor, const kit::qdq::Units& found) {
  std::vector<int> times(static_cast<size_t>(editor.node_count()), 0);
  for (size_t u = 0; u < found.units.size(); ++u) {
    const kit::qdq::Unit& unit = found.units[u];
    if (u > 0) {
      EXPECT_LT(found.units[u - 1].target, unit.target);
    }
    EXPECT_TRUE(std::is_sorted(unit.nodes.begin(), unit.nodes.end()));
    for (const int32_t node : unit.nodes) {
      ++times[static_cast<size_t>(node)];
      EXPECT_EQ(found.unit_of_node[static_cast<size_t>(node)], static_cast<int32_t>(u));
    }
    for (const int32_t node : unit.shared)
      EXPECT_LT(found.unit_of_node[static_cast<size_t>(node)], static_cast<int32_t>(u));
    if (!unit.IsQdq()) {
      EXPECT_EQ(unit.nodes, std::vector<int32_t>{unit.target});
    }
  }
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    const std::string& reason = found.reasons[static_cast<size_t>(n)];
    EXPECT_EQ(times[static_cast<size_t>(n)], 1) << kit::qdq::NodeText(editor.graph(), editor.node(n));
    const auto unit = static_cast<size_t>(found.unit_of_node[static_cast<size_t>(n)]);
    EXPECT_EQ(reason.empty(), found.units[unit].IsQdq()) << kit::qdq::NodeText(editor.graph(), editor.node(n));
    EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
  }
}

// Returns the units of a graph as text. If there are none, returns why the node that makes `value` is in none.
inline std::string UnitsOf(const std::string& text, const std::string& value, const kit::qdq::Options& options = {}) {
  kit::ir::Graph graph = kit::ir::FromText(text);
  const kit::ir::Editor editor(graph);
  const kit::qdq::Units found = kit::qdq::FindUnits(editor, options);
  ExpectWhole(editor, found);
  std::string units = UnitsText(editor, found);
  if (!units.empty()) return units;
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (ResultName(editor, n) == value) return "none: " + found.reasons[static_cast<size_t>(n)];
  }
  return "nothing makes " + value;
}

// Scales and zero points with which graphs of tests begin.
inline constexpr const char* kParameters = R"(
const s: float[] = [0.5]
const z: uint8[] = [128]
const zero: uint8[] = [0]
const si: float[] = [0.25]
const s3: float[3] = [0.5, 1, 2]
)";

// Returns the common parameters followed by `statements`.
inline std::string Text(const std::string& statements) { return kParameters + statements; }

inline std::string Units(const std::string& statements, const std::string& value,
                         const kit::qdq::Options& options = {}) {
  return UnitsOf(Text(statements), value, options);
}

// Returns the reason why the node that makes `value` is in no QDQ unit.
inline std::string ReasonOf(const std::string& statements, const std::string& value,
                            const kit::qdq::Options& options = {}) {
  kit::ir::Graph graph = kit::ir::FromText(Text(statements));
  const kit::ir::Editor editor(graph);
  const kit::qdq::Units found = kit::qdq::FindUnits(editor, options);
  ExpectWhole(editor, found);
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (ResultName(editor, n) == value) return found.reasons[static_cast<size_t>(n)];
  }
  return "nothing makes " + value;
}

}  // namespace epiphyte::test
