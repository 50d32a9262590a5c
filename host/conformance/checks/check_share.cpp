// Checks of share groups: sessions that compile into one payload and load from it.
#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

constexpr std::initializer_list<Rule> kRules = {Rule::kGroupsPayloadComesLast, Rule::kGroupsPayloadHoldsAll,
                                                Rule::kLastSessionWrites,      Rule::kGroupEndsWithTheProvider,
                                                Rule::kMakeAsksForNoWorkspace, Rule::kGroupsSessionsEndInAnyOrder};

Session::Setup Member(const std::shared_ptr<DebugWorkspace>& workspace, bool compiling, bool last) {
  Session::Setup setup;
  setup.context_enabled = compiling;
  setup.share = std::make_shared<DebugMembership>(workspace, compiling, last);
  return setup;
}

// Two sessions load one payload, at one address, and end in either order. The remaining session must compute as before.
void CheckLoadingGroup(Bench& bench, const SavedContext& all, const Work& work) {
  for (const bool first_ends_first : {true, false}) {
    const auto workspace = std::make_shared<DebugWorkspace>();
    std::unique_ptr<Session> sessions[2];
    const auto run = [&](size_t i) {
      const Probe& probe = work.probes[all.nodes[i].partition];
      const std::string difference = Difference(probe, sessions[i]->Run(0, probe.inputs));
      Demand(bench.host(), difference.empty(), Rule::kGroupsSessionsEndInAnyOrder, difference);
    };
    for (size_t i = 0; i < 2; ++i) {
      SavedContext mine = all;
      mine.nodes = {all.nodes[i]};
      sessions[i] = std::make_unique<Session>(bench.plugin(), Member(workspace, false, false));
      const DebugHost::Failure failure =
          sessions[i]->TryLoad(mine, {work.partitions[all.nodes[i].partition]}, LentMemory::Place::kPage);
      if (failure) EndWith(bench.host(), Rule::kGroupsSessionsEndInAnyOrder, Describe(failure));
      run(i);
    }
    const size_t gone = first_ends_first ? 0 : 1;
    sessions[gone]->Close();
    sessions[gone].reset();
    run(1 - gone);
    sessions[1 - gone]->Close();
  }
}

void CheckShareGroup(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  if (!bench.plugin().makes_contexts()) {
    NotApplicable(journal, kRules, "the plugin makes no contexts");
    return bench.Finish();
  }
  const std::vector<Probe> claimed = bench.Claimed(kRules);
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  SavedContext all;
  {
    const auto workspace = std::make_shared<DebugWorkspace>();
    auto first = std::make_unique<Session>(bench.plugin(), Member(workspace, true, false));
    first->Compile({work.partitions[0]});
    if (!DebugMembership::WasAsked()) {
      NotApplicable(journal, kRules, "the plugin doesn't use ep.share_group/1");
      first->Close();
      return bench.Finish();
    }
    SavedContext early;
    const DebugHost::Failure failure = first->TrySave(false, &early);
    if (failure.code == EP_STATUS_NOT_IMPLEMENTED) {
      NotApplicable(journal, kRules, "the plugin can't put the contexts of several sessions into one payload");
      first->Close();
      return bench.Finish();
    }
    if (failure) EndWith(bench.host(), Rule::kContextNodesWork, Describe(failure));
    Session last(bench.plugin(), Member(workspace, true, true));
    last.Compile({work.partitions[1]});
    // The group's sessions may end in any order.
    first->Close();
    first.reset();
    all = last.Save(false);
    all.partition_names = {work.partitions[0].name, work.partitions[1].name};
    for (SavedNode& node : all.nodes) node.partition = 1;
    all.nodes.insert(all.nodes.begin(), early.nodes.begin(), early.nodes.end());
    last.Close();
  }
  Demand(bench.host(), all.payloads.size() == 1, Rule::kLastSessionWrites,
         "the last session wrote " + std::to_string(all.payloads.size()) + " payloads");
  // If the payload is in the model, one of the nodes is the primary.
  for (size_t i = 0; i < all.nodes.size(); ++i) {
    all.nodes[i].main_context = i == 0 ? 1 : 0;
    all.nodes[i].payload = i == 0 ? 0 : -1;
  }
  for (const bool together : {true, false}) {
    for (size_t i = 0; i < (together ? 1 : all.nodes.size()); ++i) {
      SavedContext some = all;
      std::vector<GraphSpec> partitions = work.partitions;
      if (!together) {
        some.nodes = {all.nodes[i]};
        partitions = {work.partitions[all.nodes[i].partition]};
      }
      Session session(bench.plugin(), Member(std::make_shared<DebugWorkspace>(), false, false));
      const DebugHost::Failure failure = session.TryLoad(some, partitions, LentMemory::Place::kPage);
      if (failure) EndWith(bench.host(), Rule::kGroupsPayloadHoldsAll, Describe(failure));
      for (size_t k = 0; k < some.nodes.size(); ++k) {
        const Probe& probe = work.probes[some.nodes[k].partition];
        const std::string difference = Difference(probe, session.Run(k, probe.inputs));
        Demand(bench.host(), difference.empty(), Rule::kGroupsPayloadHoldsAll, difference);
      }
      session.Close();
    }
  }
  CheckLoadingGroup(bench, all, work);
  PassAll(journal, kRules);
  bench.Finish();
}

constexpr Check kShareChecks[] = {{"share group", CheckShareGroup}};

}  // namespace

std::span<const Check> ShareChecks() { return kShareChecks; }

}  // namespace epiphyte::conformance
