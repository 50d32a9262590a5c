// Session: one model, ready to run.
//
//   Environment environment(CatalogOptions{});
//   Session session(environment, "model.onnx", options);
//   std::vector<ValuePtr> outputs = session.Run({{"x", x}}, {});
//
// Creating one: read, transform, partition, compile or load contexts, plan. With ep.context_enable=1 the context model
// is written before the constructor returns. Run is thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/graph/value.h"
#include "core/partition/placement.h"
#include "core/runtime/environment.h"
#include "core/runtime/profiler.h"
#include "core/runtime/run_bindings.h"
#include "core/runtime/session_config.h"
#include "core/runtime/session_memory.h"
#include "core/runtime/session_parts.h"

namespace epiphyte::core {

// What the attempts to make one session share.
struct SessionTools {
  explicit SessionTools(const SessionConfig& config);

  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<Profiler> profiler;  // null: nothing is recorded
};

// One run.
struct RunSettings {
  using ProviderOptions = std::map<std::string, std::map<std::string, std::string>>;

  std::stop_token stop;  // ends it early
  std::string_view tag;  // stands in the lines that it logs and in the trace; with a zero behind it; "": none
  const ProviderOptions* provider_options = nullptr;  // by provider; null: none
  const RunBindings* bindings = nullptr;              // null: none
};

class Session {
 public:
  Session(Environment& environment, const std::filesystem::path& model, const SessionConfig& config);
  // `bytes` need to live only until the constructor returns.
  Session(Environment& environment, const void* bytes, size_t size, const SessionConfig& config);
  // A cache of contexts is none of this floor's: see OpenSession in core/cache.
  Session(Environment& environment, const ModelSource& source, const SessionConfig& config, SessionTools tools);
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;

  const std::vector<ValueSpec>& inputs() const;  // without initializers
  // Initializers that are inputs of the model, too: a run may give them, by name, in place of their own values.
  const std::vector<ValueSpec>& overridable_initializers() const;
  const std::vector<ValueSpec>& outputs() const;
  const Placement& placement() const;
  bool has_context() const;  // something was loaded from an EPContext node
  // Of the devices of its providers, in their order; the main one of each device first.
  const std::vector<SessionMemory>& memories() const;
  // Null unless a context model was written: in a share group only the last session has one.
  const ContextOutput* context_output() const;
  std::optional<ContextOutput> TakeContextOutput();
  // Why the cache gets no context model although the session is ready; "" when it does.
  const std::string& context_failure() const;

  // Inputs in the order of inputs(); null for an absent optional one. Returns all outputs. Throws INVALID_ARGUMENT when
  // number, type or shape of an input does not fit, or a value is in the memory of a device that the session doesn't
  // use; FAIL when a file that the session reads from was cut off meanwhile
  // and when the run would need more memory than it may (session.max_value_bytes, session.max_run_bytes); CANCELED when
  // it was asked to stop; DEVICE_RESET when a device was lost: only a new session can help. Outputs are in host memory
  // where `settings.bindings` doesn't say otherwise. The caller may write to them: see run_outputs.h.
  std::vector<ValuePtr> Run(std::span<const ValuePtr> inputs, const RunSettings& settings = {});
  // By name, overridable initializers too; `output_names` empty: all.
  std::vector<ValuePtr> Run(std::span<const std::pair<std::string, ValuePtr>> inputs,
                            std::span<const std::string> output_names, const RunSettings& settings = {});

  // Throws FAIL in a child that was forked since the session was made, as Run does.
  void RequireOwnProcess() const;

  // Chrome trace of what has been recorded so far, as JSON; "" when profiling is off.
  std::string ProfileJson() const;
  // Writes it to SessionOptions::profile_path now, and not again at the end. Throws FAIL when that is impossible.
  void SaveProfile();
  // Nothing is written at the end.
  void DiscardProfile();

 private:
  struct Impl;
  // `inputs`: those of inputs() and overridable_initializers(), in the model's order.
  std::vector<ValuePtr> RunAll(std::span<const ValuePtr> inputs, const RunSettings& settings);

  std::unique_ptr<Impl> impl_;
};

// Partitions a model and says what would run where, without compiling.
Placement PlaceModel(Environment& environment, const std::filesystem::path& model, const SessionConfig& config);

}  // namespace epiphyte::core
