// Session::RunAsync.
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/reason.h"
#include "epiphyte/session.hpp"
#include "host/api/access.h"
#include "host/api/async_runs.h"

namespace epiphyte {
namespace {

// One asynchronous run. It owns its data except the session. The session outlives it, because it waits for its runs.
class AsyncRun {
 public:
  AsyncRun(core::Session& session, std::shared_ptr<AsyncRuns> runs, std::span<const NamedValue> inputs,
           RunOptions options, std::function<void(RunResult)> done)
      : session_(session), options_(std::move(options)), done_(std::move(done)), runs_(std::move(runs)) {
    inputs_.reserve(inputs.size());
    for (const NamedValue& input : inputs) inputs_.emplace_back(input.first, Access::Share(input.second));
    runs_->Begin();
  }
  ~AsyncRun() { runs_->End(); }
  AsyncRun(const AsyncRun&) = delete;
  AsyncRun& operator=(const AsyncRun&) = delete;

  void Run() noexcept {
    const AsyncRuns::Inside inside(runs_.get());
    RunResult result = Compute();
    inputs_.clear();
    // From here on, the callback may destroy the session.
    try {
      done_(std::move(result));
    } catch (const std::exception& error) {
      Complain(core::ReasonOf(error));
    } catch (...) {
      Complain("it is no std::exception");
    }
    done_ = nullptr;  // the callback may hold the session's last handle
  }

 private:
  RunResult Compute() noexcept {
    RunResult result;
    try {
      try {
        WithPublicErrors([&] {
          std::vector<core::ValuePtr> outputs = session_.Run(inputs_, options_.outputs, Access::SettingsOf(options_));
          for (core::ValuePtr& output : outputs) result.outputs.push_back(Access::Wrap(std::move(output)));
        });
      } catch (const Error& error) {
        result.outputs.clear();
        result.error = error;
      }
    } catch (const std::exception&) {
      result.error.emplace(StatusCode::kOutOfMemory, "out of memory");  // no memory for the error's message either
    }
    return result;
  }

  static void Complain(std::string_view reason) noexcept {
    try {
      core::Log(core::LogLevel::kError, "session", "a callback of RunAsync threw an exception ({}); catch it there",
                reason);
    } catch (const std::exception&) {
      // No memory is left for the message.
    }
  }

  core::Session& session_;
  std::vector<std::pair<std::string, core::ValuePtr>> inputs_;
  RunOptions options_;
  std::function<void(RunResult)> done_;
  std::shared_ptr<AsyncRuns> runs_;
};

}  // namespace

void Session::RunAsync(std::span<const NamedValue> inputs, const RunOptions& options,
                       std::function<void(RunResult)> done) const {
  const std::shared_ptr<Impl> impl = impl_;  // `done` may destroy this handle before RunAsync returns
  WithPublicErrors([&] {
    if (!done) throw Error(StatusCode::kInvalidArgument, "RunAsync has no callback for its result; pass `done`");
    impl->session.RequireOwnProcess();
    auto run = std::make_shared<AsyncRun>(impl->session, impl->async_runs, inputs, options, std::move(done));
    impl->environment->async_runner().Post([run = std::move(run)] { run->Run(); });
  });
}

std::future<RunResult> Session::RunAsync(std::span<const NamedValue> inputs, const RunOptions& options) const {
  auto promise = std::make_shared<std::promise<RunResult>>();
  std::future<RunResult> result = promise->get_future();
  RunAsync(inputs, options, [promise](RunResult made) { promise->set_value(std::move(made)); });
  return result;
}

}  // namespace epiphyte
