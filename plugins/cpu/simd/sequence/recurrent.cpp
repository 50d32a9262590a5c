#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/sequence/recurrent.cpp"
#include "plugins/cpu/simd/sequence/recurrent.h"

#include <cstdint>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/math-inl.h"
#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));

// Access to all elements of a vector. Its counterpart accesses only the first few.
struct Whole {
  HWY_INLINE Vector Load(const float* p) const { return hn::LoadU(Tag(), p); }
  HWY_INLINE void Store(Vector v, float* p) const { hn::StoreU(v, Tag(), p); }
};
struct First {
  size_t count;
  HWY_INLINE Vector Load(const float* p) const { return LoadPart(Tag(), p, count); }
  HWY_INLINE void Store(Vector v, float* p) const { StorePart(Tag(), v, p, count); }
};
// Calls step(i, access) for the vectors of a row; the last one may be partial.
template <class Step>
HWY_INLINE void ForEachVector(int64_t n, const Step& step) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) step(i, Whole());
  if (i < n) step(i, First{static_cast<size_t>(n - i)});
}

HWY_INLINE Vector Blended(Vector z, Vector candidate, Vector h) {
  return hn::MulAdd(z, h, hn::Mul(hn::Sub(hn::Set(Tag(), 1.0f), z), candidate));
}

void LstmStep(const float* gates, int64_t stride, float* c, float* h, int64_t n) {
  const Tag d;
  ForEachVector(n, [=](int64_t i, auto access) HWY_ATTR {
    const Vector input = Sigmoid(d, access.Load(gates + i));
    const Vector candidate = Tanh(d, access.Load(gates + 3 * stride + i));
    const Vector forget = Sigmoid(d, access.Load(gates + 2 * stride + i));
    const Vector cell = hn::MulAdd(forget, access.Load(c + i), hn::Mul(input, candidate));
    access.Store(cell, c + i);
    access.Store(hn::Mul(Sigmoid(d, access.Load(gates + stride + i)), Tanh(d, cell)), h + i);
  });
}

void GruStep(const float* z, const float* candidate, const float* product, const float* reset, float* h, int64_t n) {
  const Tag d;
  ForEachVector(n, [=](int64_t i, auto access) HWY_ATTR {
    const Vector term = access.Load(product + i), sum = access.Load(candidate + i);
    const Vector before = reset == nullptr ? hn::Add(sum, term) : hn::MulAdd(access.Load(reset + i), term, sum);
    access.Store(Blended(access.Load(z + i), Tanh(d, before), access.Load(h + i)), h + i);
  });
}

void MultiplyAdd(const float* a, const float* b, float* y, int64_t n) {
  Map(Tag(), a, b, y, y, n,
      [](Vector left, Vector right, Vector sum) EPIPHYTE_INLINE { return hn::MulAdd(left, right, sum); });
}

void UpdateCell(const float* input, const float* forget, const float* candidate, float* c, int64_t n) {
  ForEachVector(n, [=](int64_t i, auto access) HWY_ATTR {
    const Vector added = hn::Mul(access.Load(input + i), access.Load(candidate + i));
    access.Store(hn::MulAdd(access.Load(forget + i), access.Load(c + i), added), c + i);
  });
}

void Blend(const float* z, const float* candidate, float* h, int64_t n) {
  Map(Tag(), z, candidate, h, h, n,
      [](Vector by, Vector to, Vector from) EPIPHYTE_INLINE { return Blended(by, to, from); });
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {

EPIPHYTE_EXPORT(LstmStep);
EPIPHYTE_EXPORT(GruStep);
EPIPHYTE_EXPORT(MultiplyAdd);
EPIPHYTE_EXPORT(UpdateCell);
EPIPHYTE_EXPORT(Blend);
void LstmStep(const float* gates, int64_t stride, float* c, float* h, int64_t n) {
  EPIPHYTE_DISPATCH(LstmStep)(gates, stride, c, h, n);
}
void GruStep(const float* z, const float* candidate, const float* product, const float* reset, float* h, int64_t n) {
  EPIPHYTE_DISPATCH(GruStep)(z, candidate, product, reset, h, n);
}
void MultiplyAdd(const float* a, const float* b, float* y, int64_t n) { EPIPHYTE_DISPATCH(MultiplyAdd)(a, b, y, n); }
void UpdateCell(const float* input, const float* forget, const float* candidate, float* c, int64_t n) {
  EPIPHYTE_DISPATCH(UpdateCell)(input, forget, candidate, c, n);
}
void Blend(const float* z, const float* candidate, float* h, int64_t n) {
  EPIPHYTE_DISPATCH(Blend)(z, candidate, h, n);
}

}  // namespace epiphyte::cpu::simd
#endif
