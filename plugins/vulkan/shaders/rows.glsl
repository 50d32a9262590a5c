// Rows: how the invocations of a dispatch divide the work on many rows, and how the invocations that share a row
// combine their results. A shader is compiled for each way:
//
//                 an invocation computes a row
//     SHARED      a workgroup computes a row, and its invocations exchange results through workgroup memory
//     SUBGROUP    a subgroup computes a row. With kRowOfGroup a workgroup does; its subgroups exchange results through
//                 workgroup memory
//
//     #define ROW_CONSTANTS 1        // the number of the shader's own specialization constants
//     #include "rows.glsl"
//     void Compute(uint row) {
//       float sum = 0.0;
//       for (uint i = row_first; i < n; i += row_step) sum += …;   // neighbours read neighbouring elements
//       sum = RowSum(sum);                                         // the same for each of the row's invocations
//     }
//     void main() {
//       const uint rows = …;
//       FOR_ROWS(row, rows) Compute(row);
//     }
//
// RowWork in ops/row_work.h chooses the way, and writes the constants and workgroups. If invocations share rows,
// FOR_ROWS loops until all rows are done, so any number of workgroups is right. Any size of subgroups is right, too,
// even if some are not full or differ in size: the place of an invocation in its subgroup is counted, and never derived
// from its place in the workgroup.
#ifndef ROWS_GLSL
#define ROWS_GLSL

#include "math.glsl"

#if defined(SHARED) || defined(SUBGROUP)
layout(local_size_x_id = ROW_CONSTANTS) in;
#define ROW_OF_SEVERAL
uint row_group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;
uint row_groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
#else
layout(local_size_x = kLinearGroup) in;
#endif

#if defined(SUBGROUP)
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(constant_id = ROW_CONSTANTS + 1) const bool kRowOfGroup = false;
// The place of the invocation among the active ones of its subgroup, and their number.
uint row_lane = subgroupExclusiveAdd(1u);
uint row_lanes = subgroupAdd(1u);
uint row_first = kRowOfGroup ? gl_LocalInvocationID.x : row_lane;
uint row_step = kRowOfGroup ? gl_WorkGroupSize.x : row_lanes;
uint row_begin = kRowOfGroup ? row_group : row_group * gl_NumSubgroups + gl_SubgroupID;
uint row_stride = kRowOfGroup ? row_groups : row_groups * gl_NumSubgroups;
#define FOR_ROWS(row, count) for (uint row = row_begin; row < (count); row += row_stride)
#elif defined(SHARED)
uint row_first = gl_LocalInvocationID.x;
uint row_step = gl_WorkGroupSize.x;
#define FOR_ROWS(row, count) for (uint row = row_group; row < (count); row += row_groups)
#else
const uint row_first = 0u;
const uint row_step = 1u;
#define FOR_ROWS(row, count) \
  const uint row = Index();  \
  if (row < (count))
#endif

// ROW_FUNCTION(RowSum, float, row_floats, subgroupAdd, Plus) defines RowSum, which combines the values of all
// invocations that share the row, and returns the result to each. `Join` combines two values, `OfSubgroup` those of a
// subgroup. `Memory` is a ROW_MEMORY, which has an element for each invocation of a workgroup.
#if defined(SUBGROUP)
#define ROW_FUNCTION(Name, Type, Memory, OfSubgroup, Join)                                   \
  Type Name(Type mine) {                                                                     \
    Type all = OfSubgroup(mine);                                                             \
    if (!kRowOfGroup) return all;                                                            \
    if (subgroupElect()) Memory[gl_SubgroupID] = all;                                        \
    barrier();                                                                               \
    const uint subgroups = gl_NumSubgroups;                                                  \
    all = Memory[0];                                                                         \
    for (uint i = 1u; i < subgroups; ++i) all = Join(all, Memory[i]);                        \
    barrier(); /* before the memory is used again */                                         \
    return all;                                                                              \
  }
#elif defined(SHARED)
#define ROW_FUNCTION(Name, Type, Memory, OfSubgroup, Join)                                   \
  Type Name(Type mine) {                                                                     \
    Memory[row_first] = mine;                                                                \
    barrier();                                                                               \
    for (uint count = row_step; count > 1u;) {                                               \
      const uint reach = (count + 1u) / 2u;                                                  \
      if (row_first + reach < count)                                                         \
        Memory[row_first] = Join(Memory[row_first], Memory[row_first + reach]);              \
      barrier();                                                                             \
      count = reach;                                                                         \
    }                                                                                        \
    const Type all = Memory[0];                                                              \
    barrier(); /* before the memory is used again */                                         \
    return all;                                                                              \
  }
#else
#define ROW_FUNCTION(Name, Type, Memory, OfSubgroup, Join) \
  Type Name(Type mine) { return mine; }
#endif

#if defined(ROW_OF_SEVERAL)
#define ROW_MEMORY(Memory, Type) shared Type Memory[gl_WorkGroupSize.x];
#else
#define ROW_MEMORY(Memory, Type)
#endif

#if defined(SUBGROUP)
// The largest and the smallest value of a subgroup, or NaN if there is one, as with Larger and Smaller. The result of
// subgroupMax for NaN is the driver's choice, so it gets words that are in the order of the numbers, with NaN above
// all.
float LargestOfSubgroup(float x) {
  const uint bits = floatBitsToUint(x);
  const uint ordered = IsNan(x) ? 0xFFFFFFFFu : ((bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u);
  const uint largest = subgroupMax(ordered);
  if (largest == 0xFFFFFFFFu) return Nan();
  return uintBitsToFloat((largest & 0x80000000u) != 0u ? largest & 0x7FFFFFFFu : ~largest);
}
float SmallestOfSubgroup(float x) { return -LargestOfSubgroup(-x); }
#endif

float Plus(float a, float b) { return a + b; }
ROW_MEMORY(row_floats, float)
ROW_FUNCTION(RowSum, float, row_floats, subgroupAdd, Plus)
ROW_FUNCTION(RowLargest, float, row_floats, LargestOfSubgroup, Larger)

#endif  // ROWS_GLSL
