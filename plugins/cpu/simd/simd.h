// Loops for the CPU at hand.
//
// A function marked EPIPHYTE_MULTIVERSION is compiled several times, for AVX-512, AVX2 and the baseline, and the
// dynamic linker picks one. Put it on the function that holds the loop, and EPIPHYTE_INLINE on what the loop calls: a
// function that isn't inlined there is compiled for the baseline only, and the loop doesn't vectorise.
//
//     EPIPHYTE_MULTIVERSION void Scale(float* x, float by, int64_t n) {
//       for (int64_t i = 0; i < n; ++i) x[i] *= by;
//     }
//
// Sanitizers can't instrument the resolvers, which run before their runtime; there the baseline is all there is.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__GNUC__)
#define EPIPHYTE_INLINE inline __attribute__((always_inline))
#else
#define EPIPHYTE_INLINE inline
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EPIPHYTE_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EPIPHYTE_MULTIVERSION
#endif

// Before a loop whose output may be one of its inputs, element by element. The compiler would check at run time that
// they don't overlap, and in place they do.
#if defined(__clang__)
#define EPIPHYTE_IN_PLACE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EPIPHYTE_IN_PLACE_LOOP _Pragma("GCC ivdep")
#else
#define EPIPHYTE_IN_PLACE_LOOP
#endif

namespace epiphyte::cpu {

// A reduction over floats. The compiler may not reorder float additions by itself, so partial results are spelled out:
// lanes side by side, and runs of kReductionRun, which keep rounding errors of long sums small. Combine is a function
// object on two floats; `initial` changes nothing when combined.
inline constexpr int kLanes = 32;
inline constexpr int64_t kReductionRun = 4096;
inline constexpr int64_t kShortRun = 8;  // setting the lanes up would take longer

template <typename Load, typename Combine>
EPIPHYTE_INLINE float ReduceLanes(int64_t n, float initial, const Load& load, const Combine& combine) {
  float total = initial;
  if (n <= kShortRun) {
    for (int64_t i = 0; i < n; ++i) total = combine(total, load(i));
    return total;
  }
  for (int64_t i = 0; i < n;) {
    const int64_t end = n - i < kReductionRun ? n : i + kReductionRun;
    float lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = initial;
    for (; i + kLanes <= end; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = combine(lanes[lane], load(i + lane));
    }
    for (int lane = 0; i < end; ++i, ++lane) lanes[lane] = combine(lanes[lane], load(i));
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) lanes[lane] = combine(lanes[lane], lanes[lane + width]);
    }
    total = combine(total, lanes[0]);
  }
  return total;
}

}  // namespace epiphyte::cpu
