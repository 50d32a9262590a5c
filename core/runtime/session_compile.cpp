#include "core/runtime/session_compile.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/runtime/provider_calls.h"

namespace epiphyte::core {

void RequireMayCompile(const SessionConfig& config, const ProviderSlot& slot, size_t partition_count,
                       bool is_context_model) {
  // The fallback runs the plain nodes of a context model; if listed, it compiles a source model as the others do.
  const bool compiles = !slot.fallback || (slot.listed && !is_context_model);
  if (!compiles || !config.disable_compile) return;
  Fail(StatusCode::kModelRequiresCompilation,
       "provider '{}' would have to compile {} partitions, and session.disable_model_compile is 1; {}",
       slot.plugin->name, partition_count,
       is_context_model ? "no other provider of the session runs these plain nodes; set the option to 0, or add a "
                          "provider that runs them without compiling"
                        : "load a context model instead");
}

CompileResult CompilePartitions(const BuildTools& tools, const ProviderSlot& slot,
                                const std::vector<const Partition*>& partitions) {
  Profiler::Span span(tools.profiler, "session", "compile");
  tools.progress.Enter(SessionPhase::kCompile, slot.plugin->name);
  CompileResult result;
  CompiledPartitions compiled;
  result.error = CallProvider(tools, slot, [&] { compiled = slot.provider->Compile(partitions); });
  if (result.error) return result;
  for (size_t k = 0; k < partitions.size(); ++k) {
    if (compiled.kernels[k] != nullptr) {
      result.kernels[partitions[k]->node] = std::move(compiled.kernels[k]);
    } else {
      result.declined.push_back({partitions[k]->node, std::move(compiled.declined[k])});
    }
  }
  tools.progress.ThrowIfCancelled();  // a plugin need not react to a cancellation
  for (const DeclinedPartition& one : result.declined) {
    Log(LogLevel::kInfo, "placement", "provider '{}' declined partition '{}' while compiling: {}", slot.plugin->name,
        one.node->name(), one.reason);
  }
  return result;
}

}  // namespace epiphyte::core
