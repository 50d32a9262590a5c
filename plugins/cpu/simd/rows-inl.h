// Rows of any length by vectors: what is left at the end is a vector of which some lanes count, so that each function
// is written, and compiled, for whole vectors only. Nothing beyond the row is read or written.
//
//     Map(d, x, y, n, [d](auto v) { return Exp(d, v); });                      // y[i] = exp(x[i]); y may be x
//     Map(d, a, b, y, n, [](auto p, auto q) { return hn::Add(p, q); });        // y[i] = a[i] + b[i]; y may be a or b
#if defined(EPIPHYTE_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_ROWS_INL_H
#undef EPIPHYTE_SIMD_ROWS_INL_H
#else
#define EPIPHYTE_SIMD_ROWS_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first n elements from p, 0 < n <= lanes; the other lanes are zero.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadPart(D d, const T* p, size_t n) {
#if HWY_MEM_OPS_MIGHT_FAULT && !HWY_CAP_GE256
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  std::memcpy(lanes, p, n * sizeof(T));
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#endif
}

// The first n lanes to p, 0 < n <= lanes.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void StorePart(D d, hn::Vec<D> v, T* p, size_t n) {
#if HWY_CAP_GE512 || !HWY_MEM_OPS_MIGHT_FAULT
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::memcpy(p, lanes, n * sizeof(T));
#endif
}

template <class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* x, T* y, int64_t n, const F& f) {
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  StorePart(d, f(LoadPart(d, x + i, rest)), y + i, rest);
}

template <class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* a, const T* b, T* y, int64_t n, const F& f) {
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  StorePart(d, f(LoadPart(d, a + i, rest), LoadPart(d, b + i, rest)), y + i, rest);
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
