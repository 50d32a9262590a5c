// Session: one model, ready to run.
//
//   epiphyte::Session session(environment, "model.onnx");
//   std::vector<epiphyte::Value> outputs = session.Run({{"x", x}});
//   std::future<epiphyte::RunResult> later = session.RunAsync({{"x", x}});   // … later.get().Take()
//
// Making one reads the model, partitions it, and compiles each part or loads its context. With the option
// ep.context_enable=1 the context model is written before the constructor returns.
//
// A handle: copies refer to the same session. Run may be called from many threads at once. A child process that was
// forked since has neither the session's threads nor its devices: there Run throws FAIL, and the child makes a session
// of its own.
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

// What was written for ep.context_enable=1.
struct ContextFiles {
  std::filesystem::path model;
  std::vector<std::filesystem::path> others;  // binaries and external initializers
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

// What came of a run that nobody waited for: outputs, or an error.
struct RunResult {
  std::vector<Value> outputs;
  std::optional<Error> error;

  // The outputs, moved out. Throws the error.
  std::vector<Value> Take() {
    if (error) throw *error;
    return std::move(outputs);
  }
};

class EPIPHYTE_API Session {
 public:
  Session(const Environment& environment, const std::filesystem::path& model, const SessionOptions& options = {});
  // A model in memory. `bytes` need to live only until the constructor returns.
  Session(const Environment& environment, std::span<const std::byte> bytes, const SessionOptions& options = {});

  const std::vector<ValueInfo>& inputs() const;  // without initializers
  const std::vector<ValueInfo>& outputs() const;
  // Initializers that are inputs of the model, too (IR version 4 and later). A run by name may give them in place of
  // their own values, so nothing is compiled for those: the option session.constant_initializers=1 makes them constants
  // again, and this list empty.
  const std::vector<ValueInfo>& overridable_initializers() const;
  Placement placement() const;
  // The memories of the devices that the session's providers use, the main one of each device first. None: all values
  // are in host memory.
  std::vector<Memory> memories() const;
  // The first of a provider's, or the one of that name. Throws NOT_FOUND, and says what there is.
  Memory MemoryOf(std::string_view provider, std::string_view name = {}) const;
  bool has_context() const;                                  // some part was loaded from an EPContext node
  const std::optional<ContextFiles>& context_files() const;  // nullopt: none were written

  // Inputs by name; one that is left out must be optional or an overridable initializer. Returns the outputs that
  // `options` names. They are the caller's to write to: none shares memory with the model or with another output. An
  // input that is an output too comes out as the very value that went in. Throws INVALID_ARGUMENT when a name, type or
  // shape doesn't fit.
  std::vector<Value> Run(std::span<const NamedValue> inputs, const RunOptions& options = {}) const;
  std::vector<Value> Run(std::initializer_list<NamedValue> inputs, const RunOptions& options = {}) const {
    return Run(std::span<const NamedValue>(inputs.begin(), inputs.size()), options);
  }
  // Inputs in the order of inputs().
  std::vector<Value> Run(std::span<const Value> inputs, const RunOptions& options = {}) const;

  // A run that nobody waits for, on a thread of the environment (EnvironmentOptions::max_async_runs). The run has
  // references of its own to the inputs, until it is over: their data must not change before. `done` gets what came of
  // it, on that thread; what it throws is logged and has no other effect. It may begin other runs, and may let go of
  // the last handle of this session. It should not wait for another run: with all threads in such callbacks none would
  // come to it. Throws INVALID_ARGUMENT without `done`, FAIL when there is no thread for it; everything else is in the
  // result.
  //
  // Whoever lets go of the last handle of a session waits until all of its runs are over, but for the one whose
  // callback it is called from. Ask them to stop before (RunOptions::stop) if that should be soon.
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

  // Chrome trace of what has been recorded so far; "" unless SessionOptions::SetProfile was called.
  std::string ProfileJson() const;
  // Writes the trace now, and not again when the session ends, which can't report a failure. Throws FAIL when it can't
  // be written.
  void SaveProfile() const;
  // Nothing is written when the session ends: for a program whose work failed.
  void DiscardProfile() const;

 private:
  friend class Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace epiphyte
