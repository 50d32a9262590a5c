// Elementwise operations: a program of one step or several on one or several operands, all of one type. The code of a
// step is the operation (ops/math/map_op.h) in 8 bits, the register of operand a in 8 bits and that of operand b in 16
// bits. Registers are the operands, the results of steps, and last the step's first parameter. The last step computes
// the result.
//! variant elementwise1.f32 T_F32 INPUTS=1 STEPS=1
//! variant elementwise2.f32 T_F32 INPUTS=2 STEPS=1
//! variant elementwise1.f16 T_F16 INPUTS=1 STEPS=1
//! variant elementwise2.f16 T_F16 INPUTS=2 STEPS=1
//! variant elementwise1.i32 T_I32 INPUTS=1 STEPS=1
//! variant elementwise2.i32 T_I32 INPUTS=2 STEPS=1
//! variant elementwise1.u32 T_U32 INPUTS=1 STEPS=1
//! variant elementwise2.u32 T_U32 INPUTS=2 STEPS=1
//! variant elementwise1.i64 T_I64 INPUTS=1 STEPS=1
//! variant elementwise2.i64 T_I64 INPUTS=2 STEPS=1
//! variant elementwise1.u8 T_U8 INPUTS=1 STEPS=1
//! variant elementwise2.u8 T_U8 INPUTS=2 STEPS=1
//! variant elementwise1.i8 T_I8 INPUTS=1 STEPS=1
//! variant elementwise2.i8 T_I8 INPUTS=2 STEPS=1
//! variant elementwise1.bool T_BOOL INPUTS=1 STEPS=1
//! variant elementwise2.bool T_BOOL INPUTS=2 STEPS=1
//! variant elementwise_chain.f32 T_F32 INPUTS=8 STEPS=16
//! variant elementwise_chain.f16 T_F16 INPUTS=8 STEPS=16
//! variant elementwise_quantized1.u8 T_U8 INPUTS=1 STEPS=1 QUANTIZED
//! variant elementwise_quantized2.u8 T_U8 INPUTS=2 STEPS=1 QUANTIZED
//! variant elementwise_quantized1.i8 T_I8 INPUTS=1 STEPS=1 QUANTIZED
//! variant elementwise_quantized2.i8 T_I8 INPUTS=2 STEPS=1 QUANTIZED
//! variant compare1.f32 T_F32 INPUTS=1 STEPS=1 COMPARES USES_8
//! variant compare1.f16 T_F16 INPUTS=1 STEPS=1 COMPARES USES_8
//! variant compare2.f32 T_F32 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.f16 T_F16 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.i32 T_I32 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.u32 T_U32 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.i64 T_I64 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.u8 T_U8 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.i8 T_I8 INPUTS=2 STEPS=1 COMPARES USES_8
//! variant compare2.bool T_BOOL INPUTS=2 STEPS=1 COMPARES USES_8
#version 450
#include "common.glsl"

// The shader's words of p[]: two parameters of each step, of two words each. QUANTIZED: then scale and zero point of
// each operand and of the result, and the least and the greatest value of the result, all as floats.
#ifdef QUANTIZED
#define PARAMETERS (4u * STEPS + 2u * INPUTS + 4u)
#define OPERAND_SCALE(k) uintBitsToFloat(p[2u + 4u * STEPS + 2u * (k)])
#define OPERAND_ZERO(k) uintBitsToFloat(p[3u + 4u * STEPS + 2u * (k)])
#define LOWEST uintBitsToFloat(p[4u + 4u * STEPS + 2u * INPUTS])
#define HIGHEST uintBitsToFloat(p[5u + 4u * STEPS + 2u * INPUTS])
#else
#define PARAMETERS (4u * STEPS)
#endif
#include "map.glsl"

layout(constant_id = 3) const uint kSteps = 1u;
layout(constant_id = 4) const uint kOperands = INPUTS;
layout(constant_id = 5) const uint kCode0 = 0u;

#ifdef T4
#define OPERAND(k)                                                                 \
  layout(std430, set = 0, binding = k + 1) readonly buffer Ones##k { T x##k[]; };  \
  layout(std430, set = 0, binding = k + 1) readonly buffer Fours##k { T4 q##k[]; };
