// SessionConfig: what a session is asked to do, parsed from its options once. Whatever makes a session reads this; the
// texts of the options end here.
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
  // Parses; the values have been checked when they were set. Implicit: an options object is a way to write one of
  // these.
  SessionConfig(const SessionOptions& options);  // NOLINT(google-explicit-constructor)

  // ep.context_*: writing context models, and reading them.
  struct Context {
    bool enable = false;
    bool embed = false;
    bool overwrite = false;           // epiphyte.context_overwrite
    // epiphyte.context_if_empty: when no provider has anything to compile.
    enum class IfEmpty { kSkip, kError, kPlain } if_empty = IfEmpty::kSkip;
    std::filesystem::path file_path;  // of the model to write; in memory: what its binaries are beside
    std::string external_initializers;
    std::string node_name_prefix;
    bool verify_digests = true;      // ep.context_verify
    bool refuse_suboptimal = false;  // session.fail_on_suboptimal_compiled_model
    // Of the cache: the fallback's partitions become contexts too, and a context model that can't be written is
    // reported (Session::context_failure) instead of thrown.
    bool for_cache = false;
  } context;

  // ep.share_ep_contexts and its like.
  struct Share {
    bool enable = false;
    bool stop = false;
    std::string group;
  } share;

  // session.context_cache_*.
  struct Cache {
    std::filesystem::path folder;  // empty: none
    uint64_t max_bytes = 0;        // 0: no limit
  } cache;

  int optimization_level = 2;
  std::vector<std::string> disabled_optimizers;
  std::filesystem::path external_data_folder;  // empty: the model's
  bool constant_initializers = false;
  bool disable_fallback = false;
  bool disable_compile = false;
  // 0: what the machine has room for.
  uint64_t max_nodes = 0;
  uint64_t max_device_bytes = 0;  // 0: what the devices have
  uint64_t max_run_bytes = 0;
  uint64_t max_value_bytes = 0;
  // `memory`: of the machine.
  MemoryLimits LimitsOfRuns(uint64_t memory) const;

  // Keys and values of the options that change what is compiled: for whoever has to tell two compiled models apart.
  std::vector<std::pair<std::string, std::string>> compiling_options;
};

}  // namespace epiphyte::core
