#include "plugins/cpu/simd/gemm/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/cpu/simd/target/targets.h"
#endif

namespace epiphyte::cpu::simd {
namespace {

struct Products {
  bool bytes = false;
  bool bfloat16 = false;
};

#if defined(__x86_64__) && defined(__linux__)
Products Detect() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsXsave = 1u << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) return {};
  constexpr unsigned kBfloat16 = 1u << 22, kTiles = 1u << 24, kBytes = 1u << 25;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTiles) == 0) return {};
  unsigned enabled = 0, high = 0;
  asm volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  constexpr unsigned kVectors = 0xE6, kTileState = 3u << 17;
  if ((enabled & (kVectors | kTileState)) != (kVectors | kTileState)) return {};
  // A virtual machine may have tiles but lack the vectors that the tile loops use (amx-inl.h).
  const std::vector<std::string> targets = SupportedTargets();
  if (std::find(targets.begin(), targets.end(), "AVX3") == targets.end()) return {};
  constexpr unsigned kBfloat16Vectors = 1u << 5;
  unsigned more = 0;
  const bool bfloat16_vectors = __get_cpuid_count(7, 1, &more, &b, &c, &a) != 0 && (more & kBfloat16Vectors) != 0;
  // ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA of the Linux kernel.
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return {};
  return {(d & kBytes) != 0, (d & kBfloat16) != 0 && bfloat16_vectors};
}
#else
Products Detect() { return {}; }
#endif

const Products& Detected() {
  static const Products products = Detect();
  return products;
}

int g_without = 0;

}  // namespace

bool UsesAmxBytes() { return g_without == 0 && Detected().bytes; }
bool UsesAmxBfloat16() { return g_without == 0 && Detected().bfloat16; }
WithoutAmx::WithoutAmx() { ++g_without; }
WithoutAmx::~WithoutAmx() { --g_without; }

}  // namespace epiphyte::cpu::simd
