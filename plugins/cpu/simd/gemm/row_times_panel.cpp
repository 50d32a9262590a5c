#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/gemm/row_times_panel.cpp"
#include "plugins/cpu/simd/gemm/row_times_panel.h"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/small_floats-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));
// A panel is read as several streams in turn, some rows of each. The CPU prefetches in all of them, and the end of a
// page in one doesn't stop the others. In each stream the rows of its next turn are prefetched as well.
constexpr int kStreams = 4;
constexpr int64_t kRun = 4;
// Number of sums that registers hold beside weights. Each step on a sum waits for the one before.
constexpr int kMostSums = HWY_CAP_GE512 || HWY_ARCH_ARM_A64 ? 16 : 8;

template <int kVectors, typename T>
HWY_INLINE void AddRows(const float* a, const T* rows, int64_t count, Vector* sums) {
  const Tag d;
  constexpr int64_t kAhead = kRun * kVectors * kLanes, kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < count; ++i, rows += kVectors * kLanes) {
    const Vector factor = hn::Set(d, a[i]);
    for (int v = 0; v < kVectors; ++v) {
      if (v * kLanes % kLine == 0) __builtin_prefetch(rows + kAhead + v * kLanes);
      sums[v] = hn::MulAdd(LoadFloats(d, rows + v * kLanes), factor, sums[v]);
    }
  }
}

// Multiplies columns [0, kVectors * kLanes) of a panel that is `width` wide.
template <int64_t kWidth, typename T>
HWY_INLINE void MultiplyPanel(const float* a, const T* panel, int64_t k, float* y) {
  const Tag d;
  constexpr int kVectors = static_cast<int>(kWidth) / kLanes;
  // As many streams as there is room for have separate sums.
  constexpr int kSums = std::clamp(kMostSums / kVectors, 1, kStreams);
  Vector sums[kSums][kVectors];
  for (int s = 0; s < kSums; ++s) {
    for (int v = 0; v < kVectors; ++v) sums[s][v] = hn::Zero(d);
  }
  const int64_t part = k / (kStreams * kRun) * kRun;
  for (int64_t i = 0; i < part; i += kRun) {
    for (int stream = 0; stream < kStreams; ++stream) {
      const int64_t row = stream * part + i;
      AddRows<kVectors>(a + row, panel + row * kWidth, kRun, sums[stream % kSums]);
    }
  }
  const int64_t rest = part * kStreams;
  AddRows<kVectors>(a + rest, panel + rest * kWidth, k - rest, sums[0]);
  for (int v = 0; v < kVectors; ++v) {
    for (int s = 1; s < kSums; ++s) sums[0][v] = hn::Add(sums[0][v], sums[s][v]);
    hn::StoreU(sums[0][v], d, y + v * kLanes);
  }
}

template <typename T>
HWY_INLINE void MultiplyPanelOf(const float* a, const T* panel, int64_t width, int64_t k, float* y) {
  switch (width) {
    case 64: return MultiplyPanel<64>(a, panel, k, y);
    case 48: return MultiplyPanel<48>(a, panel, k, y);
    case 32: return MultiplyPanel<32>(a, panel, k, y);
    default: return MultiplyPanel<16>(a, panel, k, y);
  }
}
void TimesFloats(const float* a, const float* panel, int64_t width, int64_t k, float* y) {
  MultiplyPanelOf(a, panel, width, k, y);
}
void TimesFloat16s(const float* a, const kit::Float16* panel, int64_t width, int64_t k, float* y) {
  MultiplyPanelOf(a, panel, width, k, y);
}
void TimesBFloat16s(const float* a, const kit::BFloat16* panel, int64_t width, int64_t k, float* y) {
  MultiplyPanelOf(a, panel, width, k, y);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(TimesFloats);
EPIPHYTE_EXPORT(TimesFloat16s);
EPIPHYTE_EXPORT(TimesBFloat16s);
void RowTimesPanel(const float* a, const float* panel, int64_t width, int64_t k, float* y) {
  EPIPHYTE_DISPATCH(TimesFloats)(a, panel, width, k, y);
}
void RowTimesPanel(const float* a, const kit::Float16* panel, int64_t width, int64_t k, float* y) {
  EPIPHYTE_DISPATCH(TimesFloat16s)(a, panel, width, k, y);
}
void RowTimesPanel(const float* a, const kit::BFloat16* panel, int64_t width, int64_t k, float* y) {
  EPIPHYTE_DISPATCH(TimesBFloat16s)(a, panel, width, k, y);
}

}  // namespace epiphyte::cpu::simd
#endif
