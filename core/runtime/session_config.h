// SessionConfig: a session's options, parsed once. All code that makes a session reads this; option texts are not used
// beyond it.
//
//   const SessionConfig config(options);
//   if (config.context.enable) …
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/memory_budget.h"
#include "core/runtime/session_options.h"

namespace epiphyte::core {

struct SessionConfig : SessionSettings {
  SessionConfig() : SessionConfig(SessionOptions()) {}
  // Parses the options; the values were checked when they were set. Implicit, because an options object is one way to
  // write a config.
  SessionConfig(const SessionOptions& options);  // NOLINT(google-explicit-constructor)

  // Options ep.context_*, for writing and reading context models.
  struct Context {
    bool enable = false;
    bool embed = false;
    bool overwrite = false;  // epiphyte.context_overwrite
    // epiphyte.context_if_empty: the reaction when no provider has anything to compile.
    enum class IfEmpty { kSkip, kError, kPlain } if_empty = IfEmpty::kSkip;
    // Path of the model to write; for a model in memory, the path that its binaries are beside.
    std::filesystem::path file_path;
    std::string external_initializers;
    std::string node_name_prefix;
    bool verify_digests = true;      // ep.context_verify
    bool refuse_suboptimal = false;  // session.fail_on_suboptimal_compiled_model
    // Set for compiling into the cache. The fallback's partitions become contexts too, and a context model that can't
    // be written is reported (Session::context_failure) instead of thrown.
    bool for_cache = false;
  } context;

  // ep.share_ep_contexts and related options.
  struct Share {
    bool enable = false;
    bool stop = false;
    std::string group;
  } share;

  // session.context_cache_*.
  struct Cache {
    std::filesystem::path folder;  // empty: no cache
    uint64_t max_bytes = 0;        // 0: no limit
  } cache;

  int optimization_level = 2;
  std::vector<std::string> disabled_optimizers;
  std::filesystem::path external_data_folder;  // empty: the model's folder
  bool constant_initializers = false;
  bool disable_fallback = false;
  bool disable_compile = false;
  // 0: as many as the machine has memory for.
  uint64_t max_nodes = 0;
  uint64_t max_device_bytes = 0;  // 0: all memory of the devices
  uint64_t max_run_bytes = 0;
  uint64_t max_value_bytes = 0;
  // `memory`: memory of the machine in bytes.
  MemoryLimits LimitsOfRuns(uint64_t memory) const;

  // Keys and values of the options that change the compiled result, for telling compiled models apart.
  std::vector<std::pair<std::string, std::string>> compiling_options;
};

}  // namespace epiphyte::core
