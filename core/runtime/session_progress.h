// SessionProgress: how far the making of a session is. Every phase reports when it begins and, if it takes long, while
// it goes on; each report may cancel.
//
//   ProgressReporter reporter(options.progress);
//   reporter.Enter(SessionPhase::kRead, "model.onnx");   // throws MODEL_LOAD_CANCELED when the application cancels
//   ReadModelFile(path, {.on_progress = reporter.MakeProgressCallback()});
//
// Providers may report from any thread. The application hears one report at a time, and none after it has cancelled.
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

// In order, as far as a session has them.
enum class SessionPhase {
  kWait = 0,       // for another session that compiles the same for the cache
  kRead = 1,       // the model, its external data and their digests
  kTransform = 2,  // functions and rewrites
  kPartition = 3,  // asking providers
  kLoad = 4,       // contexts
  kCompile = 5,
  kWrite = 6,  // the context model
};
// "waiting", "reading", …
std::string_view SessionPhaseName(SessionPhase phase);

struct SessionProgress {
  SessionPhase phase = SessionPhase::kRead;
  uint64_t done = 0;
  uint64_t total = 0;  // 0: not known
  std::string text;    // what it is about: a file, a partition, what a plugin says; may be empty
};

// True cancels. Called on the thread that makes the session and on those that providers report from, one call at a
// time.
using SessionProgressFunction = std::function<bool(const SessionProgress&)>;

// But for what it makes, it belongs to the thread that makes the session.
class ProgressReporter {
 public:
  // `report` may be empty; then nothing costs anything.
  explicit ProgressReporter(SessionProgressFunction report);
  ~ProgressReporter();  // waits for a report that is being heard; what it made says nothing any more
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  void Enter(SessionPhase phase, std::string_view text);
  void Report(uint64_t done, uint64_t total, std::string_view text);
  // A plugin may not hear that its user has cancelled, or answer with a status of its own.
  void ThrowIfCancelled() const;

  // Both report in the phase that was entered last; empty when nobody listens. A on_progress belongs to the thread that
  // makes the session, a plugin's progress to any thread.
  ProgressCallback MakeProgressCallback() const;
  ProgressFunction MakePluginProgress() const;

 private:
  struct State {
    std::mutex callback_mutex;             // held while the application hears a report
    std::atomic<std::thread::id> speaker;  // who holds it; nobody: none
    SessionProgressFunction report;        // guarded by `callback_mutex`
    const bool listens;                    // whether there was one
    std::atomic<SessionPhase> phase = SessionPhase::kRead;
    std::atomic<bool> cancelled = false;

    explicit State(SessionProgressFunction function) : report(std::move(function)), listens(report != nullptr) {}
    // Returns whether the application has cancelled. Says nothing when the application's function, on its way, comes
    // back to report itself.
    bool Tell(uint64_t done, uint64_t total, std::string_view text);
    void ThrowIfCancelled() const;
  };
  std::shared_ptr<State> state_;
};

}  // namespace epiphyte::core
