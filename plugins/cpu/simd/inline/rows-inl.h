// Rows of any length by vectors. Nothing beyond the row is read or written.
//
//     Map(d, x, y, n, [d](auto v) EPIPHYTE_INLINE { return hn::Abs(v); });                // y[i] = |x[i]|; y may be x
//     Map(d, a, b, y, n, [](auto p, auto q) EPIPHYTE_INLINE { return hn::Add(p, q); });   // y may be a or b
//     Map<kLong>(d, x, y, n, [d](auto v) EPIPHYTE_INLINE { return Exp(d, v); });
//
// Functions are written and compiled for whole vectors. The rest at the end of a row is a vector that reaches back. A
// row shorter than a vector consists of two partial vectors, and the second one reaches back. So no length takes more
// than two such steps. Elements that are computed twice are read before any of them is written; so the result may
// replace an operand. Loops over types other than the result's use Make.
//
// Partial vectors use LoadPart and StorePart if an element must count once or is read again by the next call.
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

// Partial loads use masks where the target has them for this lane size, otherwise halves, quarters … of vectors. Stores
// are never masked. A load of the bytes beside the masked lanes, which are the next row, would wait until the store has
// left for the cache. Some CPUs also take dozens of cycles for AVX2's masked stores.
template <typename T>
inline constexpr bool kLoadsByMask = HWY_CAP_GE512 || (HWY_CAP_GE256 && sizeof(T) >= 4);

// Loads the first n elements from p, 0 < n < lanes; the other lanes are zero.
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

// Stores the first n lanes to p, 0 < n < lanes.
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

// Returns the same vector, forced into a register. GCC would otherwise read it from memory at each use, and reads that
// cross cache lines dominate the time of short functions.
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

#if HWY_ARCH_X86
// Bytes that are 1 where four masks are true, otherwise 0. Uses instructions that this version of Highway has no
// functions for.
template <class D>
HWY_INLINE hn::Vec<hn::Repartition<uint8_t, D>> OnesOf(D d, hn::Mask<D> a, hn::Mask<D> b, hn::Mask<D> c,
                                                       hn::Mask<D> last) {
  const hn::Repartition<uint8_t, D> bytes;
#if HWY_CAP_GE512
  (void)d;
  const __mmask64 all = _mm512_kunpackd(_mm512_kunpackw(last.raw, c.raw), _mm512_kunpackw(b.raw, a.raw));
  return hn::IfThenElseZero(hn::Mask<decltype(bytes)>{all}, hn::Set(bytes, 1));
#else
  const hn::RebindToSigned<D> di;
  const auto words = [=](hn::Mask<D> mask) HWY_ATTR { return hn::BitCast(di, hn::VecFromMask(d, mask)).raw; };
#if HWY_CAP_GE256
  const __m256i first = _mm256_packs_epi32(words(a), words(b)), second = _mm256_packs_epi32(words(c), words(last));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);  // packing is by halves
  const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, second), order);
#else
  const __m128i first = _mm_packs_epi32(words(a), words(b)), second = _mm_packs_epi32(words(c), words(last));
  const __m128i all = _mm_packs_epi16(first, second);
#endif
  return hn::And(hn::Vec<decltype(bytes)>{all}, hn::Set(bytes, 1));
#endif
}
#endif

// For lambdas that are called from several places; each call gets a copy.
#define EPIPHYTE_INLINE HWY_ATTR __attribute__((always_inline))