#else
#define OPERAND(k) layout(std430, set = 0, binding = k + 1) readonly buffer Ones##k { T x##k[]; };
#endif
OPERAND(0)
#if INPUTS > 1
OPERAND(1)
#endif
#if INPUTS > 2
OPERAND(2)
OPERAND(3)
OPERAND(4)
OPERAND(5)
OPERAND(6)
OPERAND(7)
layout(constant_id = 6) const uint kCode1 = 0u;
layout(constant_id = 7) const uint kCode2 = 0u;
layout(constant_id = 8) const uint kCode3 = 0u;
layout(constant_id = 9) const uint kCode4 = 0u;
layout(constant_id = 10) const uint kCode5 = 0u;
layout(constant_id = 11) const uint kCode6 = 0u;
layout(constant_id = 12) const uint kCode7 = 0u;
layout(constant_id = 13) const uint kCode8 = 0u;
layout(constant_id = 14) const uint kCode9 = 0u;
layout(constant_id = 15) const uint kCode10 = 0u;
layout(constant_id = 16) const uint kCode11 = 0u;
layout(constant_id = 17) const uint kCode12 = 0u;
layout(constant_id = 18) const uint kCode13 = 0u;
layout(constant_id = 19) const uint kCode14 = 0u;
layout(constant_id = 20) const uint kCode15 = 0u;
#endif

#ifdef COMPARES
#define R uint
#define R4 uvec4
#define S uint8_t
#define S4 u8vec4
#else
#define R C
#define R4 C4
#define S T
#define S4 T4
#endif
// Arithmetic on quantised numbers is in floats.
#if defined(QUANTIZED)
#ifdef T_U8
#define HELD4 uvec4
#else
#define HELD4 ivec4
#endif
#undef C
#define C float
#define FLOATS
#elif defined(T_F32) || defined(T_F16)
#define FLOATS
#endif
layout(std430, set = 0, binding = INPUTS + 1) writeonly buffer Result { S y[]; };
#ifdef T4
layout(std430, set = 0, binding = INPUTS + 1) writeonly buffer ResultFours { S4 yq[]; };
#endif

#ifdef FLOATS
#define LONG_ACTIVATIONS
#include "activation.glsl"
#include "quotient.glsl"
#if STEPS == 1
#include "more_math.glsl"
#endif
#else
#include "integer_math.glsl"
#endif

C Parameter(uint i) {
#ifdef FLOATS
  return uintBitsToFloat(p[2u + 2u * i]);
#elif defined(T_I64)
  return C(p[2u + 2u * i]) | C(p[3u + 2u * i]) << 32;
#else
  return C(p[2u + 2u * i]);
#endif
}

#if defined(COMPARES)
R Compute(uint op, C a, C b, C p0, C p1) {
  switch (op) {
    case kMapEqual: return uint(a == b);
    case kMapLess: return uint(a < b);
    case kMapLessOrEqual: return uint(a <= b);
    case kMapGreater: return uint(a > b);
    case kMapGreaterOrEqual: return uint(a >= b);
#ifdef FLOATS
    case kMapIsNaN: return uint(IsNan(a));
    case kMapIsInf: return uint(IsInf(a) && (a > 0.0 ? p0 : p1) != 0.0);
#endif
    case kMapXor: return uint(a != b);
    case kMapAnd: return uint(a != C(0) && b != C(0));
    case kMapOr: return uint(a != C(0) || b != C(0));
  }
  return 0u;
}
#elif defined(FLOATS)
R Compute(uint op, C a, C b, C p0, C p1) {
  // Exact, because a driver may simplify (a + b) - a to b, which must be NaN if a is infinite.
  precise C exact = C(0);
  switch (op) {
    case kMapAdd: exact = a + b; return exact;
    case kMapSub: exact = a - b; return exact;
    case kMapMul: exact = a * b; return exact;
    case kMapDiv: return Quotient(a, b);
    case kMapMax: return Larger(a, b);
    case kMapMin: return Smaller(a, b);
#if STEPS == 1
    case kMapFloor: return floor(a);
    case kMapCeil: return ceil(a);
    case kMapRound: return roundEven(a);
    case kMapSign: return Sign(a);
    case kMapSin: return Sin(a);
    case kMapCos: return Cos(a);
    case kMapTan: return Tan(a);
    case kMapAsin: return Asin(a);
    case kMapAcos: return Acos(a);
    case kMapAtan: return Atan(a);
    case kMapSinh: return Sinh(a);
    case kMapCosh: return Cosh(a);
    case kMapAsinh: return Asinh(a);
    case kMapAcosh: return Acosh(a);
    case kMapAtanh: return Atanh(a);
    case kMapSelu: return p1 * (a <= 0.0 ? p0 * Expm1(a) : a);
    case kMapCelu: return a < 0.0 ? p0 * Expm1(a / p0) : a;
    case kMapSoftsign: return a / (1.0 + Magnitude(a));
    case kMapMish: return a * Tanh(Softplus(a));
    case kMapSwishBy: return a * Sigmoid(p0 * a);
    case kMapThresholdedRelu: return a > p0 ? a : 0.0;
    case kMapShrink: return a < -p1 ? a + p0 : (a > p1 ? a - p0 : 0.0);
    case kMapPow: return Pow(a, b);
    case kMapMod: return FlooredRemainder(a, b);
    case kMapFmod: return TruncatedRemainder(a, b);
    case kMapPRelu: return a < 0.0 ? a * b : a;
#endif
  }
  return Activate(op, a, p0, p1);
}
#else
R Compute(uint op, C a, C b, C p0, C p1) { return Apply(op, a, b, p0, p1); }
#endif

