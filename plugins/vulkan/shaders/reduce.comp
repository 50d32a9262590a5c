//! variant reduce.f32 T_F32
//! variant reduce.f16 T_F16
//! variant reduce_to_float.f16 T_F16 TO_FLOAT
//! variant reduce_from_float.f16 T_F16 FROM_FLOAT
//! variant reduce.i32 T_I32
//! variant reduce.u32 T_U32
//! variant reduce.i64 T_I64
//! variant reduce.i8 T_I8
//! variant reduce.u8 T_U8
//! variant reduce.bool T_BOOL
//! variant reduce_subgroup.f32 T_F32 SUBGROUP
//! variant reduce_subgroup.f16 T_F16 SUBGROUP
//! variant reduce_to_float_subgroup.f16 T_F16 TO_FLOAT SUBGROUP
//! variant reduce_subgroup.i32 T_I32 SUBGROUP
//! variant reduce_subgroup.u32 T_U32 SUBGROUP
//! variant reduce_subgroup.i8 T_I8 SUBGROUP
//! variant reduce_subgroup.u8 T_U8 SUBGROUP
//! variant reduce_subgroup.bool T_BOOL SUBGROUP
// Reductions. An invocation reduces the elements s, s + PARTS, … of those that make one output. With several parts, a
// second dispatch reduces the parts. SUBGROUP: the invocations that share a row (rows.glsl) are the parts of one
// output. The words behind p[5] are (size, stride) of the groups of dimensions that stay, then of those that are
// reduced, each outermost first. AddReduction in ops/reduce/reduction.cpp writes them.
#version 450
#include "common.glsl"
#if defined(T_F32) || defined(T_F16)
#define FLOATS
#endif
#define ROW_CONSTANTS 3
#include "rows.glsl"

#if defined(FROM_FLOAT)
layout(std430, set = 0, binding = 1) readonly buffer X { float x[]; };
#else
layout(std430, set = 0, binding = 1) readonly buffer X { T x[]; };
#endif
layout(std430, set = 0, binding = 2) readonly buffer Shift { float shift[]; };  // shift of each output
#if defined(TO_FLOAT)
layout(std430, set = 0, binding = 3) writeonly buffer Y { float y[]; };
#define STORED(value) (value)
#else
layout(std430, set = 0, binding = 3) writeonly buffer Y { T y[]; };
#define STORED(value) T(value)
#endif

#define OUTPUTS p[0]
#define PARTS p[1]
#define REDUCED p[2]
#define KEPT_GROUPS p[3]
#define REDUCED_GROUPS p[4]
#define DIVISOR uintBitsToFloat(p[5])
#define GROUP_SIZE(i) p[6 + 2 * (i)]
#define GROUP_STRIDE(i) p[7 + 2 * (i)]

const uint kSum = kCombineSum, kProduct = kCombineProduct, kMaximum = kCombineMaximum, kMinimum = kCombineMinimum;
const uint kPlain = kLoadPlain, kMagnitude = kLoadMagnitude, kSquare = kLoadSquare, kExpShifted = kLoadExpShifted,
           kSquareShifted = kLoadSquareShifted;
const uint kNothing = kFinishNothing, kMean = kFinishMean, kRoot = kFinishRoot, kLog = kFinishLog,
           kLogShifted = kFinishLogShifted, kRootMean = kFinishRootMean, kFinite = kFinishFinite;
layout(constant_id = 0) const uint kCombine = kSum;
layout(constant_id = 1) const uint kLoad = kPlain;
layout(constant_id = 2) const uint kFinish = kNothing;

C Initial() {
  if (kCombine == kSum) return C(0);
  if (kCombine == kProduct) return C(1);
  const bool largest = kCombine == kMaximum;
#if defined(FLOATS)
  return largest ? -Infinity() : Infinity();
#elif defined(T_I32)
  return largest ? int(0x80000000u) : 0x7FFFFFFF;
#elif defined(T_I64)
  return largest ? int64_t(1) << 63 : ~(int64_t(1) << 63);
#elif defined(T_I8)
  return largest ? -128 : 127;
#elif defined(T_U8)
  return largest ? 0u : 255u;
#elif defined(T_BOOL)
  return largest ? 0u : 1u;
#else
  return largest ? 0u : 0xFFFFFFFFu;
#endif
}

