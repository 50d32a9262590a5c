// Checks of contexts: writing, loading, verdicts, and damaged payloads.
#include <algorithm>

#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

constexpr std::initializer_list<Rule> kOfContexts = {
    Rule::kContextNodesKeepExceptions, Rule::kContextNodesWork,           Rule::kANodeForEachPartition,
    Rule::kPayloadsAreEnded,           Rule::kPartitionsByIndex,          Rule::kSourcesAreOwn,
    Rule::kWritersOfThisSink,          Rule::kContextSinkEndsWithTheCall, Rule::kContextSinkStaysOnItsThread,
    Rule::kPrimariesHavePayloads,      Rule::kMainContextIsAFlag,         Rule::kContextsAreDeterministic,
    Rule::kLoadContextKeepsExceptions, Rule::kLoadsWhatItWrote,           Rule::kLoadedKernelsAgree,
    Rule::kBlobsAreReadOnly,           Rule::kBlobsEndWithTheProvider,    Rule::kContextNodesEndWithTheCall,
    Rule::kDamagedPayloadsAreRefused,  Rule::kAlteredPayloadsDoNoHarm,    Rule::kNodesInAnyOrder,
    Rule::kFurtherAttributes,          Rule::kNodeReservedIsZero,         Rule::kNoNameIsTheOnlyGraph};

Session::Setup ForContexts() {
  Session::Setup setup;
  setup.context_enabled = true;
  return setup;
}

// Returns the probes for a check that needs contexts. If the plugin makes none, `rules` are marked as not applicable.
std::vector<Probe> ClaimedForContexts(Bench& bench, std::initializer_list<Rule> rules) {
  if (bench.plugin().makes_contexts()) return bench.Claimed(rules);
  NotApplicable(bench.journal(), rules, "the plugin makes no contexts");
  return {};
}

SavedContext CompileAndSave(Bench& bench, const Work& work, bool embed) {
  Session session(bench.plugin(), ForContexts());
  session.Compile(work.partitions);
  SavedContext saved = session.Save(embed);
  work.Run(bench.host(), session, Rule::kNumbersAreRight);
  session.Close();
  return saved;
}

// Returns the partitions of the nodes, in the order of the nodes.
std::vector<GraphSpec> PartitionsOf(const SavedContext& saved, const Work& work) {
  std::vector<GraphSpec> partitions;
  for (const SavedNode& node : saved.nodes) partitions.push_back(work.partitions[node.partition]);
  return partitions;
}

void CheckRoundTrip(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = ClaimedForContexts(bench, kOfContexts);
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  const SavedContext saved = CompileAndSave(bench, work, false);
  const SavedContext again = CompileAndSave(bench, work, false);
  Demand(bench.host(), saved.payloads == again.payloads && saved.compatibility_info == again.compatibility_info,
         Rule::kContextsAreDeterministic, "compiling the same twice gave different payloads");
  PassAll(journal, {Rule::kContextsAreDeterministic, Rule::kWritersOfThisSink, Rule::kContextSinkEndsWithTheCall});
  const SavedContext embedded = CompileAndSave(bench, work, true);
  for (const LentMemory::Place place : {LentMemory::Place::kPage, LentMemory::Place::kEnd}) {
    const SavedContext& context = place == LentMemory::Place::kPage ? saved : embedded;
    Session session(bench.plugin(), {});
    session.Load(context, PartitionsOf(context, work), place);
    for (size_t i = 0; i < context.nodes.size(); ++i) {
      const Probe& probe = work.probes[context.nodes[i].partition];
      const std::string difference = Difference(probe, session.Run(i, probe.inputs));
      Demand(bench.host(), difference.empty(), Rule::kLoadedKernelsAgree, difference);
    }
    session.Close();
  }
  bench.Finish();
  PassAll(journal, {Rule::kLoadedKernelsAgree, Rule::kBlobsAreReadOnly, Rule::kBlobsEndWithTheProvider,
                    Rule::kContextNodesEndWithTheCall});
}

