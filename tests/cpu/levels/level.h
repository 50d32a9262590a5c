// Levels: sets of instructions that the CPU plugin is held to, of its own loops and of oneDNN, as if the CPU had no
// better ones.
//
//   const Level* level = FindLevel("avx2");
//   if (const std::string why = WhyNot(*level); !why.empty()) …   // this CPU or oneDNN has no such thing
//   const ForcedLevel forced(*level);                              // before anything of the plugin runs
//
// oneDNN looks at its limit once in a process, so a process has one level. Half-precision products (fp16) are oneDNN
// 3's alone: our loops convert float16 by F16C at every level from avx2 on, and without it below.
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
  std::string_view target;  // target of our loops, by Highway's name
  bool vnni;                // used by our loops
  bool amx;                 // used by our loops
  dnnl::cpu_isa isa;
};

// Levels from the baseline up; empty on architectures other than x86-64.
std::span<const Level> AllLevels();
// Null when there is none of that name.
const Level* FindLevel(std::string_view name);

// "" or why the level can't be had here. The first answer, or the first ForcedLevel, is this process's only one.
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