// Loader for Make's values: the vector from element `at` on.
struct FullVector {
  int64_t at;
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE hn::Vec<D> operator()(D d, const T* p) const {
    return hn::LoadU(d, p + at);
  }
};
// Loader for a row of at least kLanes / 2 but fewer than kLanes elements: its first kLanes / 2, then its last ones, and
// zeros.
template <size_t kLanes>
struct Ends {
  int64_t n;
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE hn::Vec<D> operator()(D d, const T* p) const {
    const hn::Half<D> half;
    if constexpr (hn::MaxLanes(D()) > kLanes) {
      return hn::ZeroExtendVector(d, (*this)(half, p));
    } else if constexpr (kLanes == 2) {
      return hn::ZeroExtendVector(d, hn::LoadU(half, p));
    } else {
      return hn::Combine(d, hn::LoadU(half, p + n - kLanes / 2), hn::LoadU(half, p));
    }
  }
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE void Store([[maybe_unused]] D d, hn::Vec<D> v, T* p) const {
    const hn::Half<D> half;
    if constexpr (hn::MaxLanes(D()) > kLanes) {
      Store(half, hn::LowerHalf(half, v), p);
    } else {
      hn::StoreU(hn::LowerHalf(half, v), half, p);
      if constexpr (kLanes > 2) hn::StoreU(hn::UpperHalf(half, v), half, p + n - kLanes / 2);
    }
  }
};
// Loader for a row of exactly kLanes elements, and zeros.
template <size_t kLanes>
struct Exactly {
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE hn::Vec<D> operator()(D d, const T* p) const {
    if constexpr (hn::MaxLanes(D()) > kLanes) {
      return hn::ZeroExtendVector(d, (*this)(hn::Half<D>(), p));
    } else {
      return hn::LoadU(d, p);
    }
  }
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE void Store(D d, hn::Vec<D> v, T* p) const {
    if constexpr (hn::MaxLanes(D()) > kLanes) {
      Store(hn::Half<D>(), hn::LowerHalf(hn::Half<D>(), v), p);
    } else {
      hn::StoreU(v, d, p);
    }
  }
};
// Loader for the rest that follows the whole vectors of a row.
template <size_t kLanes>
struct Remainder {
  int64_t n;
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE hn::Vec<D> operator()(D d, const T* p) const {
    if constexpr (kLanes == hn::MaxLanes(D())) {
      if (HWY_LIKELY(n >= static_cast<int64_t>(kLanes))) return hn::LoadU(d, p + n - kLanes);
    }
    if constexpr (kLanes > 2) {
      if (n < static_cast<int64_t>(kLanes / 2)) return Remainder<kLanes / 2>{n}(d, p);
    }
    return Ends<kLanes>{n}(d, p);
  }
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE void Store([[maybe_unused]] D d, hn::Vec<D> v, T* p) const {
    if constexpr (kLanes == hn::MaxLanes(D())) {
      if (HWY_LIKELY(n >= static_cast<int64_t>(kLanes))) return hn::StoreU(v, d, p + n - kLanes);
    }
    if constexpr (kLanes > 2) {
      if (n < static_cast<int64_t>(kLanes / 2)) return Remainder<kLanes / 2>{n}.Store(d, v, p);
    }
    Ends<kLanes>{n}.Store(d, v, p);
  }
};

// A row of at most kLanes elements in a vector of kLanes, even if D has more.
template <size_t kLanes>
struct Few {
  Remainder<kLanes> row;
  template <class D, typename T = hn::TFromD<D>>
  HWY_INLINE hn::Vec<hn::CappedTag<T, kLanes>> operator()(D, const T* p) const {
    return row(hn::CappedTag<T, kLanes>(), p);
  }
};

// A row shorter than kLanes.
template <size_t kLanes, class D, typename T = hn::TFromD<D>, class Values>
HWY_INLINE void MakeShort(D d, T* y, int64_t n, const Values& values) {
  if constexpr (kLanes > 16) {  // bytes: most of the halves are too long for the shortest rows
    if (n < 8) return MakeShort<8>(d, y, n, values);
  }
  if constexpr (kLanes > 2) {
    if (n < static_cast<int64_t>(kLanes / 2)) return MakeShort<kLanes / 2>(d, y, n, values);
    // Two parts that coincide would wait for each other from step to step of a chain.
    if (n == static_cast<int64_t>(kLanes / 2)) {
      const Exactly<kLanes / 2> whole;
      return whole.Store(d, values(whole), y);
    }
  }
  const Ends<kLanes> ends{n};
  ends.Store(d, values(ends), y);
}

// Cost of a vector function. kShort: a few instructions, so that copies and loops of several vectors pay off. kLong:
// many instructions.
enum Length { kShort, kLong };

// Rows of up to this length have their own copy of a long function. A loop first spreads its constants over registers
// and the stack, which takes as long as a vector. Vectors of sixteen floats may also take twice as long as vectors of
// eight.
inline constexpr size_t kFew = 8;

