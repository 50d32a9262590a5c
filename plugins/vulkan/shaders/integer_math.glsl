// Operations of integers of type T, computed in C, by the numbers of ops/math/map_op.h. They are defined for every
// value: results wrap when they are stored, dividing by zero gives zero.
const C kBits = C(
#if defined(T_U8) || defined(T_I8) || defined(T_BOOL)
    8
#elif defined(T_I64)
    64
#else
    32
#endif
);

// Towards zero.
C Divide(C a, C b) {
  if (b == C(0)) return C(0);
#if defined(T_I32) || defined(T_I64) || defined(T_I8)
  if (b == C(-1)) return C(0) - a;
#endif
  return a / b;
}
// With the sign of the dividend.
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
    case 0u: return a + b;
    case 1u: return a - b;
    case 2u: return a * b;
    case 3u: return Divide(a, b);
    case 4u: return a >= b ? a : b;
    case 5u: return a <= b ? a : b;
    case 6u: return a < C(0) ? C(0) : a;
    case 9u: return C(0) - a;
    case 10u: return a < C(0) ? C(0) - a : a;
    case 20u: return a * a;
    case 21u: return a * a * a;
    case 26u: {
      const C above = a < p0 ? p0 : a;
      return above > p1 ? p1 : above;
    }
    case 35u: return a > C(0) ? C(1) : (a < C(0) ? C(-1) : C(0));
    case 54u: return ~a;
    case 55u: return a == C(0) ? C(1) : C(0);
    case 64u: return Power(a, b);
    case 65u: return FlooredRemainder(a, b);
    case 66u: return Remainder(a, b);
    case 67u: return a < C(0) ? a * b : a;
    case 68u: return ShiftLeft(a, b);
    case 69u: return ShiftRight(a, b);
    case 70u: return a & b;
    case 71u: return a | b;
    case 72u: return a ^ b;
  }
  return a;
}