void CheckOrder(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = ClaimedForContexts(bench, {Rule::kNodesInAnyOrder});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  const SavedContext saved = CompileAndSave(bench, work, false);
  // The results of the whole context are the reference; another rule covers whether they are right.
  std::vector<std::vector<Tensor>> whole(work.probes.size());
  {
    Session session(bench.plugin(), {});
    session.Load(saved, PartitionsOf(saved, work), LentMemory::Place::kPage);
    for (size_t i = 0; i < saved.nodes.size(); ++i) {
      const uint32_t partition = saved.nodes[i].partition;
      whole[partition] = session.Run(i, work.probes[partition].inputs);
    }
    session.Close();
  }
  std::vector<SavedContext> orders(3, saved);
  std::reverse(orders[0].nodes.begin(), orders[0].nodes.end());
  orders[1].nodes.erase(orders[1].nodes.begin());
  orders[2].nodes.pop_back();
  for (const SavedContext& order : orders) {
    Session session(bench.plugin(), {});
    const DebugHost::Failure failure = session.TryLoad(order, PartitionsOf(order, work), LentMemory::Place::kPage);
    if (failure) EndWith(bench.host(), Rule::kNodesInAnyOrder, Describe(failure));
    for (size_t i = 0; i < order.nodes.size(); ++i) {
      const uint32_t partition = order.nodes[i].partition;
      const std::vector<Tensor> outputs = session.Run(i, work.probes[partition].inputs);
      for (size_t k = 0; k < outputs.size(); ++k) {
        Demand(bench.host(), outputs[k].bytes == whole[partition][k].bytes, Rule::kNodesInAnyOrder,
               "partition '" + saved.partition_names[partition] + "' gives other numbers in another order or company");
      }
    }
    session.Close();
  }
  journal.Pass(Rule::kNodesInAnyOrder);
  bench.Finish();
}

// The model is as another tool writes it, or as made by hand: its one node has neither partition_name nor a name.
void CheckNodeWithoutName(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = ClaimedForContexts(bench, {Rule::kNoNameIsTheOnlyGraph});
  if (claimed.empty()) return bench.Finish();
  Work work({claimed.front()});
  // One probe makes two partitions, but this payload must have a single graph.
  work.probes.pop_back();
  work.partitions.pop_back();
  SavedContext saved = CompileAndSave(bench, work, false);
  const std::vector<Tensor>& inputs = work.probes[0].inputs;
  // The results of the node with its name are the reference; another rule covers whether they are right.
  std::vector<Tensor> named;
  {
    Session session(bench.plugin(), {});
    session.Load(saved, PartitionsOf(saved, work), LentMemory::Place::kPage);
    named = session.Run(0, inputs);
    session.Close();
  }
  saved.partition_names[0].clear();
  Session session(bench.plugin(), {});
  const DebugHost::Failure failure = session.TryLoad(saved, PartitionsOf(saved, work), LentMemory::Place::kPage);
  if (failure) EndWith(bench.host(), Rule::kNoNameIsTheOnlyGraph, Describe(failure));
  const std::vector<Tensor> outputs = session.Run(0, inputs);
  for (size_t k = 0; k < outputs.size(); ++k) {
    Demand(bench.host(), outputs[k].bytes == named[k].bytes, Rule::kNoNameIsTheOnlyGraph,
           "the only partition gives other numbers without its name");
  }
  session.Close();
  journal.Pass(Rule::kNoNameIsTheOnlyGraph);
  bench.Finish();
}

