// Checks of a plugin's data for reports: spans of the trace, and notes on its nodes.
#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

constexpr std::initializer_list<Rule> kOfSpans = {Rule::kSpansAreWhole, Rule::kSpansHaveNames, Rule::kSpansHaveALength,
                                                  Rule::kSpansAreOfTheHostsClock, Rule::kProfileEndsWithTheProvider};
constexpr std::initializer_list<Rule> kOfNotes = {Rule::kExplainKeepsExceptions, Rule::kNotesAreOnTheirNodes,
                                                  Rule::kNotesEndWithTheCall, Rule::kExplainLeavesNothing};

void CheckSpans(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed(kOfSpans);
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  uint64_t spans = 0;
  // Two sessions run, because no object of the first is valid in the second.
  for (int round = 0; round < 2; ++round) {
    Session::Setup setup;
    setup.profiled = true;
    Session session(bench.plugin(), setup);
    session.Compile(work.partitions);
    work.Run(bench.host(), session, Rule::kNumbersAreRight);
    work.Run(bench.host(), session, Rule::kNumbersAreRight);
    spans += session.span_count();
    session.Close();
  }
  if (spans == 0) {
    NotApplicable(journal, kOfSpans, "the plugin adds no spans to the trace");
  } else {
    PassAll(journal, kOfSpans);
  }
  bench.Finish();
}

void CheckNotes(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const auto* table = bench.Extension<EpExplainApi>(EP_EXPLAIN_EXTENSION);
  if (table == nullptr) {
    NotApplicable(journal, {Rule::kExplainTableIsWhole}, "the plugin doesn't have " EP_EXPLAIN_EXTENSION);
    NotApplicable(journal, kOfNotes, "the plugin doesn't have " EP_EXPLAIN_EXTENSION);
    return bench.Finish();
  }
  Demand(bench.host(), EP_HAS_FIELD(table, EpExplainApi, Explain) && table->reserved == 0 && table->Explain != nullptr,
         Rule::kExplainTableIsWhole, "the table is too short, has something in `reserved`, or Explain is null");
  journal.Pass(Rule::kExplainTableIsWhole);
  const std::vector<Probe> claimed = bench.Claimed(kOfNotes);
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session session(bench.plugin(), {});
  std::vector<Claims> before;
  for (const Probe& probe : work.probes) before.push_back(session.Capability(probe.graph));
  for (int round = 0; round < 2; ++round) session.Explain(*table, work.partitions);
  for (size_t i = 0; i < work.probes.size(); ++i) {
    Demand(bench.host(), session.Capability(work.probes[i].graph) == before[i], Rule::kExplainLeavesNothing,
           "GetCapability answers differently about '" + work.probes[i].name + "' after Explain");
  }
  session.Compile(work.partitions);
  work.Run(bench.host(), session, Rule::kExplainLeavesNothing);
  PassAll(journal, kOfNotes);
  session.Close();
  bench.Finish();
}

constexpr Check kReportChecks[] = {{"spans of the trace", CheckSpans}, {"notes on nodes", CheckNotes}};

}  // namespace

std::span<const Check> ReportChecks() { return kReportChecks; }

}  // namespace epiphyte::conformance
