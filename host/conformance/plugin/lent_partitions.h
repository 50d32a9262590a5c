// LentPartitions: partitions that are lent to a plugin for one call and unmapped afterwards.
//
//   LentPartitions lent(specs, 0, names);
//   provider->Compile(provider, lent.infos(), specs.size(), task, kernels);
//   lent.End();
#pragma once

#include <memory>
#include <vector>

#include "epiphyte/ep_provider.h"
#include "host/conformance/debug_host/debug_graph.h"

namespace epiphyte::conformance {

class LentPartitions {
 public:
  // `first_index` is the first partition's index in the provider. `names` is lent as long as the provider lives.
  LentPartitions(const std::vector<GraphSpec>& specs, size_t first_index, Arena& names);

  const EpPartitionInfo* const* infos() const { return infos_; }
  const std::vector<std::shared_ptr<DebugGraph>>& graphs() const { return graphs_; }
  void End();

 private:
  std::vector<std::shared_ptr<DebugGraph>> graphs_;
  Arena arena_;
  const EpPartitionInfo** infos_;
};

}  // namespace epiphyte::conformance
