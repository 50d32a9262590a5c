// SessionProgress: how far the making of a session is. Every phase reports when it begins and, if it takes long, while
// it goes on; each report may cancel.
//
//   ProgressReporter reporter(options.progress);
//   reporter.Enter(SessionPhase::kRead, "model.onnx");        // throws MODEL_LOAD_CANCELED when the application
//   cancels ReadModelFile(path, {.pulse = reporter.MakePulse()});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/abi/provider.h"
#include "core/base/pulse.h"

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

// True cancels.
using SessionProgressFunction = std::function<bool(const SessionProgress&)>;

class ProgressReporter {
 public:
  // `report` may be empty; then nothing costs anything.
  explicit ProgressReporter(SessionProgressFunction report);
  ~ProgressReporter();  // what it made says nothing any more
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  void Enter(SessionPhase phase, std::string_view text);
  void Report(uint64_t done, uint64_t total, std::string_view text);
  // A plugin may not hear that its user has cancelled, or answer with a status of its own.
  void ThrowIfCancelled() const;

  // Both report in the phase that was entered last; empty when nobody listens.
  Pulse MakePulse() const;
  ProgressFunction MakePluginProgress() const;

 private:
  struct State {
    SessionProgressFunction report;
    SessionPhase phase = SessionPhase::kRead;
    bool cancelled = false;

    bool Tell(uint64_t done, uint64_t total, std::string_view text);
    void ThrowIfCancelled() const;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace epiphyte::core
