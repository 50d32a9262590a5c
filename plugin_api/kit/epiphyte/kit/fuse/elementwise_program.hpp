// ElementwiseProgram: a tree of element-wise operators as a list of instructions, to be run block by block, so that
// results in between stay in registers or the cache. FuseElementwise (elementwise.hpp) writes it; a provider runs it.
//
//   const ElementwiseProgram program = ReadElementwiseProgram(node);
//   for (const ElementwiseProgram::Instruction& instruction : program.instructions) …
//
// As attributes of a node: "code" holds three integers an instruction (operation, operand a, operand b), "parameters"
// two floats an instruction. An operand is 2i for input i, 2i+1 for the result of an earlier instruction i, -1 for
// parameter 0, which one operand of a binary operation may be; operand b of the others is -1. The last instruction
// makes the output. The operations' numbers are part of contexts: new ones come at the end of the enum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::fuse {

enum class ElementwiseOp : int32_t {
  // Of a and b.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,  // a NaN on either side is the result, as for kMin
  kMin,
  // Of a.
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
  // Of a and the parameters.
  kLeakyRelu,    // slope p0 below 0
  kElu,          // p0 (exp(a) - 1) below 0
  kHardSigmoid,  // p0 a + p1 within 0 and 1
  kClip,         // within p0 and p1
  kCount,
};
inline constexpr bool IsBinary(ElementwiseOp op) { return op <= ElementwiseOp::kMin; }

// "Relu", "GeluTanh", …: the enumerator's name, for attributes and messages.
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

// The program of a node, checked: each operand is there. Throws Error(EP_STATUS_INVALID_GRAPH).
ElementwiseProgram ReadElementwiseProgram(const ir::Node& node);
// Adds it to a node's attributes.
void WriteElementwiseProgram(const ElementwiseProgram& program, ir::Node& node);

}  // namespace epiphyte::kit::fuse
