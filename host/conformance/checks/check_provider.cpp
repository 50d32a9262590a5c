// Checks of providers: claims and compilation.
#include "host/conformance/checks/checks.h"
#include "host/conformance/debug_host/debug_onnx.h"

namespace epiphyte::conformance {

Work::Work(const std::vector<Probe>& claimed) {
  // If there is only one probe, it is compiled twice.
  probes = {claimed.front(), claimed.back()};
  for (size_t i = 0; i < probes.size(); ++i) partitions.push_back(probes[i].As("conformance_" + std::to_string(i)));
}

void Work::Run(DebugHost& host, Session& session, Rule rule) const {
  for (size_t i = 0; i < probes.size(); ++i) {
    const std::string difference = Difference(probes[i], session.Run(i, probes[i].inputs));
    Demand(host, difference.empty(), rule, difference);
  }
}

namespace {

void CheckProvider(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  { Session session(bench.plugin(), {}); }
  {
    Session first(bench.plugin(), {});
    const DebugHost::Failure failure = Session::TryCreate(bench.plugin(), {});
    if (failure) EndWith(bench.host(), Rule::kProvidersSideBySide, Describe(failure));
  }
  PassAll(journal, {Rule::kProvidersSideBySide, Rule::kConfigIsNotKept, Rule::kPoolEndsWithTheProvider});
  bench.Finish();
}

void CheckOptions(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const DebugHost::Failure failure = Session::TryCreate(bench.plugin(), {{"epiphyte_conformance_no_such_option", "1"}});
  Demand(bench.host(), static_cast<bool>(failure), Rule::kUnknownOptionIsRefused,
         "the option 'epiphyte_conformance_no_such_option' was accepted");
  Demand(bench.host(), failure.code == EP_STATUS_INVALID_ARGUMENT, Rule::kUnknownOptionIsRefused,
         Describe(failure) + "; INVALID_ARGUMENT is expected");
  journal.Pass(Rule::kUnknownOptionIsRefused);
  bench.Finish();
}

// Asks for every graph, in several orders.
void CheckClaims(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  Session session(bench.plugin(), {});
  const std::vector<Probe> probes = AllProbes();
  std::vector<Claims> first;
  for (const Probe& probe : probes) first.push_back(session.Capability(probe.graph));
  for (size_t i = probes.size(); i-- > 0;) {
    Demand(bench.host(), session.Capability(probes[i].graph) == first[i], Rule::kCapabilityHasNoSideEffect,
           "GetCapability answered differently about '" + probes[i].name + "' the second time");
  }
  // Queries to one session must not affect another.
  Session another(bench.plugin(), {});
  for (size_t i = 0; i < probes.size(); ++i) {
    Demand(bench.host(), another.Capability(probes[i].graph) == first[i], Rule::kCapabilityHasNoSideEffect,
           "GetCapability answered differently about '" + probes[i].name + "' in another session");
  }
  PassAll(journal, {Rule::kCapabilityHasNoSideEffect, Rule::kSinkEndsWithTheCall, Rule::kGraphEndsWithTheCall});
  another.Close();
  session.Close();
  bench.Finish();
}

void CheckUnknownOperators(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  Session session(bench.plugin(), {});
  for (const char* domain : {"", "com.example.conformance"}) {
    for (Probe& probe : AllProbes()) {
      GraphSpec graph = probe.graph;
      for (NodeSpec& node : graph.nodes) {
        if (*domain == '\0') node.op_type = "NoSuch" + node.op_type;
        node.domain = domain;
      }
      const Claims claims = session.Capability(graph);
      Demand(bench.host(), claims.nodes == 0, Rule::kUnknownOperatorsAreLeft,
             "'" + graph.nodes[0].op_type + "' of domain '" + domain + "' was claimed");
    }
  }
  journal.Pass(Rule::kUnknownOperatorsAreLeft);
  session.Close();
  bench.Finish();
}

void CheckUnknownTypes(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  Session session(bench.plugin(), {});
  for (const EpElementType type : {9999, -1}) {
    for (const Probe& probe : AllProbes()) {
      const Claims claims = session.Capability(probe.WithType(type));
      Demand(bench.host(), claims.nodes == 0, Rule::kUnknownTypesAreLeft,
             "'" + probe.name + "' was claimed with element type " + std::to_string(type));
    }
  }
  journal.Pass(Rule::kUnknownTypesAreLeft);
  session.Close();
  bench.Finish();
}

void CheckPlacedNodes(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed({Rule::kLeavesPlacedNodes});
  Session session(bench.plugin(), {});
  for (const Probe& probe : claimed) {
    for (size_t i = 0; i < probe.graph.nodes.size(); ++i) {
      GraphSpec graph = probe.graph;
      graph.nodes[i].placed = true;
      session.Capability(graph);
    }
  }
  if (!claimed.empty()) journal.Pass(Rule::kLeavesPlacedNodes);
  session.Close();
  bench.Finish();
}

// A node of an unknown operator is between two nodes that the plugin may want in one group.
void CheckGroups(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  Session session(bench.plugin(), {});
  for (const Probe& probe : AllProbes()) {
    if (probe.graph.nodes.size() != 2) continue;
    GraphSpec graph = probe.graph;
    const int between = graph.AddValue("between", EP_TYPE_FLOAT, graph.values[0].dims);
    NodeSpec unknown = graph.nodes[1];
    unknown.op_type = "NoSuchOperator";
    unknown.outputs = {between};
    graph.nodes[1].inputs = {between};
    graph.nodes.insert(graph.nodes.begin() + 1, unknown);
    session.Capability(graph);
  }
  journal.Pass(Rule::kGroupsAreConvex);
  session.Close();
  bench.Finish();
}

constexpr std::initializer_list<Rule> kOfOnnx = {Rule::kOnnxOptionsAreWhole, Rule::kWeightsLocationIsAName,
                                                 Rule::kWritesKeepExceptions, Rule::kWrittenBytesEnd};

void CheckCompile(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed(
      {Rule::kCompileKeepsExceptions, Rule::kCompileWorks, Rule::kOneKernelForEachPartition, Rule::kEachKernelOnce,
       Rule::kKernelsHaveOneOwner, Rule::kPartitionEndsWithTheCall, Rule::kTaskEndsWithTheCall,
       Rule::kConstantsAreReadOnly, Rule::kProgressIsAFraction, Rule::kDeclinesItsPartitions, Rule::kRetainsConstants,
       Rule::kConstantsReleasedOnce, Rule::kDroppedConstantsAreLeft, Rule::kDescribeKernelWorks});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session first(bench.plugin(), {});
  first.Compile(work.partitions);
  work.Run(bench.host(), first, Rule::kNumbersAreRight);
  // The second session exists at the same time as the first, and the third after both.
  Session second(bench.plugin(), {});
  second.Compile(work.partitions);
  work.Run(bench.host(), second, Rule::kNumbersAreRight);
  first.Close();
  Session third(bench.plugin(), {});
  third.Compile(work.partitions);
  work.Run(bench.host(), third, Rule::kNumbersAreRight);
  PassAll(journal, {Rule::kPartitionEndsWithTheCall, Rule::kNumbersAreRight});
  if (GraphsWereWritten()) {
    PassAll(journal, kOfOnnx);
  } else {
    NotApplicable(journal, kOfOnnx, "the plugin doesn't use ep.onnx/1");
  }
  third.Close();
  second.Close();
  bench.Finish();
}

void CheckCancel(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const std::vector<Probe> claimed = bench.Claimed({Rule::kCancelIsHeeded});
  if (claimed.empty()) return bench.Finish();
  const Work work(claimed);
  Session session(bench.plugin(), {});
  const Session::Answer answer = session.CompileAndCancel(work.partitions);
  if (!answer.was_told) {
    journal.NotApplicable(Rule::kCancelIsHeeded,
                          "Compile neither reports progress nor asks whether the user has cancelled");
  } else {
    Demand(bench.host(), answer.failure.code == EP_STATUS_MODEL_LOAD_CANCELED, Rule::kCancelIsHeeded,
           answer.failure ? Describe(answer.failure) : "Compile learned that the user has cancelled, and succeeded");
    journal.Pass(Rule::kCancelIsHeeded);
  }
  session.Close();
  bench.Finish();
}

constexpr Check kProviderChecks[] = {
    {"provider", CheckProvider},
    {"options", CheckOptions},
    {"claims", CheckClaims},
    {"unknown operators", CheckUnknownOperators},
    {"unknown types", CheckUnknownTypes},
    {"placed nodes", CheckPlacedNodes},
    {"groups", CheckGroups},
    {"compile", CheckCompile},
    {"cancelling Compile", CheckCancel},
};

}  // namespace

std::span<const Check> ProviderChecks() { return kProviderChecks; }

}  // namespace epiphyte::conformance
