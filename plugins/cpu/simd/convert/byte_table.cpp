#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugins/cpu/simd/convert/byte_table.cpp"
#include "plugins/cpu/simd/convert/byte_table.h"

#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/target/per_target.h"
// These includes must follow per_target.h, which sets the target policy.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "plugins/cpu/simd/inline/rows-inl.h"
#include "plugins/cpu/simd/target/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void MapOneByOne(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t eight, result = 0;
    std::memcpy(&eight, x + i, 8);
    for (int b = 0; b < 64; b += 8) result |= uint64_t{table[eight >> b & 0xFF]} << b;
    std::memcpy(y + i, &result, 8);
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Selects by the lowest seven bits of each byte from two vectors that hold half of a table.
template <class V>
HWY_INLINE V Choose(V index, V low, V high) {
  asm("vpermi2b %2, %1, %0" : "+v"(index.raw) : "v"(low.raw), "v"(high.raw));
  return index;
}

void MapByVectors(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) {
  const hn::ScalableTag<uint8_t> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const auto a = hn::LoadU(d, table), b = hn::LoadU(d, table + 64), e = hn::LoadU(d, table + 128),
             f = hn::LoadU(d, table + 192);
  const auto map = [=](hn::Vec<decltype(d)> v) EPIPHYTE_INLINE {
    return hn::IfThenElse(hn::RebindMask(d, hn::Lt(hn::BitCast(ds, v), hn::Zero(ds))), Choose(v, e, f),
                          Choose(v, a, b));
  };
  constexpr int64_t kStep = 64;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) hn::StoreU(map(hn::LoadU(d, x + i)), d, y + i);
  const auto rest = static_cast<size_t>(n - i);
  if (rest != 0) StorePart(d, map(LoadPart(d, x + i, rest)), y + i, rest);
}
#else
void MapByVectors(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) { MapOneByOne(table, x, y, n); }
#endif

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace epiphyte::cpu::simd {
namespace {

bool HasVbmi() {
#if HWY_ARCH_X86
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") != 0;
#else
  return false;
#endif
}
// False until the library is loaded.
const bool g_has_vbmi = HasVbmi();

}  // namespace

EPIPHYTE_EXPORT(MapOneByOne);
EPIPHYTE_EXPORT(MapByVectors);
void MapBytes(const std::array<uint8_t, 256>& table, const uint8_t* x, uint8_t* y, int64_t n) {
  if (g_has_vbmi) {
    EPIPHYTE_DISPATCH(MapByVectors)(table.data(), x, y, n);
  } else {
    EPIPHYTE_DISPATCH(MapOneByOne)(table.data(), x, y, n);
  }
}

}  // namespace epiphyte::cpu::simd
#endif
