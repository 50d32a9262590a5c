// Statuses: their memory is never reused, so that a released status can be told from a new one.
#include <map>
#include <mutex>

#include "host/conformance/debug_host/debug_host.h"

struct EpStatus {
  EpStatusCode code;
  std::string message;
  int host;
  bool live = true;
};

namespace epiphyte::conformance {
namespace {

struct Statuses {
  std::mutex mutex;
  std::map<const EpStatus*, std::unique_ptr<EpStatus>> all;

  // Returns null when no host made the status. Released statuses are found.
  EpStatus* Find(const EpStatus* status) {
    const auto found = all.find(status);
    return found == all.end() ? nullptr : found->second.get();
  }
};
Statuses& All() {
  static auto* statuses = new Statuses();
  return *statuses;
}

EpStatus* Make(EpStatusCode code, std::string message, int host) {
  auto made =
      std::make_unique<EpStatus>(EpStatus{code == EP_STATUS_OK ? EP_STATUS_FAIL : code, std::move(message), host});
  std::lock_guard lock(All().mutex);
  EpStatus* status = made.get();
  All().all[status] = std::move(made);
  return status;
}

// Returns the status, or null after recording a violation.
EpStatus* Require(const EpStatus* status, const char* function) {
  EpStatus* found = All().Find(status);
  if (found == nullptr) {
    DebugHost::Current().Violate(Rule::kStatusesAreTheHosts,
                                 std::string(function) + " was called with what is no status of this host");
    return nullptr;
  }
  if (found->live) return found;
  DebugHost::Current().Violate(
      Rule::kStatusesReleasedOnce,
      std::string(function) + " was called with a status that was released before: " + found->message);
  return nullptr;
}

template <int kHost>
EpStatus* EP_CALL Create(EpStatusCode code, const char* message) {
  return Make(code, message == nullptr ? "" : message, kHost);
}
EpStatusCode EP_CALL GetCode(const EpStatus* status) {
  if (status == nullptr) return EP_STATUS_OK;
  std::lock_guard lock(All().mutex);
  const EpStatus* found = Require(status, "GetCode");
  return found == nullptr ? EP_STATUS_FAIL : found->code;
}
const char* EP_CALL GetMessage(const EpStatus* status) {
  if (status == nullptr) return "";
  std::lock_guard lock(All().mutex);
  const EpStatus* found = Require(status, "GetMessage");
  return found == nullptr ? "" : found->message.c_str();
}
void EP_CALL Release(EpStatus* status) {
  if (status == nullptr) return;
  std::lock_guard lock(All().mutex);
  EpStatus* found = Require(status, "EpStatusApi::Release");
  if (found != nullptr) found->live = false;
}

}  // namespace

const EpStatusApi kDebugStatusApi[2] = {
    {sizeof(EpStatusApi), 0, Create<0>, GetCode, GetMessage, Release},
    {sizeof(EpStatusApi), 0, Create<1>, GetCode, GetMessage, Release},
};

EpStatus* DebugHost::NewStatus(EpStatusCode code, const std::string& message, int host) {
  return Make(code, message, host);
}

DebugHost::Failure DebugHost::TakeStatus(EpStatus* status, const std::string& function) {
  if (status == nullptr) return {};
  std::lock_guard lock(All().mutex);
  EpStatus* found = All().Find(status);
  if (found == nullptr) {
    Violate(Rule::kStatusesAreTheHosts, function + " returned what is no status of this host");
    return {EP_STATUS_EP_FAIL, "no status", 0};
  }
  if (!found->live) {
    Violate(Rule::kReturnedStatusesAreGivenAway,
            function + " returned a status that it had released: " + found->message);
    return {EP_STATUS_EP_FAIL, found->message, found->host};
  }
  found->live = false;
  if (found->message.empty()) Violate(Rule::kFailuresHaveAMessage, function + " failed without a message");
  return {found->code, found->message, found->host};
}

void DebugHost::CheckStatusesAreReleased() {
  std::lock_guard lock(All().mutex);
  for (const auto& [status, owned] : All().all) {
    if (!owned->live) continue;
    Violate(Rule::kStatusesAreReleased, "the plugin did not release the status '" + owned->message + "'");
    return;
  }
}

}  // namespace epiphyte::conformance
