// Rows of any length by vectors: what is left at the end is a vector of which some lanes count, so that each function
// is written, and compiled, for whole vectors only. Nothing beyond the row is read or written.
//
//     Map(d, x, y, n, [d](auto v) { return Exp(d, v); });                      // y[i] = exp(x[i]); y may be x
//     Map(d, a, b, y, n, [](auto p, auto q) { return hn::Add(p, q); });        // y[i] = a[i] + b[i]; y may be a or b
//
// Loops over other types than the result's are made of Make, LoadPart and StorePart.
#if defined(EPIPHYTE_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_ROWS_INL_H
#undef EPIPHYTE_SIMD_ROWS_INL_H
#else
#define EPIPHYTE_SIMD_ROWS_INL_H
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// By masks where the target has them for this size of lane, otherwise halves, quarters … of vectors. Stores are never
// masked: a load of what lies beside the masked lanes, which is the next row, waits until the store has left for the
// cache, and some CPUs take dozens of cycles for AVX2's.
template <typename T>
inline constexpr bool kLoadsByMask = HWY_CAP_GE512 || (HWY_CAP_GE256 && sizeof(T) >= 4);

// The first n elements from p, 0 < n < lanes; the other lanes are zero.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadPart(D d, const T* p, size_t n) {
  if constexpr (kLoadsByMask<T> && hn::MaxLanes(D()) * sizeof(T) >= 16) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, p);
  } else if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::Zero(d);
  } else {
    const hn::Half<D> half;
    constexpr size_t kHalf = hn::MaxLanes(hn::Half<D>());
    if ((n & kHalf) == 0) return hn::ZeroExtendVector(d, LoadPart(half, p, n));
    return hn::Combine(d, LoadPart(half, p + kHalf, n - kHalf), hn::LoadU(half, p));
  }
}

// The first n lanes to p, 0 < n < lanes.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void StorePart([[maybe_unused]] D d, [[maybe_unused]] hn::Vec<D> v, T* p, size_t n) {
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    constexpr size_t kHalf = hn::MaxLanes(hn::Half<D>());
    if ((n & kHalf) == 0) return StorePart(half, hn::LowerHalf(half, v), p, n);
    hn::StoreU(hn::LowerHalf(half, v), half, p);
    StorePart(half, hn::UpperHalf(half, v), p + kHalf, n - kHalf);
  }
}

// The same vector, which is in a register from here on: where it is used more than once, GCC would rather read it from
// memory each time, and reads that cross cache lines are what short functions wait for.
template <class V>
HWY_INLINE V InRegister(V v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// Bytes that are 1 where the mask is true, otherwise 0.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> OnesOf(D, hn::Mask<D> mask) {
  static_assert(sizeof(hn::TFromD<D>) == 4);
  const hn::Rebind<uint8_t, D> bytes;
#if HWY_CAP_GE512
  return hn::IfThenElseZero(hn::Mask<decltype(bytes)>{mask.raw}, hn::Set(bytes, 1));  // a mask is a bit for each lane
#else
  const hn::RebindToSigned<D> di;
  return hn::DemoteTo(bytes, hn::IfThenElseZero(hn::RebindMask(di, mask), hn::Set(di, 1)));
#endif
}

// A row made of vectors: values(i) gives that of the elements from i on, last(i, count) the final one if only `count`
// of its lanes are part of the row.
template <class D, typename T = hn::TFromD<D>, class Values, class Last>
HWY_INLINE void Make(D d, T* y, int64_t n, const Values& values, const Last& last) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t whole = n & -kStep;
  for (int64_t i = 0; i < whole; i += kStep) hn::StoreU(values(i), d, y + i);
  const auto count = static_cast<size_t>(n & (kStep - 1));
  if (count != 0) StorePart(d, last(whole, count), y + whole, count);
}

template <class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* x, T* y, int64_t n, const F& f) {
  Make(
      d, y, n, [=](int64_t i) { return f(hn::LoadU(d, x + i)); },
      [=](int64_t i, size_t count) { return f(LoadPart(d, x + i, count)); });
}

template <class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* a, const T* b, T* y, int64_t n, const F& f) {
  Make(
      d, y, n, [=](int64_t i) { return f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)); },
      [=](int64_t i, size_t count) { return f(LoadPart(d, a + i, count), LoadPart(d, b + i, count)); });
}

template <class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* a, const T* b, const T* c, T* y, int64_t n, const F& f) {
  Make(
      d, y, n, [=](int64_t i) { return f(hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i)); },
      [=](int64_t i, size_t count) {
        return f(LoadPart(d, a + i, count), LoadPart(d, b + i, count), LoadPart(d, c + i, count));
      });
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