// Loads a payload that may be damaged, and runs what was loaded. Returns whether loading was refused.
bool LoadAndRun(Bench& bench, const Work& work, const SavedContext& context, Rule rule, bool* agrees) {
  Session::Setup setup;
  setup.payload_end = rule;
  Session session(bench.plugin(), setup);
  const DebugHost::Failure failure = session.TryLoad(context, PartitionsOf(context, work), LentMemory::Place::kEnd);
  *agrees = !failure;
  for (size_t i = 0; i < session.kernel_count(); ++i) {
    const Probe& probe = work.probes[context.nodes[i].partition];
    const Session::RunAnswer answer = session.TryRun(i, probe.inputs, {});
    if (answer.failure || !Difference(probe, answer.outputs).empty()) *agrees = false;
  }
  session.Close();
  return static_cast<bool>(failure);
}

void CheckTruncation(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = ClaimedForContexts(bench, {Rule::kDamagedPayloadsAreRefused});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  const SavedContext saved = CompileAndSave(bench, work, false);
  Demand(bench.host(), !saved.payloads.empty(), Rule::kPrimariesHavePayloads, "no payload was written");
  const size_t size = saved.payloads[0].size();
  std::vector<size_t> cuts;
  for (size_t cut = 0; cut < size && cut < 16; ++cut) cuts.push_back(cut);
  for (size_t i = 1; i < 24; ++i) cuts.push_back(size * i / 24);
  for (size_t cut = size; cut > 0 && cut + 8 > size; --cut) cuts.push_back(cut - 1);
  bench.host().BlameCrashesOn(Rule::kDamagedPayloadsAreRefused);
  for (const size_t cut : cuts) {
    if (cut >= size) continue;
    SavedContext damaged = saved;
    damaged.payloads[0].resize(cut);
    bool agrees = false;
    const bool refused = LoadAndRun(bench, work, damaged, Rule::kDamagedPayloadsAreRefused, &agrees);
    Demand(bench.host(), refused || agrees, Rule::kDamagedPayloadsAreRefused,
           "a payload of " + std::to_string(size) + " bytes was cut to " + std::to_string(cut) +
               ", loaded, and gives other numbers");
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kDamagedPayloadsAreRefused);
  bench.Finish();
}

