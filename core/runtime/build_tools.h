// BuildTools: what every stage of making a session uses, in all attempts. A stage is a function: it takes these tools
// and the results of earlier stages, and returns its own result.
//
//   const BuildTools tools{environment, config, pool, profiler, progress, chosen_providers, schemas};
//   InlineUnclaimedFunctions(tools, providers, findings, &model, &history);
#pragma once

#include <memory>
#include <unordered_map>

#include "core/abi/provider.h"
#include "core/base/thread_pool.h"
#include "core/graph/graph.h"
#include "core/runtime/environment.h"
#include "core/runtime/profiler.h"
#include "core/runtime/provider_list.h"
#include "core/runtime/session_config.h"
#include "core/runtime/session_progress.h"
#include "core/runtime/session_schemas.h"

namespace epiphyte::core {

struct BuildTools {
  Environment& environment;
  const SessionConfig& config;
  ThreadPool* pool;
  Profiler* profiler;  // null: nothing is recorded
  ProgressReporter& progress;
  const ChosenProviders& chosen_providers;
  const SessionSchemas& schemas;
};

// Kernels of a model's partitions and EPContext nodes.
using KernelsOfNodes = std::unordered_map<const Node*, std::shared_ptr<Kernel>>;

}  // namespace epiphyte::core