// Makes a row from vectors. `values` is called for each vector with the loader of its operands (see FullVector):
//
//     Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE { return f(load(d, a), load(d, b)); });
//
// A long function may be called with a vector of fewer lanes than D's.
template <Length kLength = kShort, class D, typename T = hn::TFromD<D>, class Values>
HWY_INLINE void Make(D d, T* y, int64_t n, const Values& values) {
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  int64_t i = 0;
  if constexpr (kLength == kLong) {
    constexpr size_t kLanes = HWY_MIN(kFew, hn::MaxLanes(D()));
    if (n <= static_cast<int64_t>(kLanes)) {
      if (n <= 0) return;
      const Remainder<kLanes> row{n};
      return row.Store(hn::CappedTag<T, kLanes>(), values(Few<kLanes>{row}), y);
    }
    const int64_t whole = n & -kStep;
    const Remainder<hn::MaxLanes(D())> rest{n};
    const auto last = whole != n ? values(rest) : hn::Zero(d);
    for (; i < whole; i += kStep) hn::StoreU(values(FullVector{i}), d, y + i);
    if (whole != n) rest.Store(d, last, y);
  } else {
    const auto store = [=](int64_t at) EPIPHYTE_INLINE { hn::StoreU(values(FullVector{at}), d, y + at); };
    if (n <= kStep) {
      if (n == kStep) return store(0);
      if (n > 0) MakeShort<hn::MaxLanes(D())>(d, y, n, values);
      return;
    }
    const auto last = values(FullVector{n - kStep});
    for (; i + 4 * kStep < n; i += 4 * kStep) {
      store(i);
      store(i + kStep);
      store(i + 2 * kStep);
      store(i + 3 * kStep);
    }
    if (i + 2 * kStep < n) {
      store(i);
      store(i + kStep);
      i += 2 * kStep;
    }
    if (i + kStep < n) store(i);
    hn::StoreU(last, d, y + n - kStep);
  }
}

// A row of booleans from the masks that `masks` gives. `masks` is called like Make's values, with tags of D.
template <class D, class Masks>
HWY_INLINE void MakeBools(D d, bool* y, int64_t n, const Masks& masks) {
  auto* const bytes = reinterpret_cast<uint8_t*>(y);
#if HWY_ARCH_X86
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(D()));
  if (n >= 4 * kStep) {
    const auto four = [=](int64_t at) EPIPHYTE_INLINE {
      hn::StoreU(OnesOf(d, masks(FullVector{at}), masks(FullVector{at + kStep}), masks(FullVector{at + 2 * kStep}),
                        masks(FullVector{at + 3 * kStep})),
                 hn::Repartition<uint8_t, D>(), bytes + at);
    };
    int64_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep) four(i);
    if (i + 2 * kStep < n) return four(n - 4 * kStep);
    const auto one = [=](int64_t at) EPIPHYTE_INLINE {
      hn::StoreU(OnesOf(d, masks(FullVector{at})), hn::Rebind<uint8_t, D>(), bytes + at);
    };
    if (i + kStep < n) one(i);
    if (i < n) one(n - kStep);
    return;
  }
#endif
  Make(hn::Rebind<uint8_t, D>(), bytes, n, [=](const auto& load) EPIPHYTE_INLINE { return OnesOf(d, masks(load)); });
}

template <Length kLength = kShort, class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* x, T* y, int64_t n, const F& f) {
  Make<kLength>(d, y, n, [=](const auto& load) EPIPHYTE_INLINE { return f(load(d, x)); });
}

template <Length kLength = kShort, class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* a, const T* b, T* y, int64_t n, const F& f) {
  Make<kLength>(d, y, n, [=](const auto& load) EPIPHYTE_INLINE { return f(load(d, a), load(d, b)); });
}

template <class D, typename T = hn::TFromD<D>, class F>
HWY_INLINE void Map(D d, const T* a, const T* b, const T* c, T* y, int64_t n, const F& f) {
  Make(d, y, n, [=](const auto& load) EPIPHYTE_INLINE { return f(load(d, a), load(d, b), load(d, c)); });
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
