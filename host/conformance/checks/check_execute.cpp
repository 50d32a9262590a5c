// Checks of Execute.
#include <atomic>
#include <exception>
#include <thread>

#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

constexpr std::initializer_list<Rule> kOfEveryRun = {Rule::kExecuteKeepsExceptions,
                                                     Rule::kExecuteWorks,
                                                     Rule::kEveryOutputIsSet,
                                                     Rule::kEachOutputOnce,
                                                     Rule::kOutputsByIndex,
                                                     Rule::kOutputsHaveTheirType,
                                                     Rule::kOutputsHaveTheirKind,
                                                     Rule::kOutputsHaveTheirDims,
                                                     Rule::kShapesAreShapes,
                                                     Rule::kInputsAreReadOnly,
                                                     Rule::kInputsEnd,
                                                     Rule::kOutputsEnd,
                                                     Rule::kRunEndsWithExecute,
                                                     Rule::kValuesOfThisRun,
                                                     Rule::kReleasedValuesAreGone,
                                                     Rule::kValuesReleasedOnce,
                                                     Rule::kViewsAreTheHosts,
                                                     Rule::kRunStaysOnItsThread,
                                                     Rule::kNumbersAreRight,
                                                     Rule::kNoGangInALoop};

// Each claimed graph runs alone, twice.
void CheckRuns(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed(kOfEveryRun);
  for (size_t i = 0; i < claimed.size(); ++i) {
    Session session(bench.plugin(), {});
    session.Compile({claimed[i].As("conformance_" + std::to_string(i))});
    for (int round = 0; round < 2; ++round) {
      const std::string difference = Difference(claimed[i], session.Run(0, claimed[i].inputs));
      Demand(bench.host(), difference.empty(), Rule::kNumbersAreRight, difference);
    }
    session.Close();
  }
  if (!claimed.empty()) PassAll(journal, kOfEveryRun);
  bench.Finish();
}

// Earlier contents of output memory must not show in the outputs.
void CheckFill(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed({Rule::kOutputsAreWritten});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session session(bench.plugin(), {});
  session.Compile(work.partitions);
  for (size_t i = 0; i < work.probes.size(); ++i) {
    Session::RunSetting setting;
    setting.fill = 0x3C;
    const std::vector<Tensor> first = session.Run(i, work.probes[i].inputs, setting);
    setting.fill = 0xC3;
    const std::vector<Tensor> second = session.Run(i, work.probes[i].inputs, setting);
    for (size_t k = 0; k < first.size(); ++k) {
      Demand(bench.host(), first[k].bytes == second[k].bytes, Rule::kOutputsAreWritten,
             work.probes[i].name + ": output " + std::to_string(k) + " depends on what its memory held before");
    }
  }
  journal.Pass(Rule::kOutputsAreWritten);
  session.Close();
  bench.Finish();
}

void CheckThreads(Journal& journal, const Target& target) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed({Rule::kExecuteSideBySide});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session session(bench.plugin(), {});
  session.Compile(work.partitions);
  std::atomic<int> ready{0};
  const auto body = [&](int number) {
    try {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (int round = 0; round < kRounds && !bench.host().violated(); ++round) {
        // Threads work on different numbers, so that wrongly shared state shows in the results.
        const Probe& probe = work.probes[static_cast<size_t>(number) % work.probes.size()];
        const size_t kernel = static_cast<size_t>(number) % work.probes.size();
        const std::string difference = Difference(probe, session.Run(kernel, probe.inputs));
        Demand(bench.host(), difference.empty(), Rule::kExecuteSideBySide,
               "on " + std::to_string(kThreads) + " threads: " + difference);
      }
    } catch (const CheckEnded&) {
    } catch (const std::exception& error) {
      journal.Break(error.what());
    }
  };
  std::vector<std::thread> threads;
  bench.host().BlameCrashesOn(Rule::kExecuteSideBySide);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
  bench.host().EndIfViolated();
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kExecuteSideBySide);
  if (bench.plugin().api().CreateState == nullptr) {
    NotApplicable(journal, {Rule::kCreateStateKeepsExceptions, Rule::kStateIsGiven, Rule::kStatesAreNotShared},
                  "the plugin has no states");
  } else {
    PassAll(journal, {Rule::kCreateStateKeepsExceptions, Rule::kStateIsGiven, Rule::kStatesAreNotShared});
  }
  session.Close();
  bench.Finish();
}

