// Session: one model, ready to run.
//
//   Environment environment(CatalogOptions{});
//   Session session(environment, "model.onnx", options);
//   std::vector<ValuePtr> outputs = session.Run({{"x", x}}, {});
//
// Steps of its creation: read, transform, partition, compile or load contexts, plan. With ep.context_enable=1 the
// context model is written before the constructor returns. Run is thread-safe.
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
#include "core/runtime/session_options.h"
#include "core/runtime/session_parts.h"

namespace epiphyte::core {

// Objects shared by all attempts to make one session.
struct SessionTools {
  explicit SessionTools(const SessionConfig& config);

  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<Profiler> profiler;  // null: nothing is recorded
};

// Settings of one run.
struct RunSettings {
  using ProviderOptions = std::map<std::string, std::map<std::string, std::string>>;

  std::stop_token stop;  // requests an early end
  std::string_view tag;  // appears in the run's log lines and in the trace; null-terminated; "": none
  const ProviderOptions* provider_options = nullptr;  // key: provider; null: none
  const RunBindings* bindings = nullptr;              // null: none
};

class Session {
 public:
  Session(Environment& environment, const std::filesystem::path& model, const SessionConfig& config);
  // `bytes` need to live only until the constructor returns.
  Session(Environment& environment, const void* bytes, size_t size, const SessionConfig& config);
  // Doesn't use the context cache: OpenSession in core/cache does.
  Session(Environment& environment, const ModelSource& source, const SessionConfig& config, SessionTools tools);
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;

  const std::vector<ValueSpec>& inputs() const;  // inputs that aren't initializers
  // Initializers that are inputs of the model, too. A run may give them, by name, to replace their values.
  const std::vector<ValueSpec>& overridable_initializers() const;
  const std::vector<ValueSpec>& outputs() const;
  const Placement& placement() const;
  bool has_context() const;  // whether something was loaded from an EPContext node
  // Memories of its providers' devices, in the providers' order; each device's main one first.
  const std::vector<SessionMemory>& memories() const;
  // Null unless a context model was written: in a share group only the last session has one.
  const ContextOutput* context_output() const;
  std::optional<ContextOutput> TakeContextOutput();
  // Why the cache gets no context model although the session is ready; "" when it does.
  const std::string& context_failure() const;

  // Runs the model. `inputs` are in the order of inputs(); null for an absent optional one. Returns all outputs, in
  // host memory unless `settings.bindings` says otherwise. The caller may write to them: see run_outputs.h.
  //
  // Errors:
  // - INVALID_ARGUMENT: number, type or shape of an input does not fit, or a value is in the memory of a device that
  //   the session doesn't use.
  // - FAIL: a file that the session reads from was truncated meanwhile, or the run would need more memory than it may
  //   use (session.max_value_bytes, session.max_run_bytes).
  // - CANCELED: a stop was requested.
  // - DEVICE_RESET: a device was lost; only a new session can help.
  std::vector<ValuePtr> Run(std::span<const ValuePtr> inputs, const RunSettings& settings = {});
  // Takes inputs by name, overridable initializers too. Empty `output_names`: all outputs.
  std::vector<ValuePtr> Run(std::span<const std::pair<std::string, ValuePtr>> inputs,
                            std::span<const std::string> output_names, const RunSettings& settings = {});

  // Throws FAIL in a child that was forked since the session was made, as Run does.
  void RequireOwnProcess() const;

  // Chrome trace so far, as JSON; "" when profiling is off.
  std::string ProfileJson() const;
  // Writes the trace to SessionOptions::profile_path now, and not again at the end. Throws FAIL when that is
  // impossible.
  void SaveProfile();
  // Drops the trace: nothing is written at the end.
  void DiscardProfile();

 private:
  struct Impl;
  // `inputs`: values for inputs() and overridable_initializers(), in the model's order.
  std::vector<ValuePtr> RunAll(std::span<const ValuePtr> inputs, const RunSettings& settings);

  std::unique_ptr<Impl> impl_;
};

// Partitions a model and returns where each node would run, without compiling.
Placement PlaceModel(Environment& environment, const std::filesystem::path& model, const SessionConfig& config);

}  // namespace epiphyte::core
