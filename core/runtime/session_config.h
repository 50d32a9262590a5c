// SessionConfig: a session's options as values. All code that makes a session reads this; texts of options are not used
// beyond session_options.h.
//
//   void Make(const SessionConfig& config) {
//     if (config.context.enable) …
//   }
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/context/context_store.h"
#include "core/graph/memory_budget.h"
#include "core/runtime/session_progress.h"
#include "core/transform/application_transforms.h"

namespace epiphyte::core {

struct ProviderChoice {
  std::string name;
  std::map<std::string, std::string> options;
};

// Settings that an application gives as objects instead of text.
struct SessionSettings {
  // Providers in order of priority. Empty: every enabled plugin in the catalog's order.
  std::vector<ProviderChoice> providers;
  // Options by provider name, listed above or not; a listed provider's own options come first. INVALID_ARGUMENT for a
  // name that the session doesn't use.
  std::map<std::string, std::map<std::string, std::string>> provider_options;
  // 0: one for each physical core that this process may use.
  uint32_t thread_count = 0;
  // Path of the Chrome trace that is written when the session ends.
  std::string profile_path;
  // Store of context payloads and external initializers; null: they are in files.
  std::shared_ptr<ContextStore> context_store;
  // Transforms that run in this order, after the core's own.
  ApplicationTransforms transforms;
  // Called while the session is created, from the first moment on. Calls come one at a time, on the thread that creates
  // the session and on those that providers report from. Returning true cancels: creating the session then fails with
  // MODEL_LOAD_CANCELED.
  SessionProgressFunction progress;
};

// Values of the options that have a key. The defaults are those of the table in session_options.cpp.
struct SessionValues {
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
    // Set for compiling into the cache; no key sets it. The fallback's partitions become contexts too, and a context
    // model that can't be written is reported (Session::context_failure) instead of thrown.
    bool for_cache = false;

    bool operator==(const Context&) const = default;
  } context;

  // ep.share_ep_contexts and related options.
  struct Share {
    bool enable = false;
    bool stop = false;
    std::string group;

    bool operator==(const Share&) const = default;
  } share;

  // session.context_cache_*.
  struct Cache {
    std::filesystem::path folder;  // empty: no cache
    uint64_t max_bytes = 0;        // 0: no limit

    bool operator==(const Cache&) const = default;
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

  bool operator==(const SessionValues&) const = default;
};

// Made by SessionOptions, which also is one; see there.
struct SessionConfig : SessionSettings, SessionValues {
  // Keys and texts of the options that change the compiled result, for telling compiled models apart. Sorted by key.
  std::vector<std::pair<std::string, std::string>> compiling_options;

 protected:
  SessionConfig() = default;  // SessionOptions fills compiling_options
};

}  // namespace epiphyte::core
