// FuseElementwise: joins trees of element-wise operators into one node each, an Elementwise of the kit's domain
// (operators.hpp).
//
//   fuse::FuseElementwise(editor);                    // s = Mul(a, b), y = Relu(s)  →  y = Elementwise<…>(a, b)
//   fuse::FuseElementwise(editor, {.takes = [](fuse::ElementwiseOp op) { return op != fuse::ElementwiseOp::kErf; }});
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// An elementwise instruction that stands for one node. Its operands are values of the graph.
struct ElementwiseStep {
  ElementwiseOp op;
  std::vector<int32_t> operands;
  float p0 = 0;
  float p1 = 0;
};
// Converts a node to an instruction. Nothing for other operators, for types other than floats, and if the instruction
// needs a number that is not constant.
std::optional<ElementwiseStep> ElementwiseStepOf(const ir::Editor& editor, int32_t node);

struct ElementwiseOptions {
  std::function<bool(EpElementType type)> takes_type;  // empty: only float
  std::function<bool(ElementwiseOp op)> takes;         // empty: all operations
  // Returns whether a node that can't be joined becomes a program of one instruction. Empty: never.
  std::function<bool(const ir::Editor& editor, int32_t node)> alone;
  // Limits of a program; at most the kit's own limits.
  size_t most_inputs = kMostElementwiseInputs;
  size_t most_instructions = kMostElementwiseInstructions;
};

void FuseElementwise(ir::Editor& editor, const ElementwiseOptions& options = {});

}  // namespace epiphyte::kit::fuse
