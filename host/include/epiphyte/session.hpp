// Session: one model, ready to run.
//
//   epiphyte::Session session(environment, "model.onnx");
//   std::vector<epiphyte::Value> outputs = session.Run({{"x", x}});
//   std::future<epiphyte::RunResult> later = session.RunAsync({{"x", x}});   // … later.get().Take()
//
// The constructor reads the model, partitions it, and compiles each partition or loads its context. With the option
// ep.context_enable=1 the context model is written before the constructor returns.
//
// A handle: copies refer to the same session. Run may be called from many threads at once. A forked child process has
// neither the session's threads nor its devices: Run throws FAIL there, and the child must create its own session.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/export.hpp"
#include "epiphyte/memory.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/placement.hpp"
#include "epiphyte/type.hpp"
#include "epiphyte/value.hpp"

namespace epiphyte {

using NamedValue = std::pair<std::string, Value>;

// Files that were written for ep.context_enable=1.
struct ContextFiles {
  std::filesystem::path model;
  std::vector<std::filesystem::path> others;  // binaries and external initializers
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

// Result of an asynchronous run: outputs or an error.
struct RunResult {
  std::vector<Value> outputs;
  std::optional<Error> error;

  // Moves the outputs out. Throws the error if there is one.
  std::vector<Value> Take() {
    if (error) throw *error;
    return std::move(outputs);
  }
};

class EPIPHYTE_API Session {
 public:
  Session(const Environment& environment, const std::filesystem::path& model, const SessionOptions& options = {});
  // Reads a model in memory. `bytes` must live until the constructor returns.
  Session(const Environment& environment, std::span<const std::byte> bytes, const SessionOptions& options = {});

  const std::vector<ValueInfo>& inputs() const;  // without initializers
  const std::vector<ValueInfo>& outputs() const;
  // Initializers that are also inputs of the model (IR version 4 and later). A run by name may override their values,
  // so they are not compiled in as constants. The option session.constant_initializers=1 makes them constants, and this
  // list is then empty.
  const std::vector<ValueInfo>& overridable_initializers() const;
  Placement placement() const;
  // Memories of the devices that the session's providers use, the main memory of each device first. Empty: all values
  // are in host memory.
  std::vector<Memory> memories() const;
  // Returns the provider's memory with that name, or its first memory without a name. Throws NOT_FOUND with a list of
  // the existing memories.
  Memory MemoryOf(std::string_view provider, std::string_view name = {}) const;
  bool has_context() const;                                  // a partition was loaded from an EPContext node
  const std::optional<ContextFiles>& context_files() const;  // nullopt: none were written

  // Takes inputs by name; an omitted input must be optional or an overridable initializer. Returns the outputs that
  // `options` names. The caller may write to outputs: none shares memory with the model or with another output.
  // Exception: an input that is also an output is returned as the same value. Throws INVALID_ARGUMENT when a name, type
  // or shape doesn't fit.
  std::vector<Value> Run(std::span<const NamedValue> inputs, const RunOptions& options = {}) const;
  std::vector<Value> Run(std::initializer_list<NamedValue> inputs, const RunOptions& options = {}) const {
    return Run(std::span<const NamedValue>(inputs.begin(), inputs.size()), options);
  }
  // Takes inputs in the order of inputs().
  std::vector<Value> Run(std::span<const Value> inputs, const RunOptions& options = {}) const;

  // Starts an asynchronous run on a thread of the environment (EnvironmentOptions::max_async_runs). The run holds
  // references to the inputs until it ends; their data must not change before. `done` gets the result on that thread.
  // An exception of `done` is logged and has no other effect. `done` may start other runs and may destroy the last
  // handle of this session. It must not wait for another run: if all threads waited in such callbacks, no run could
  // proceed. Throws INVALID_ARGUMENT without `done`, FAIL when there is no thread for the run; all other errors are in
  // the result.
  //
  // The destructor of a session's last handle waits until all of its runs have ended. Exception: a callback that
  // destroys the last handle doesn't wait for its own run. Stop the runs first (RunOptions::stop) for a short wait.
  void RunAsync(std::span<const NamedValue> inputs, const RunOptions& options,
                std::function<void(RunResult result)> done) const;
  void RunAsync(std::initializer_list<NamedValue> inputs, const RunOptions& options,
                std::function<void(RunResult result)> done) const {
    RunAsync(std::span<const NamedValue>(inputs.begin(), inputs.size()), options, std::move(done));
  }
  std::future<RunResult> RunAsync(std::span<const NamedValue> inputs, const RunOptions& options = {}) const;
  std::future<RunResult> RunAsync(std::initializer_list<NamedValue> inputs, const RunOptions& options = {}) const {
    return RunAsync(std::span<const NamedValue>(inputs.begin(), inputs.size()), options);
  }

  // Chrome trace of the events recorded so far; "" unless SessionOptions::SetProfile was called.
  std::string ProfileJson() const;
  // Writes the trace now instead of at the session's end, where a failure can't be reported. Throws FAIL when the trace
  // can't be written.
  void SaveProfile() const;
  // Discards the trace, so that none is written when the session ends. Meant for programs that failed.
  void DiscardProfile() const;

 private:
  friend class Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace epiphyte
