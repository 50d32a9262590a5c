// Instruction sets that the loops of this folder are compiled for. Include this file before anything of Highway.
//
// A file of loops is compiled once for each target. A call through EPIPHYTE_DISPATCH (dispatch.h) picks the best target
// that the CPU has:
//
//     #undef HWY_TARGET_INCLUDE
//     #define HWY_TARGET_INCLUDE "plugins/cpu/simd/scale.cpp"   // this file
//     #include "plugins/cpu/simd/target/per_target.h"
//     #include <hwy/foreach_target.h>
//     #include <hwy/highway.h>
//
//     HWY_BEFORE_NAMESPACE();
//     namespace epiphyte::cpu::simd::HWY_NAMESPACE {
//     namespace hn = hwy::HWY_NAMESPACE;
//     void Scale(float* x, float by, int64_t n) { … }
//     }  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
//     HWY_AFTER_NAMESPACE();
//
//     #if HWY_ONCE
//     namespace epiphyte::cpu::simd {
//     EPIPHYTE_EXPORT(Scale);
//     void Scale(float* x, float by, int64_t n) { EPIPHYTE_DISPATCH(Scale)(x, by, n); }   // dispatch.h
//     }  // namespace epiphyte::cpu::simd
//     #endif
//
// x86 has three targets. SSSE3 is what every x86-64-v2 CPU has; Highway's SSE4 asks for AES too, which the first of
// these lack. AVX2 comes with FMA, F16C and BMI. AVX3 is Highway's name for AVX-512 F, BW, DQ and VL. Other
// architectures use the target that the compiler is set to, NEON on aarch64. More targets would cost build time and
// size, and none of the loops gains by them.
#pragma once

#if defined(HIGHWAY_HWY_DETECT_TARGETS_H_) || defined(HWY_HIGHWAY_INCLUDED)
#error "per_target.h must come before Highway's headers, which read what it defines"
#endif

#if defined(__x86_64__)
// The lowest target is also compiled for CPUs that support nothing better. Without this setting Highway 1.0 would add a
// variant without vectors for them.
#define HWY_BASELINE_TARGETS HWY_SSSE3
// Bits 0 to 14 are x86's, whether this version of Highway has a name for them or not.
#define HWY_DISABLED_TARGETS (0x7FFF & ~(HWY_SSSE3 | HWY_AVX2 | HWY_AVX3))
#else
#define HWY_COMPILE_ONLY_STATIC
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
