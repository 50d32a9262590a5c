#include "plugins/cpu/kernel/elementwise_run.h"

#include "epiphyte/kit/abi/error.hpp"
#include "plugins/cpu/kernel/format.h"

namespace epiphyte::cpu {
namespace {

using simd::Binary;
using simd::BinaryLoop;
using simd::Unary;
using simd::UnaryLoop;

UnaryLoop UnaryOf(ElementwiseOp op, float p0, float p1) {
  switch (op) {
    case ElementwiseOp::kRelu: return UnaryLoop(Unary::kRelu);
    case ElementwiseOp::kSigmoid: return UnaryLoop(Unary::kSigmoid);
    case ElementwiseOp::kTanh: return UnaryLoop(Unary::kTanh);
    case ElementwiseOp::kNeg: return UnaryLoop(Unary::kNeg);
    case ElementwiseOp::kAbs: return UnaryLoop(Unary::kAbs);
    case ElementwiseOp::kSqrt: return UnaryLoop(Unary::kSqrt);
    case ElementwiseOp::kExp: return UnaryLoop(Unary::kExp);
    case ElementwiseOp::kLog: return UnaryLoop(Unary::kLog);
    case ElementwiseOp::kErf: return UnaryLoop(Unary::kErf);
    case ElementwiseOp::kReciprocal: return UnaryLoop(Unary::kReciprocal);
    case ElementwiseOp::kSoftplus: return UnaryLoop(Unary::kSoftplus);
    case ElementwiseOp::kHardSwish: return UnaryLoop(Unary::kHardSwish);
    case ElementwiseOp::kGelu: return UnaryLoop(Unary::kGelu);
    case ElementwiseOp::kGeluTanh: return UnaryLoop(Unary::kGeluTanh);
    case ElementwiseOp::kSquare: return UnaryLoop(Unary::kSquare);
    case ElementwiseOp::kCube: return UnaryLoop(Unary::kCube);
    case ElementwiseOp::kSwish: return UnaryLoop(Unary::kSwish, 1.0f);
    case ElementwiseOp::kLeakyRelu: return UnaryLoop(Unary::kLeakyRelu, p0);
    case ElementwiseOp::kElu: return UnaryLoop(Unary::kElu, p0);
    case ElementwiseOp::kHardSigmoid: return UnaryLoop(Unary::kHardSigmoid, p0, p1);
    case ElementwiseOp::kClip: return UnaryLoop(Unary::kClip, p0, p1);
    default: break;
  }
  throw kit::Error(EP_STATUS_INVALID_GRAPH, FormatText("element-wise operation {} is unknown", static_cast<int>(op)));
}

simd::BinaryRows<float>::Row RowOf(const BinaryLoop& loop, ElementwiseOperands operands) {
  switch (operands) {
    case ElementwiseOperands::kFirst: return loop.first;
    case ElementwiseOperands::kSecond: return loop.second;
    case ElementwiseOperands::kBoth: break;
  }
  return loop.both;
}

}  // namespace

std::optional<Binary> BinaryOf(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::kAdd: return Binary::kAdd;
    case ElementwiseOp::kSub: return Binary::kSub;
    case ElementwiseOp::kMul: return Binary::kMul;
    case ElementwiseOp::kDiv: return Binary::kDiv;
    case ElementwiseOp::kMax: return Binary::kMax;
    case ElementwiseOp::kMin: return Binary::kMin;
    default: return std::nullopt;
  }
}

ElementwiseLoop::ElementwiseLoop(ElementwiseOp op, float p0, float p1, ElementwiseOperands operands)
    : loop_(simd::BinaryRows<float>::Row()), operands_(operands), number_(p0) {
  if (const std::optional<Binary> binary = BinaryOf(op)) {
    loop_ = RowOf(BinaryLoop(*binary), operands);
  } else {
    loop_ = UnaryOf(op, p0, p1);
  }
}

}  // namespace epiphyte::cpu
