// ElementwiseProgram: a tree of element-wise operators as a list of instructions. A provider runs it block by block, so
// that intermediate results stay in registers or the cache. FuseElementwise (elementwise.hpp) makes programs.
//
//   const ElementwiseProgram program = ReadElementwiseProgram(node);
//   for (const ElementwiseProgram::Instruction& instruction : program.instructions) …
//
// Attributes of a node store it. "code" has three integers for each instruction: operation, operand a, operand b.
// "parameters" has two floats for each instruction. An operand is one of:
// - 2i: input i,
// - 2i+1: the result of an earlier instruction i,
// - -1: parameter 0, which one operand of a binary operation may be. Operand b of other operations is -1.
//
// The last instruction computes the output. Contexts contain the operations' numbers, so new ones go to the end of the
// enum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::fuse {

enum class ElementwiseOp : int32_t {
  // Operations on a and b.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,  // NaN if either operand is NaN; the same for kMin
  kMin,
  // Operations on a.
  kRelu,
  kSigmoid,
  kTanh,
  kNeg,
  kAbs,
  kSqrt,
  kExp,
  kLog,
  kErf,
  kReciprocal,
  kSoftplus,
  kHardSwish,
  kGelu,
  kGeluTanh,
  kSquare,
  kCube,
  kSwish,
  // Operations on a and the parameters.
  kLeakyRelu,    // slope p0 for a below 0
  kElu,          // p0 (exp(a) - 1) for a below 0
  kHardSigmoid,  // p0 a + p1, clamped to [0, 1]
  kClip,         // a clamped to [p0, p1]
  kCount,
};
inline constexpr bool IsBinary(ElementwiseOp op) { return op <= ElementwiseOp::kMin; }

// The enumerator's name for attributes and messages: "Relu", "GeluTanh", ….
std::string_view NameOf(ElementwiseOp op);
std::optional<ElementwiseOp> ElementwiseOpOf(std::string_view name);

inline constexpr size_t kMostElementwiseInputs = 32;
inline constexpr size_t kMostElementwiseInstructions = 1024;

struct ElementwiseProgram {
  struct Instruction {
    ElementwiseOp op;
    int32_t a = -1;
    int32_t b = -1;
    float p0 = 0;
    float p1 = 0;
  };
  std::vector<Instruction> instructions;
};

// Reads the program of a node and checks that each operand exists. Throws Error(EP_STATUS_INVALID_GRAPH).
ElementwiseProgram ReadElementwiseProgram(const ir::Node& node);
// Adds the program to a node's attributes.
void WriteElementwiseProgram(const ElementwiseProgram& program, ir::Node& node);

}  // namespace epiphyte::kit::fuse
