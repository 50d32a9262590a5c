// MapOp: the operations of shaders/elementwise.comp by number. Those of the kit's element-wise programs come first,
// with the kit's numbers, and may be steps of a program; the others stand alone.
#pragma once

#include <cstdint>

#include "epiphyte/kit/fuse/elementwise_program.hpp"

namespace epiphyte::vulkan {

// Shaders have these numbers as literals: they don't change.
enum class MapOp : uint32_t {
  kAdd = 0,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
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
  kLeakyRelu,
  kElu,
  kHardSigmoid,
  kClip,
  // Functions of a and the parameters.
  kFloor = 32,
  kCeil,
  kRound,
  kSign,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kSelu,  // p1 (a, or p0 (exp(a) - 1) where a is not positive)
  kCelu,  // p0 (exp(a / p0) - 1) below 0
  kSoftsign,
  kMish,
  kSwishBy,          // a sigmoid(p0 a)
  kThresholdedRelu,  // a above p0
  kShrink,           // by p0 outside of -p1 and p1
  kBitwiseNot,
  kNot,
  // Functions of a and b.
  kPow = 64,
  kMod,   // the sign of b
  kFmod,  // the sign of a
  kPRelu,
  kShiftLeft,
  kShiftRight,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  // Results are bool: shaders "compare1" and "compare2".
  kEqual = 96,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIsNaN,
  kIsInf,  // p0: positive ones count, p1: negative ones
  kXor,
  kAnd,
  kOr,
};
static_assert(static_cast<uint32_t>(MapOp::kClip) + 1 == static_cast<uint32_t>(kit::fuse::ElementwiseOp::kCount),
              "the kit has an operation that shaders/activation.glsl and shaders/elementwise.comp lack");
inline constexpr bool MakesBool(MapOp op) { return op >= MapOp::kEqual; }

}  // namespace epiphyte::vulkan
