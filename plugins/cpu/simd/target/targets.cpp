#include "plugins/cpu/simd/target/targets.h"

#include <cstdint>
#include <stdexcept>

#include "plugins/cpu/simd/target/dispatch.h"

#include <hwy/highway.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace epiphyte::cpu::simd {
namespace {

// The targets that CPU and system support, among those that per_target.h leaves; the same as Highway's
// SupportedTargets.
int64_t Detect() {
  int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86 && (HWY_TARGETS & (HWY_TARGETS - 1)) != 0
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c;
  if (has_avx2) targets |= HWY_AVX2;
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    targets |= HWY_AVX3;
#endif
  return targets & HWY_TARGETS;
}

int64_t Supported() {
  static const int64_t targets = Detect();
  return targets;
}

int64_t g_forced = 0;  // set by a TargetChoice

// A single target is called directly, without a choice.
void Choose([[maybe_unused]] int64_t forced) {
  g_forced = forced;
#if (HWY_TARGETS & (HWY_TARGETS - 1)) != 0
  hwy::ChosenTarget chosen;
  chosen.Update(forced != 0 ? forced : Supported());
  g_chosen_index = chosen.GetIndex();
#endif
}

const bool g_chosen_when_loaded = (Choose(0), true);

// A lower bit stands for a better target.
std::vector<std::string> NamesOf(int64_t targets) {
  std::vector<std::string> names;
  for (; targets != 0; targets &= targets - 1) names.emplace_back(hwy::TargetName(targets & -targets));
  return names;
}

}  // namespace

std::vector<std::string> CompiledTargets() { return NamesOf(HWY_TARGETS); }
std::vector<std::string> SupportedTargets() { return NamesOf(Supported()); }
std::string ChosenTarget() { return NamesOf(g_forced != 0 ? g_forced : Supported()).front(); }

TargetChoice::TargetChoice(std::string_view target) {
  const int64_t supported = Supported();
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t bit = rest & -rest;
    if (target == hwy::TargetName(bit)) {
      Choose(bit);
      return;
    }
  }
  std::string names;
  for (const std::string& name : NamesOf(supported)) names += (names.empty() ? "" : ", ") + name;
  throw std::invalid_argument("SIMD target \"" + std::string(target) + "\": this CPU and build support " + names);
}

TargetChoice::~TargetChoice() { Choose(0); }

}  // namespace epiphyte::cpu::simd
