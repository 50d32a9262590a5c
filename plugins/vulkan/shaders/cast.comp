// Cast. A cast between integers keeps the low bits. integer_of_float.glsl has casts from float to integer.
//! variant cast.f32.f16 T_F32 Y_F16 USES_16
//! variant cast.f32.i32 T_F32 Y_I32
//! variant cast.f32.u32 T_F32 Y_U32
//! variant cast.f32.i64 T_F32 Y_I64 USES_I64
//! variant cast.f32.u8 T_F32 Y_U8 USES_8
//! variant cast.f32.i8 T_F32 Y_I8 USES_8
//! variant cast.f32.bool T_F32 Y_BOOL USES_8
//! variant cast.f16.f32 T_F16 Y_F32
//! variant cast.f16.i32 T_F16 Y_I32
//! variant cast.f16.u32 T_F16 Y_U32
//! variant cast.f16.i64 T_F16 Y_I64 USES_I64
//! variant cast.f16.u8 T_F16 Y_U8 USES_8
//! variant cast.f16.i8 T_F16 Y_I8 USES_8
//! variant cast.f16.bool T_F16 Y_BOOL USES_8
//! variant cast.i32.f32 T_I32 Y_F32
//! variant cast.i32.f16 T_I32 Y_F16 USES_16
//! variant cast.i32.u32 T_I32 Y_U32
//! variant cast.i32.i64 T_I32 Y_I64 USES_I64
//! variant cast.i32.u8 T_I32 Y_U8 USES_8
//! variant cast.i32.i8 T_I32 Y_I8 USES_8
//! variant cast.i32.bool T_I32 Y_BOOL USES_8
//! variant cast.u32.f32 T_U32 Y_F32
//! variant cast.u32.f16 T_U32 Y_F16 USES_16
//! variant cast.u32.i32 T_U32 Y_I32
//! variant cast.u32.i64 T_U32 Y_I64 USES_I64
//! variant cast.u32.u8 T_U32 Y_U8 USES_8
//! variant cast.u32.i8 T_U32 Y_I8 USES_8
//! variant cast.u32.bool T_U32 Y_BOOL USES_8
//! variant cast.i64.f32 T_I64 Y_F32
//! variant cast.i64.f16 T_I64 Y_F16 USES_16
//! variant cast.i64.i32 T_I64 Y_I32
//! variant cast.i64.u32 T_I64 Y_U32
//! variant cast.i64.u8 T_I64 Y_U8 USES_8
//! variant cast.i64.i8 T_I64 Y_I8 USES_8
//! variant cast.i64.bool T_I64 Y_BOOL USES_8
//! variant cast.u8.f32 T_U8 Y_F32
//! variant cast.u8.f16 T_U8 Y_F16 USES_16
//! variant cast.u8.i32 T_U8 Y_I32
//! variant cast.u8.u32 T_U8 Y_U32
//! variant cast.u8.i64 T_U8 Y_I64 USES_I64
//! variant cast.u8.i8 T_U8 Y_I8 USES_8
//! variant cast.u8.bool T_U8 Y_BOOL USES_8
//! variant cast.i8.f32 T_I8 Y_F32
//! variant cast.i8.f16 T_I8 Y_F16 USES_16
//! variant cast.i8.i32 T_I8 Y_I32
//! variant cast.i8.u32 T_I8 Y_U32
//! variant cast.i8.i64 T_I8 Y_I64 USES_I64
//! variant cast.i8.u8 T_I8 Y_U8 USES_8
//! variant cast.i8.bool T_I8 Y_BOOL USES_8
//! variant cast.bool.f32 T_BOOL Y_F32
//! variant cast.bool.f16 T_BOOL Y_F16 USES_16
//! variant cast.bool.i32 T_BOOL Y_I32
//! variant cast.bool.u32 T_BOOL Y_U32
//! variant cast.bool.i64 T_BOOL Y_I64 USES_I64
//! variant cast.bool.u8 T_BOOL Y_U8 USES_8
//! variant cast.bool.i8 T_BOOL Y_I8 USES_8
#version 450
#include "common.glsl"
#include "integer_of_float.glsl"

#if defined(Y_F32)
#define Y float
#elif defined(Y_F16)
#define Y float16_t
#elif defined(Y_I32)
#define Y int
#elif defined(Y_U32)
#define Y uint
#elif defined(Y_I64)
#define Y int64_t
#elif defined(Y_U8) || defined(Y_BOOL)
#define Y uint8_t
#elif defined(Y_I8)
#define Y int8_t
#endif

layout(local_size_x = kLinearGroup) in;
layout(std430, set = 0, binding = 1) readonly buffer From { T x[]; };
layout(std430, set = 0, binding = 2) writeonly buffer To { Y y[]; };

Y Convert(C value) {
#if defined(T_BOOL)
  value = min(value, 1u);
#endif
#if defined(Y_BOOL)
  return Y(value != C(0) ? 1u : 0u);
#elif defined(Y_F32)
  return float(value);
#elif defined(Y_F16)
  return Y(float(value));
#elif defined(T_F32) || defined(T_F16)
#if defined(Y_I64)
  return LongOfFloat(value);
#elif defined(Y_U32)
  return UintOfFloat(value);
#else
  return Y(IntOfFloat(value));
#endif
#elif defined(T_I64) && (defined(Y_U8) || defined(Y_I8))
  return Y(int(value));  // the low bits, in two steps that every driver knows
#else
  return Y(value);
#endif
}

void main() {
  const uint i = Index();
  if (i < p[0]) y[i] = Convert(C(x[i]));
}