#ifdef QUANTIZED
#include "quantization.glsl"
// The dequantised number. It is rounded to float before anything is computed with it, as DequantizeLinear's result is.
C Real(uint k, float stored) {
  precise const float real = (stored - OPERAND_ZERO(k)) * OPERAND_SCALE(k);
  return real;
}
float Stored(float real) {
  return Quantised(Quotient(real, OPERAND_SCALE(INPUTS)), OPERAND_ZERO(INPUTS), LOWEST, HIGHEST);
}
#endif

#ifdef T_BOOL
#define HELD(value) min(value, 1u)  // a bool in a file may be neither 0 nor 1
#else
#define HELD(value) (value)
#endif

// Loads operand k into register k.
#if defined(QUANTIZED)
#define LOAD(k)                                                                          \
  if (kWidth == 4u && !IsSplat(k)) {                                                     \
    const vec4 four = vec4(HELD4(q##k[at[k]]));                                          \
    r[k] = C[4](Real(k, four.x), Real(k, four.y), Real(k, four.z), Real(k, four.w));     \
  } else {                                                                               \
    const C one = Real(k, vec4(HELD4(x##k[at[k]])).x);                                   \
    r[k] = C[4](one, one, one, one);                                                     \
  }
#elif defined(T4)
#define LOAD(k)                                                                            \
  if (k < kOperands) {                                                                     \
    if (kWidth == 4u && !IsSplat(k)) {                                                     \
      const C4 four = C4(q##k[at[k]]);                                                     \
      r[k] = C[4](HELD(four.x), HELD(four.y), HELD(four.z), HELD(four.w));                 \
    } else {                                                                               \
      const C one = HELD(C(x##k[at[k]]));                                                  \
      r[k] = C[4](one, one, one, one);                                                     \
    }                                                                                      \
  }
#else
#define LOAD(k)                                         \
  {                                                     \
    const C one = C(x##k[at[k]]);                       \
    r[k] = C[4](one, one, one, one);                    \
  }
#endif

void main() {
  const uint i = Index();
  if (i >= p[0]) return;
  uint at[INPUTS];
  Locate(i, at);
  C r[INPUTS + STEPS + 1][4];
  LOAD(0)
#if INPUTS > 1
  LOAD(1)
#endif
#if INPUTS > 2
  LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
#endif
#if STEPS == 1
  const C p0 = Parameter(0u), p1 = Parameter(1u);
  r[INPUTS + STEPS] = C[4](p0, p0, p0, p0);
  R result[4];
  [[unroll]] for (uint e = 0u; e < kWidth; ++e)
    result[e] = Compute(kCode0 & 255u, r[kCode0 >> 8 & 255u][e], r[kCode0 >> 16][e], p0, p1);
#else
  const uint codes[16] = uint[](kCode0, kCode1, kCode2, kCode3, kCode4, kCode5, kCode6, kCode7, kCode8, kCode9, kCode10,
                                kCode11, kCode12, kCode13, kCode14, kCode15);
  // Drivers unroll the loop, because its length is a specialization constant. Each register of the program then is a
  // register of the device, and each step has only the code of its operation.
  [[unroll]] for (uint s = 0u; s < kSteps; ++s) {
    const uint code = codes[s];
    const C p0 = Parameter(2u * s), p1 = Parameter(2u * s + 1u);
    r[INPUTS + STEPS] = C[4](p0, p0, p0, p0);
    [[unroll]] for (uint e = 0u; e < kWidth; ++e)
      r[INPUTS + s][e] = Compute(code & 255u, r[code >> 8 & 255u][e], r[code >> 16][e], p0, p1);
  }
  const R result[4] = r[INPUTS + kSteps - 1u];
#endif
#ifdef QUANTIZED
  HELD4 stored;
  [[unroll]] for (uint e = 0u; e < kWidth; ++e) stored[e] = HELD4(vec4(Stored(result[e])))[0];
  if (kWidth == 4u) {
    yq[i] = S4(stored);
  } else {
    y[i] = S(stored[0]);
  }
  return;
#elif defined(T4)
  if (kWidth == 4u) {
    yq[i] = S4(R4(result[0], result[1], result[2], result[3]));
    return;
  }
#endif
#ifndef QUANTIZED
  y[i] = S(result[0]);
#endif
}
