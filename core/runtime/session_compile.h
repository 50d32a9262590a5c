// The compile stage of making a session: lets one provider compile its partitions.
//
//   RequireMayCompile(tools.config, slot, partitions.size(), /*is_context_model=*/false);
//   CompileResult compiled = CompilePartitions(tools, slot, partitions);
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/partition/partitioner.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"

namespace epiphyte::core {

// Throws MODEL_REQUIRES_COMPILATION when the provider would compile its partitions although
// session.disable_model_compile is 1.
void RequireMayCompile(const SessionConfig& config, const ProviderSlot& slot, size_t partition_count,
                       bool is_context_model);

struct CompileResult {
  KernelsOfNodes kernels;
  std::vector<DeclinedPartition> declined;  // partitions that the provider gave back
  std::optional<OptionalProviderError>
      error;  // set: there are no kernels, and the session goes on without the provider
};
// Throws the error of a listed provider or of the fallback.
CompileResult CompilePartitions(const BuildTools& tools, const ProviderSlot& slot,
                                const std::vector<const Partition*>& partitions);

}  // namespace epiphyte::core
