#include "plugins/cpu/simd/targets.h"

#include <cstdint>
#include <stdexcept>

#include "plugins/cpu/simd/per_target.h"

#include <hwy/highway.h>

namespace epiphyte::cpu::simd {
namespace {

// A single target is called directly, and needs nothing of the library of Highway.
void Choose([[maybe_unused]] int64_t targets) {
#if (HWY_TARGETS & (HWY_TARGETS - 1)) != 0
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#endif
}

// A lower bit is a better target.
std::vector<std::string> NamesOf(int64_t targets) {
  std::vector<std::string> names;
  for (; targets != 0; targets &= targets - 1) names.emplace_back(hwy::TargetName(targets & -targets));
  return names;
}

int64_t Supported() {
  const int64_t supported = HWY_SUPPORTED_TARGETS & HWY_TARGETS;
  return supported != 0 ? supported : HWY_STATIC_TARGET;
}

}  // namespace

std::vector<std::string> CompiledTargets() { return NamesOf(HWY_TARGETS); }
std::vector<std::string> SupportedTargets() { return NamesOf(Supported()); }
std::string ChosenTarget() { return SupportedTargets().front(); }

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
