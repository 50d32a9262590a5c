// Instruction sets that this folder's loops are compiled for, by Highway's names: "AVX3", "AVX2" and "SSSE3" on x86,
// "NEON" on aarch64. The best one that the CPU supports is chosen on the first call; tests and benchmarks choose each.
// Loop objects (UnaryLoop, NormalizeLoops, …) keep the target that was chosen when they were constructed.
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

// Compiled targets, best first.
std::vector<std::string> CompiledTargets();
// Compiled targets that this CPU can run; at least one.
std::vector<std::string> SupportedTargets();
// The target that calls go to.
std::string ChosenTarget();

// Directs calls in the whole library to one of the supported targets while it lives. No other thread may be inside a
// loop when it is constructed or destroyed, and only one may exist at a time. Throws std::invalid_argument for a target
// that isn't supported.
class TargetChoice {
 public:
  explicit TargetChoice(std::string_view target);
  ~TargetChoice();
  TargetChoice(const TargetChoice&) = delete;
  TargetChoice& operator=(const TargetChoice&) = delete;
};

}  // namespace epiphyte::cpu::simd
