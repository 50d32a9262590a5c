#include "host/conformance/plugin/lent_partitions.h"

namespace epiphyte::conformance {

LentPartitions::LentPartitions(const std::vector<GraphSpec>& specs, size_t first_index, Arena& names)
    : arena_(16 << 10, {"a partition's info", Rule::kPartitionEndsWithTheCall, Rule::kPartitionEndsWithTheCall,
                        Rule::kPartitionEndsWithTheCall}),
      infos_(arena_.New<const EpPartitionInfo*>(specs.size())) {
  for (size_t i = 0; i < specs.size(); ++i) {
    graphs_.push_back(std::make_shared<DebugGraph>(specs[i], Rule::kPartitionEndsWithTheCall));
    auto* info = arena_.New<EpPartitionInfo>();
    info->struct_size = sizeof(EpPartitionInfo);
    info->index = static_cast<uint32_t>(first_index + i);
    info->name = names.Copy(specs[i].name);
    info->graph = graphs_.back()->handle();
    infos_[i] = info;
  }
  arena_.Lend();
}

void LentPartitions::End() {
  for (const auto& graph : graphs_) graph->End();
}

}  // namespace epiphyte::conformance
