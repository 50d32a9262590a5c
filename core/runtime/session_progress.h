// SessionProgress: progress of making a session. Every phase reports when it begins and, if it takes long, repeatedly
// after that; each report may cancel.
//
//   ProgressReporter reporter(options.progress);
//   reporter.Enter(SessionPhase::kRead, "model.onnx");   // throws MODEL_LOAD_CANCELED when the application cancels
//   ReadModelFile(path, {.on_progress = reporter.MakeProgressCallback()});
//
// Providers may report from any thread. The application gets one report at a time, and none after it has cancelled.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/abi/provider.h"
#include "core/base/progress_callback.h"

namespace epiphyte::core {

// Phases in order; a session may skip some.
enum class SessionPhase {
  kWait = 0,       // waits for another session that compiles the same model for the cache
  kRead = 1,       // reads the model and its external data, and compares digests
  kTransform = 2,  // inlines functions and rewrites the graph
  kPartition = 3,  // asks providers
  kLoad = 4,       // loads contexts
  kCompile = 5,
  kWrite = 6,  // writes the context model
};
// Name of the phase: "waiting", "reading", …
std::string_view SessionPhaseName(SessionPhase phase);

struct SessionProgress {
  SessionPhase phase = SessionPhase::kRead;
  uint64_t done = 0;
  uint64_t total = 0;  // 0: unknown
  std::string text;    // subject: a file, a partition, or the plugin's text; may be empty
};

// Returns true to cancel. Called on the thread that makes the session and on those that providers report from, one call
// at a time.
using SessionProgressFunction = std::function<bool(const SessionProgress&)>;

// Belongs to the thread that makes the session, except for the functions that it makes.
class ProgressReporter {
 public:
  // `report` may be empty; reporting then costs nothing.
  explicit ProgressReporter(SessionProgressFunction report);
  ~ProgressReporter();  // waits for a running report; afterwards the functions that it made report nothing
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  void Enter(SessionPhase phase, std::string_view text);
  void Report(uint64_t done, uint64_t total, std::string_view text);
  // Needed because a plugin may ignore a cancellation, or return a status of its own.
  void ThrowIfCancelled() const;

  // Both functions report in the phase that was entered last; empty without a `report`. A ProgressCallback belongs to
  // the thread that makes the session; a plugin's progress may be used on any thread.
  ProgressCallback MakeProgressCallback() const;
  ProgressFunction MakePluginProgress() const;

 private:
  struct State {
    std::mutex callback_mutex;             // held while the application's function runs
    std::atomic<std::thread::id> speaker;  // thread that holds it; default-constructed when none does
    SessionProgressFunction report;        // guarded by `callback_mutex`
    const bool listens;                    // whether `report` was set at the beginning
    std::atomic<SessionPhase> phase = SessionPhase::kRead;
    std::atomic<bool> cancelled = false;

    explicit State(SessionProgressFunction function) : report(std::move(function)), listens(report != nullptr) {}
    // Returns whether the application has cancelled. Reports nothing when called from within the application's
    // function.
    bool Tell(uint64_t done, uint64_t total, std::string_view text);
    void ThrowIfCancelled() const;
  };
  std::shared_ptr<State> state_;
};

}  // namespace epiphyte::core
