// Levels: instruction sets to which the CPU plugin is limited, in its own loops and in oneDNN, as if the CPU had no
// more.
//
//   const Level* level = FindLevel("avx2");
//   if (const std::string why = WhyNot(*level); !why.empty()) …   // this CPU or oneDNN has no such thing
//   const ForcedLevel forced(*level);                              // before anything of the plugin runs
//
// oneDNN reads its limit once in a process, so a process has one level. Half-precision products (fp16) exist in oneDNN
// 3 only. The plugin's loops convert float16 with F16C at every level from avx2 on, and without it below.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plugins/cpu/simd/gemm/amx.h"
#include "plugins/cpu/simd/gemm/byte_product.h"
#include "plugins/cpu/simd/target/targets.h"

namespace epiphyte::test::levels {

struct Level {
  std::string_view name;
  std::string_view target;  // target of the plugin's loops, by Highway's name
  bool vnni;                // whether the plugin's loops use VNNI
  bool amx;                 // whether the plugin's loops use AMX
  dnnl::cpu_isa isa;
};

// Levels from the baseline up; empty on architectures other than x86-64.
std::span<const Level> AllLevels();
// Returns null when no level has that name.
const Level* FindLevel(std::string_view name);

// Returns "", or the reason why the level is impossible here. The first call, or the first ForcedLevel, decides the
// level of the process.
std::string WhyNot(const Level& level);

class ForcedLevel {
 public:
  explicit ForcedLevel(const Level& level);

 private:
  cpu::simd::TargetChoice target_;
  std::unique_ptr<cpu::simd::WithoutVnni> without_vnni_;
  std::unique_ptr<cpu::simd::WithoutAmx> without_amx_;
};

}  // namespace epiphyte::test::levels