void CheckRefusedMemory(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed({Rule::kRefusalsArePassedOn});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session session(bench.plugin(), {});
  session.Compile(work.partitions);
  Session::RunSetting setting;
  setting.refuse_memory = true;
  bench.host().BlameCrashesOn(Rule::kRefusalsArePassedOn);
  const Session::RunAnswer answer = session.TryRun(0, work.probes[0].inputs, setting);
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  if (!answer.has_refused) {
    journal.NotApplicable(Rule::kRefusalsArePassedOn, "Execute allocated nothing");
  } else {
    Demand(bench.host(), static_cast<bool>(answer.failure), Rule::kRefusalsArePassedOn,
           "an output was refused, and Execute succeeded");
    // Execute may be called again.
    work.Run(bench.host(), session, Rule::kRefusalsArePassedOn);
    journal.Pass(Rule::kRefusalsArePassedOn);
  }
  session.Close();
  bench.Finish();
}

void CheckCancelledRun(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed({Rule::kRunCancelIsHeeded});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session session(bench.plugin(), {});
  session.Compile(work.partitions);
  Session::RunSetting setting;
  setting.cancel = true;
  const Session::RunAnswer answer = session.TryRun(0, work.probes[0].inputs, setting);
  if (!answer.was_told) {
    journal.NotApplicable(Rule::kRunCancelIsHeeded, "Execute doesn't ask whether the application has cancelled");
  } else {
    Demand(bench.host(), answer.failure.code == EP_STATUS_CANCELED, Rule::kRunCancelIsHeeded,
           answer.failure ? Describe(answer.failure)
                          : "Execute learned that the application has cancelled, and succeeded");
    journal.Pass(Rule::kRunCancelIsHeeded);
  }
  session.Close();
  bench.Finish();
}

void CheckEmptyTensors(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  Session session(bench.plugin(), {});
  bool any = false;
  for (const Probe& probe : EmptyProbes()) {
    const Claims claims = session.Capability(probe.graph);
    if (claims.nodes != probe.graph.nodes.size() || (claims.exact && claims.units.size() != 1)) continue;
    any = true;
    bench.host().BlameCrashesOn(Rule::kEmptyTensorsWork);
    Session one(bench.plugin(), {});
    one.Compile({probe.As("conformance_empty")});
    const Session::RunAnswer answer = one.TryRun(0, probe.inputs, {});
    if (answer.failure) EndWith(bench.host(), Rule::kEmptyTensorsWork, probe.name + ": " + Describe(answer.failure));
    const std::string difference = Difference(probe, answer.outputs);
    Demand(bench.host(), difference.empty(), Rule::kEmptyTensorsWork, difference);
    one.Close();
    bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  }
  if (any) {
    journal.Pass(Rule::kEmptyTensorsWork);
  } else {
    journal.NotApplicable(Rule::kEmptyTensorsWork, "the plugin claims no graph of the suite with an unknown dimension");
  }
  session.Close();
  bench.Finish();
}

constexpr Check kExecuteChecks[] = {
    {"runs", CheckRuns},
    {"output memory", CheckFill},
    {"threads", CheckThreads},
    {"refused memory", CheckRefusedMemory},
    {"cancelling Execute", CheckCancelledRun},
    {"empty tensors", CheckEmptyTensors},
};

}  // namespace

std::span<const Check> ExecuteChecks() { return kExecuteChecks; }

}  // namespace epiphyte::conformance
