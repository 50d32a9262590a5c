// The instruction sets that this folder's loops are compiled for, by Highway's names: "AVX3", "AVX2" and "SSSE3" on x86,
// "NEON" on aarch64. The best that the CPU supports is chosen on the first call; tests and benchmarks choose each. Loops
// that are objects (UnaryLoop, NormalizeLoops, …) stay what was chosen when they were made.
//
//     for (const std::string& target : simd::SupportedTargets()) {
//       const simd::TargetChoice choice(target);
//       …   // every loop runs the variant for `target`
//     }
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::cpu::simd {

// Best first.
std::vector<std::string> CompiledTargets();
// Those of the compiled ones that this CPU can run; at least one.
std::vector<std::string> SupportedTargets();
// What calls go to.
std::string ChosenTarget();

// While it lives, calls go to one of the supported targets, in the whole library. No other thread may be inside a loop
// when it is made or goes, and there is one at a time. Throws std::invalid_argument for a target that isn't supported.
class TargetChoice {
 public:
  explicit TargetChoice(std::string_view target);
  ~TargetChoice();
  TargetChoice(const TargetChoice&) = delete;
  TargetChoice& operator=(const TargetChoice&) = delete;
};

}  // namespace epiphyte::cpu::simd
