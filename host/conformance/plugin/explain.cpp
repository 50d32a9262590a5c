// Session::Explain, and the sink that it passes to the plugin.
#include <algorithm>

#include "host/conformance/plugin/lent_partitions.h"
#include "host/conformance/plugin/session.h"

namespace epiphyte::conformance {
namespace {

struct Notes {
  const std::vector<std::shared_ptr<DebugGraph>>& graphs;
};

void EP_CALL NoteNode(EpNotes* notes, const EpNode* node, const char* text) {
  const Notes* mine =
      Live<EpNotes, Notes>().Require(notes, "NoteNode", Rule::kNotesEndWithTheCall, Rule::kNotesEndWithTheCall);
  if (mine == nullptr) return;
  DebugHost& host = DebugHost::Current();
  const bool is_theirs = std::any_of(mine->graphs.begin(), mine->graphs.end(),
                                     [node](const auto& graph) { return graph->IndexOf(node) >= 0; });
  if (!is_theirs) host.Violate(Rule::kNotesAreOnTheirNodes, "a note on a node of none of the partitions");
  if (!IsUtf8(text)) host.Violate(Rule::kReasonsAreText, "the text of a note is null or not UTF-8");
}

}  // namespace

void Session::Explain(const EpExplainApi& table, const std::vector<GraphSpec>& partitions) {
  LentPartitions lent(partitions, partition_names_.size(), names_);
  Notes notes{lent.graphs()};
  constexpr Rule kGone = Rule::kNotesEndWithTheCall;
  Arena arena(1 << 10, {"a note sink", kGone, kGone, kGone});
  auto* sink = arena.New<EpNoteSink>();
  EpNotes* handle = Live<EpNotes, Notes>().Open(&notes);
  *sink = {sizeof(EpNoteSink), 0, handle, NoteNode};
  arena.Lend();
  CallPlugin(host_, Rule::kExplainKeepsExceptions, "Explain",
             [&] { return table.Explain(provider_, lent.infos(), partitions.size(), sink); });
  host_.journal().Pass(Rule::kExplainKeepsExceptions);
  Live<EpNotes, Notes>().Close(handle);
  lent.End();
}

}  // namespace epiphyte::conformance
