#include "tests/cpu/levels/level.h"

#include <algorithm>
#include <vector>

namespace epiphyte::test::levels {
namespace {

#if defined(__x86_64__)
constexpr Level kLevels[] = {
    {"baseline", "SSSE3", false, false, dnnl::cpu_isa::sse41},
    {"avx2", "AVX2", false, false, dnnl::cpu_isa::avx2},
    {"avx512", "AVX3", false, false, dnnl::cpu_isa::avx512_core},
    {"vnni", "AVX3", true, false, dnnl::cpu_isa::avx512_core_vnni},
    {"bf16", "AVX3", true, false, dnnl::cpu_isa::avx512_core_bf16},
#if DNNL_VERSION_MAJOR >= 3
    {"fp16", "AVX3", true, false, dnnl::cpu_isa::avx512_core_fp16},
#endif
    {"amx", "AVX3", true, true, dnnl::cpu_isa::avx512_core_amx},
};
#endif

}  // namespace

std::span<const Level> AllLevels() {
#if defined(__x86_64__)
  return kLevels;
#else
  return {};
#endif
}

const Level* FindLevel(std::string_view name) {
  const auto levels = AllLevels();
  const auto found = std::find_if(levels.begin(), levels.end(), [&](const Level& level) { return level.name == name; });
  return found == levels.end() ? nullptr : &*found;
}

std::string WhyNot(const Level& level) {
  const std::vector<std::string> targets = cpu::simd::SupportedTargets();
  if (std::find(targets.begin(), targets.end(), level.target) == targets.end())
    return "this CPU has no " + std::string(level.target);
  if (level.vnni && !cpu::simd::UsesVnni()) return "this CPU has no VNNI";
  if (level.amx && !cpu::simd::UsesAmxBytes()) return "this CPU has no AMX, or the system doesn't give it";
  if (dnnl::set_max_cpu_isa(level.isa) != dnnl::status::success) return "this oneDNN lets nobody choose";
  if (dnnl::get_effective_cpu_isa() != level.isa) return "this CPU or oneDNN has no " + std::string(level.name);
  return "";
}

ForcedLevel::ForcedLevel(const Level& level) : target_(level.target) {
  if (!level.vnni) without_vnni_ = std::make_unique<cpu::simd::WithoutVnni>();
  if (!level.amx) without_amx_ = std::make_unique<cpu::simd::WithoutAmx>();
}

}  // namespace epiphyte::test::levels
