// Shared by all shaders: the parameters, the linear index, and elements of each type.
//
// A shader's first lines name its variants, which the build compiles:
//     //! variant NAME.f32 T_F32
//     //! variant NAME.f16 T_F16
// Each word after the name becomes a macro, WORD or WORD=VALUE. One of the T_… words below chooses the element type. It
// defines T, the type of elements in buffers, and C, the type of arithmetic; C(x[i]) and T(value) convert between them.
// T_B1 to T_B16 are for elements of 1 to 16 bytes that are only moved. They define M instead of C: the type of an
// element outside of buffers, where not every device has types of 8 and 16 bits.
#extension GL_GOOGLE_include_directive : enable

#if defined(T_F16) || defined(U_F16)
#extension GL_EXT_shader_16bit_storage : require
#endif
#if defined(T_U8) || defined(T_I8) || defined(T_BOOL) || defined(T_B1) || defined(USES_8)
#extension GL_EXT_shader_8bit_storage : require
#endif
#if defined(T_B2) || defined(USES_16)
#extension GL_EXT_shader_16bit_storage : require
#endif
#if defined(T_I64) || defined(USES_I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

#if defined(T_F32)
#define T float
#define C float
#elif defined(T_F16)
#define T float16_t
#define C float
#elif defined(T_I32)
#define T int
#define C int
#elif defined(T_U32)
#define T uint
#define C uint
#elif defined(T_I64)
#define T int64_t
#define C int64_t
#elif defined(T_U8) || defined(T_BOOL)
#define T uint8_t
#define C uint
#elif defined(T_I8)
#define T int8_t
#define C int
#elif defined(T_B1)
#define T uint8_t
#define M uint
#elif defined(T_B2)
#define T uint16_t
#define M uint
#elif defined(T_B4)
#define T uint
#define M uint
#elif defined(T_B8)
#define T uvec2
#define M uvec2
#elif defined(T_B16)
#define T uvec4
#define M uvec4
#endif

#include "numbers.glsl"

// The words that the operator gives as Dispatch::parameters.
layout(std430, set = 0, binding = 0) readonly buffer Parameters { uint p[]; };

// Linear index of an invocation in a dispatch; local_size_x must be kLinearGroup. Recording::GroupsFor arranges
// workgroups in rows if one dimension can't hold them. An invocation with an index beyond the count must return.
// (gl_WorkGroupSize can't replace kLinearGroup here: it is 1 before the line that declares it.)
uint Index() { return gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * (gl_NumWorkGroups.x * kLinearGroup); }
