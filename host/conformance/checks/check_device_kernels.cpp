// Checks of kernels on devices: values in every memory that a kernel names, outputs in the memory of inputs, and
// buffers that kernels provide.
#include <algorithm>
#include <bit>

#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

constexpr std::initializer_list<Rule> kRules = {Rule::kEachMemoryWorks, Rule::kWorkEndsWithItsPoint, Rule::kAliasesWork,
                                                Rule::kAdoptedBuffersAreNew, Rule::kAdoptedBuffersFit};

// Returns the largest number of memories that one of the values may be in.
size_t MostMemories(const std::vector<uint32_t>& sets) {
  size_t most = 1;
  for (const uint32_t memories : sets) most = std::max(most, static_cast<size_t>(std::popcount(memories)));
  return most;
}

struct Seen {
  bool on_device = false;
  bool async = false;
  bool aliased = false;
  bool adopted = false;
};

// Ends the check with `rule` unless the run's outputs are as expected.
void Compare(Bench& bench, const Probe& probe, const Session::RunAnswer& answer, Rule rule, const std::string& where) {
  if (answer.failure) EndWith(bench.host(), rule, probe.name + where + ": " + Describe(answer.failure));
  const std::string difference = Difference(probe, answer.outputs);
  Demand(bench.host(), difference.empty(), rule, difference + where);
}

void CheckKernel(Bench& bench, const Probe& probe, const std::string& name, Seen* seen) {
  Session session(bench.plugin(), {});
  session.Compile({probe.As(name)});
  const core::KernelPlaces& places = session.places(0);
  if (places.on_device()) {
    seen->on_device = true;
    seen->async = seen->async || places.async;
    Session::RunSetting setting;
    const size_t input_memories = MostMemories(places.inputs);
    const size_t output_memories = MostMemories(places.outputs);
    bench.host().BlameCrashesOn(Rule::kEachMemoryWorks);
    for (setting.input_memory = 0; setting.input_memory < input_memories; ++setting.input_memory) {
      for (setting.output_memory = 0; setting.output_memory < output_memories; ++setting.output_memory) {
        const std::string where = ", with inputs in memory " + std::to_string(setting.input_memory) +
                                  " and outputs in memory " + std::to_string(setting.output_memory) +
                                  " of those that the kernel names";
        setting.aliases = false;
        const Session::RunAnswer plain = session.TryRun(0, probe.inputs, setting);
        Compare(bench, probe, plain, Rule::kEachMemoryWorks, where);
        setting.aliases = true;
        const Session::RunAnswer over = session.TryRun(0, probe.inputs, setting);
        Compare(bench, probe, over, over.has_aliased ? Rule::kAliasesWork : Rule::kEachMemoryWorks,
                over.has_aliased ? where + ", an output over an input" : where);
        seen->aliased = seen->aliased || over.has_aliased;
        seen->adopted = seen->adopted || plain.has_adopted;
      }
    }
    bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  }
  session.Close();
}

void CheckPlaces(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed(kRules);
  Seen seen;
  for (size_t i = 0; i < claimed.size(); ++i) CheckKernel(bench, claimed[i], "conformance_" + std::to_string(i), &seen);
  if (seen.on_device) journal.Pass(Rule::kEachMemoryWorks);
  if (seen.async) journal.Pass(Rule::kWorkEndsWithItsPoint);
  if (seen.aliased) journal.Pass(Rule::kAliasesWork);
  if (seen.adopted) PassAll(journal, {Rule::kAdoptedBuffersAreNew, Rule::kAdoptedBuffersFit});
  NotApplicable(journal, {Rule::kEachMemoryWorks}, "no kernel names memories");
  NotApplicable(journal, {Rule::kWorkEndsWithItsPoint}, "no kernel is ASYNC");
  NotApplicable(journal, {Rule::kAliasesWork}, "no kernel names an alias that fits");
  NotApplicable(journal, {Rule::kAdoptedBuffersAreNew, Rule::kAdoptedBuffersFit}, "no kernel calls AdoptOutput");
  bench.Finish();
}

constexpr Check kDeviceKernelChecks[] = {{"memories of kernels", CheckPlaces}};

}  // namespace

std::span<const Check> DeviceKernelChecks() { return kDeviceKernelChecks; }

}  // namespace epiphyte::conformance
