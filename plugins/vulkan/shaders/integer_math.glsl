// Operations on integers of type T, computed in C, by the numbers of MapOp. They are defined for every value: results
// wrap when they are stored, and a division by zero gives zero.
#include "map_op.glsl"

const C kBits = C(
#if defined(T_U8) || defined(T_I8) || defined(T_BOOL)
    8
#elif defined(T_I64)
    64
#else
    32
#endif
);

// The quotient, rounded towards zero.
C Divide(C a, C b) {
  if (b == C(0)) return C(0);
#if defined(T_I32) || defined(T_I64) || defined(T_I8)
  if (b == C(-1)) return C(0) - a;
#endif
  return a / b;
}
// The remainder with the sign of the dividend.
C Remainder(C a, C b) { return b == C(0) ? C(0) : a - Divide(a, b) * b; }
C FlooredRemainder(C a, C b) {
  const C rest = Remainder(a, b);
  return rest != C(0) && (rest < C(0)) != (b < C(0)) ? rest + b : rest;
}
// A negative power is the reciprocal, rounded towards zero.
C Power(C base, C exponent) {
  const bool odd = (exponent & C(1)) != C(0);
  if (exponent < C(0)) return base == C(1) ? C(1) : (base + C(1) == C(0) ? (odd ? base : C(1)) : C(0));
  C result = C(1);
  for (C rest = exponent; rest != C(0); rest >>= 1) {
    if ((rest & C(1)) != C(0)) result *= base;
    base *= base;
  }
  return result;
}
// Shifts are for unsigned elements only.
C ShiftLeft(C a, C by) { return by >= kBits ? C(0) : a << by; }
C ShiftRight(C a, C by) { return by >= kBits ? C(0) : a >> by; }

C Apply(uint op, C a, C b, C p0, C p1) {
  switch (op) {
    case kMapAdd: return a + b;
    case kMapSub: return a - b;
    case kMapMul: return a * b;
    case kMapDiv: return Divide(a, b);
    case kMapMax: return a >= b ? a : b;
    case kMapMin: return a <= b ? a : b;
    case kMapRelu: return a < C(0) ? C(0) : a;
    case kMapNeg: return C(0) - a;
    case kMapAbs: return a < C(0) ? C(0) - a : a;
    case kMapSquare: return a * a;
    case kMapCube: return a * a * a;
    case kMapClip: {
      const C above = a < p0 ? p0 : a;
      return above > p1 ? p1 : above;
    }
    case kMapSign: return a > C(0) ? C(1) : (a < C(0) ? C(-1) : C(0));
    case kMapBitwiseNot: return ~a;
    case kMapNot: return a == C(0) ? C(1) : C(0);
    case kMapPow: return Power(a, b);
    case kMapMod: return FlooredRemainder(a, b);
    case kMapFmod: return Remainder(a, b);
    case kMapPRelu: return a < C(0) ? a * b : a;
    case kMapShiftLeft: return ShiftLeft(a, b);
    case kMapShiftRight: return ShiftRight(a, b);
    case kMapBitwiseAnd: return a & b;
    case kMapBitwiseOr: return a | b;
    case kMapBitwiseXor: return a ^ b;
  }
  return a;
}
