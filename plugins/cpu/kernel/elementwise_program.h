// ElementwiseProgram: a tree of element-wise operators on floats as a list of instructions, which runs block by block
// so that intermediate results stay in the cache. The fusion pass writes it, ops/fused_elementwise.cpp runs it.
//
// As attributes of a node: "code" holds three integers an instruction (operation, operand a, operand b), "parameters"
// two floats an instruction. An operand is 2i for input i, 2i+1 for the result of an earlier instruction i, -1 for
// parameter 0, which one operand of a binary operation may be; operand b of the others is -1. The last instruction
// makes the output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::cpu {

enum class ElementwiseOp : int32_t {
  // Of a and b.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
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
  kLeakyRelu,
  kElu,
  kHardSigmoid,
  kClip,
  kCount,
};
inline constexpr bool IsBinary(ElementwiseOp op) { return op <= ElementwiseOp::kMin; }

inline constexpr size_t kMostElementwiseInputs = 32;
inline constexpr size_t kMostElementwiseInstructions = 1024;

struct ElementwiseProgram {
  struct Instruction {
    ElementwiseOp op;
    int32_t a = 0;
    int32_t b = 0;
    float p0 = 0;
    float p1 = 0;
  };
  std::vector<Instruction> instructions;
};

// The program of a node, checked: each operand is there. Throws OpError(EP_STATUS_INVALID_GRAPH).
ElementwiseProgram ReadElementwiseProgram(const kit::ir::Node& node);

// One instruction over n elements; y may be an operand. `b` is null where it is parameter 0, and so is `a`.
void RunBinary(ElementwiseOp op, const float* a, const float* b, float number, float* y, int64_t n);
void RunUnary(ElementwiseOp op, const float* a, float p0, float p1, float* y, int64_t n);

}  // namespace epiphyte::cpu
