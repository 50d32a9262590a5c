// Provider::Explain: accepts notes on nodes that were shown to the plugin, and on no others.
#include <new>
#include <unordered_map>

#include "core/abi/handles.h"
#include "core/abi/plugin_calls.h"
#include "core/abi/provider.h"
#include "epiphyte/draft/ep_explain.h"

struct EpNotes {
  static constexpr size_t kMostOfNode = 8;
  static constexpr size_t kMostBytes = 512;

  std::unordered_map<const EpNode*, size_t> taken;  // number of notes taken so far for each node that was shown
  std::vector<epiphyte::core::NodeNote> notes;
};

namespace epiphyte::core {
namespace {

void EP_CALL NoteNode(EpNotes* notes, const EpNode* node, const char* text) {
  if (notes == nullptr) return;
  const auto shown = notes->taken.find(node);
  if (shown == notes->taken.end() || shown->second == EpNotes::kMostOfNode) return;
  try {
    std::string clean = CleanText(text, EpNotes::kMostBytes);
    if (clean.empty()) return;
    notes->notes.push_back({FromAbi(node), std::move(clean)});
    ++shown->second;
  } catch (const std::bad_alloc&) {
    Log(LogLevel::kWarning, "abi", "a note for the placement report was dropped: out of memory");
  }
}

// Returns null when the plugin doesn't have the extension.
const EpExplainApi* FindTable(const LoadedPlugin& plugin) {
  const EpPluginDescriptor& descriptor = *plugin.descriptor;
  if (descriptor.GetExtension == nullptr) return nullptr;
  const EpExplainApi* table = nullptr;
  CallPlugin(plugin, "GetExtension", [&]() -> EpStatus* {
    table = static_cast<const EpExplainApi*>(descriptor.GetExtension(plugin.plugin, EP_EXPLAIN_EXTENSION));
    return nullptr;
  });
  if (table == nullptr) return nullptr;
  if (!EP_HAS_FIELD(table, EpExplainApi, Explain) || table->reserved != 0 || table->Explain == nullptr) {
    Fail(StatusCode::kEpFail,
         "provider '{}': the table of " EP_EXPLAIN_EXTENSION
         " has struct_size {} and reserved {}, at least {} and 0 "
         "expected, and a function Explain",
         plugin.name, table->struct_size, table->reserved, sizeof(EpExplainApi));
  }
  return table;
}

}  // namespace

std::vector<NodeNote> Provider::Explain(std::span<const Partition* const> partitions) {
  const EpExplainApi* const table = FindTable(plugin_);
  if (table == nullptr) return {};
  EpNotes notes;
  std::vector<EpPartitionInfo> infos(partitions.size());
  std::vector<const EpPartitionInfo*> pointers;
  for (size_t i = 0; i < partitions.size(); ++i) {
    infos[i].struct_size = sizeof(EpPartitionInfo);
    infos[i].index = static_cast<uint32_t>(i);
    infos[i].name = partitions[i]->name.c_str();
    infos[i].graph = ToAbi(partitions[i]->graph.get());
    pointers.push_back(&infos[i]);
    for (const std::unique_ptr<Node>& node : partitions[i]->graph->nodes())
      if (node != nullptr) notes.taken.emplace(ToAbi(node.get()), 0);
  }
  const EpNoteSink sink = {sizeof(EpNoteSink), 0, &notes, NoteNode};
  CallPlugin(plugin_, "Explain", [&] { return table->Explain(provider_, pointers.data(), pointers.size(), &sink); });
  return std::move(notes.notes);
}

}  // namespace epiphyte::core