C Combine(C a, C b) {
  if (kCombine == kSum) return a + b;
  if (kCombine == kProduct) return a * b;
#if defined(FLOATS)
  if (kCombine == kMaximum) return Larger(a, b);
  return Smaller(a, b);
#else
  if (kCombine == kMaximum) return b > a ? b : a;
  return b < a ? b : a;
#endif
}

C Load(uint at, uint group) {
  const C value = C(x[at]);
  if (kLoad == kMagnitude) return value < C(0) ? C(0) - value : value;
  if (kLoad == kSquare) return value * value;
#if defined(FLOATS)
  if (kLoad == kExpShifted) return Exp(value - shift[group]);
  if (kLoad == kSquareShifted) return (value - shift[group]) * (value - shift[group]);
#endif
  return value;
}

C Finish(C value, uint group) {
#if defined(FLOATS)
  if (kFinish == kMean) return value / DIVISOR;
  if (kFinish == kRoot) return sqrt(value);
  if (kFinish == kRootMean) return sqrt(value / DIVISOR);
  if (kFinish == kLog) return Log(value);
  if (kFinish == kLogShifted) return Log(value) + shift[group];
  if (kFinish == kFinite) return IsInf(value) || IsNan(value) ? 0.0 : value;
#endif
  return value;
}

uint Offset(uint index, uint first, uint groups) {
  uint offset = 0;
  for (uint i = groups; i > 0; --i) {
    const uint size = max(GROUP_SIZE(first + i - 1), 1);
    offset += index % size * GROUP_STRIDE(first + i - 1);
    index /= size;
  }
  return offset;
}

#if defined(SUBGROUP)
C OfSubgroup(C mine) {
  if (kCombine == kSum) return subgroupAdd(mine);
  if (kCombine == kProduct) return subgroupMul(mine);
#if defined(FLOATS)
  if (kCombine == kMaximum) return LargestOfSubgroup(mine);
  return SmallestOfSubgroup(mine);
#else
  if (kCombine == kMaximum) return subgroupMax(mine);
  return subgroupMin(mine);
#endif
}
#endif
ROW_MEMORY(row_values, C)
ROW_FUNCTION(RowCombined, C, row_values, OfSubgroup, Combine)

// Combines the elements first, first + step, … of an output.
C Reduced(uint group, uint first, uint step) {
  const uint base = Offset(group, 0, KEPT_GROUPS);
  const uint last = KEPT_GROUPS + REDUCED_GROUPS - 1;
  const uint size = max(GROUP_SIZE(last), 1);
  const uint stride = GROUP_STRIDE(last);
  const uint reduced = REDUCED;
  C value = Initial();
  uint part = first;
  uint row = part / size;
  uint column = part % size;
  uint at = base + Offset(row, KEPT_GROUPS, REDUCED_GROUPS - 1);
  while (part < reduced) {
    value = Combine(value, Load(at + column * stride, group));
    part += step;
    column += step;
    if (column >= size) {
      row += column / size;
      column %= size;
      at = base + Offset(row, KEPT_GROUPS, REDUCED_GROUPS - 1);
    }
  }
  return value;
}

#if defined(SUBGROUP)
void main() {
  const uint outputs = OUTPUTS;
  FOR_ROWS(group, outputs) {
    const C value = RowCombined(Reduced(group, row_first, row_step));
    if (row_first == 0u) y[group] = STORED(Finish(value, group));
  }
}
#else
void main() {
  const uint index = Index();
  const uint parts = PARTS;
  const uint group = index / parts;
  if (group >= OUTPUTS) return;
  y[index] = STORED(Finish(Reduced(group, index % parts, parts), group));
}
#endif
