// Joins trees of element-wise operators into one node each, an Elementwise of the kit's domain (operators.hpp).
//
//   fuse::FuseElementwise(editor);                    // s = Mul(a, b), y = Relu(s)  →  y = Elementwise<…>(a, b)
//   fuse::FuseElementwise(editor, {.takes = [](fuse::ElementwiseOp op) { return op != fuse::ElementwiseOp::kErf; }});
//
// Runs last: the other recognisers look for operators that this one takes away.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// A node as an instruction whose operands are still values.
struct ElementwiseStep {
  ElementwiseOp op;
  std::vector<int32_t> operands;
  float p0 = 0;
  float p1 = 0;
};
// The instruction that a node is. Nullopt for other operators, other types than floats, and numbers that aren't
// constant where an instruction needs them.
std::optional<ElementwiseStep> ElementwiseStepOf(const ir::Editor& editor, int32_t node);

struct ElementwiseOptions {
  std::function<bool(EpElementType type)> takes_type;  // empty: float alone
  std::function<bool(ElementwiseOp op)> takes;         // empty: every one
  // Whether a node that can't be joined with another becomes a program of one instruction all the same. Empty: never.
  std::function<bool(const ir::Editor& editor, int32_t node)> alone;
  // Of a program; at most the kit's own limits.
  size_t most_inputs = kMostElementwiseInputs;
  size_t most_instructions = kMostElementwiseInstructions;
};

void FuseElementwise(ir::Editor& editor, const ElementwiseOptions& options = {});

}  // namespace epiphyte::kit::fuse