void CheckAlteredBytes(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = ClaimedForContexts(bench, {Rule::kAlteredPayloadsDoNoHarm});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  const SavedContext saved = CompileAndSave(bench, work, false);
  Demand(bench.host(), !saved.payloads.empty(), Rule::kPrimariesHavePayloads, "no payload was written");
  const size_t size = saved.payloads[0].size();
  const size_t step = std::max<size_t>(1, size / 200);
  bench.host().BlameCrashesOn(Rule::kAlteredPayloadsDoNoHarm);
  for (size_t at = 0; at < size; at += step) {
    for (const int flip : {0xFF, 1 << (at % 8)}) {
      SavedContext altered = saved;
      altered.payloads[0][at] = static_cast<char>(altered.payloads[0][at] ^ flip);
      bool agrees = false;
      LoadAndRun(bench, work, altered, Rule::kAlteredPayloadsDoNoHarm, &agrees);
    }
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  journal.Pass(Rule::kAlteredPayloadsDoNoHarm);
  bench.Finish();
}

// Calls CheckContext about a node of `saved`. `source` may differ from the node's source.
EpContextVerdict Judge(Bench& bench, const SavedContext& saved, const std::string& source, bool with_blob) {
  constexpr size_t kRoom = 64;
  const SavedNode& node = saved.nodes[0];
  Arena arena(64 << 10,
              {"a context's header", Rule::kCheckContextWorks, Rule::kCheckContextWorks, Rule::kCheckContextWorks});
  EpContextHeader header = {};
  header.struct_size = sizeof(header);
  header.source = arena.Copy(source);
  header.ep_sdk_version = arena.Copy(node.ep_sdk_version);
  header.hardware_architecture = arena.Copy(node.hardware_architecture);
  header.notes = arena.Copy(node.notes);
  header.compatibility_info = arena.Copy(saved.compatibility_info);
  LentMemory blob(saved.payloads[0].size(),
                  {"a payload", Rule::kBlobsAreReadOnly, Rule::kBlobsAreReadOnly, Rule::kBlobsEndWithTheProvider});
  std::memcpy(blob.data(), saved.payloads[0].data(), blob.size());
  blob.MakeReadOnly();
  header.blob = with_blob ? blob.data() : nullptr;
  header.blob_size = with_blob ? blob.size() : 0;
  LentMemory reason(kRoom, {"the room for CheckContext's reason", Rule::kReasonFitsTheRoom, Rule::kReasonFitsTheRoom,
                            Rule::kReasonFitsTheRoom});
  std::memset(reason.data(), 'x', kRoom);
  *reason.data() = std::byte{0};
  EpContextVerdict verdict = UINT32_MAX;
  const EpPluginDescriptor& descriptor = bench.plugin().descriptor();
  const DebugHost::Failure failure = CallPlugin(bench.host(), Rule::kCheckContextKeepsExceptions, "CheckContext", [&] {
    return descriptor.CheckContext(bench.plugin().handle(), &header, &verdict, reinterpret_cast<char*>(reason.data()),
                                   kRoom);
  });
  if (failure) EndWith(bench.host(), Rule::kCheckContextWorks, Describe(failure));
  Demand(bench.host(), verdict <= EP_CONTEXT_UNSUPPORTED, Rule::kCheckContextWorks,
         "CheckContext gave verdict " + std::to_string(verdict));
  Demand(bench.host(), reason.SurroundingsAreUntouched(), Rule::kReasonFitsTheRoom,
         "CheckContext wrote around the room for its reason");
  const void* zero = std::memchr(reason.data(), 0, kRoom);
  Demand(bench.host(), zero != nullptr && IsOneLine(reinterpret_cast<const char*>(reason.data())),
         Rule::kReasonFitsTheRoom, "CheckContext's reason is not zero-terminated, or no line that can be printed");
  return verdict;
}

void CheckVerdicts(Journal& journal, const Target& target) {
  static constexpr std::initializer_list<Rule> kRules = {Rule::kCheckContextKeepsExceptions, Rule::kCheckContextWorks,
                                                         Rule::kOwnContextFits, Rule::kForeignContextIsNotMine,
                                                         Rule::kReasonFitsTheRoom};
  Bench bench(journal, target);
  if (bench.plugin().descriptor().CheckContext == nullptr) {
    NotApplicable(journal, kRules, "the plugin has no CheckContext");
    return bench.Finish();
  }
  const std::vector<Probe> claimed = ClaimedForContexts(bench, kRules);
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  const SavedContext saved = CompileAndSave(bench, work, false);
  Demand(bench.host(), !saved.payloads.empty() && !saved.nodes.empty(), Rule::kPrimariesHavePayloads,
         "no payload was written");
  for (const bool with_blob : {true, false}) {
    const EpContextVerdict own = Judge(bench, saved, saved.nodes[0].source, with_blob);
    Demand(bench.host(), own != EP_CONTEXT_UNSUPPORTED, Rule::kOwnContextFits,
           "CheckContext calls what this plugin has just written unsupported");
    const EpContextVerdict foreign = Judge(bench, saved, "conformance_no_such_source", with_blob);
    Demand(bench.host(), foreign == EP_CONTEXT_NOT_APPLICABLE, Rule::kForeignContextIsNotMine,
           "CheckContext gave verdict " + std::to_string(foreign) + " to a source that no plugin has");
  }
  PassAll(journal, kRules);
  bench.Finish();
}

constexpr Check kContextChecks[] = {
    {"contexts", CheckRoundTrip},
    {"nodes in any order", CheckOrder},
    {"a node without a name", CheckNodeWithoutName},
    {"truncated payloads", CheckTruncation},
    {"altered payloads", CheckAlteredBytes},
    {"verdicts", CheckVerdicts},
};

}  // namespace

std::span<const Check> ContextChecks() { return kContextChecks; }

}  // namespace epiphyte::conformance
