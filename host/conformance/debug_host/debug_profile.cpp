#include "host/conformance/debug_host/debug_profile.h"

#include <chrono>

#include "host/conformance/debug_host/debug_host.h"
#include "host/conformance/debug_host/debug_run.h"
#include "host/conformance/debug_host/debug_task.h"

namespace epiphyte::conformance {
namespace {

int64_t EP_CALL Now(void) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

EpProfile* EP_CALL OfRun(const EpRun* run) {
  const DebugRun* mine = DebugRun::Find(run, "OfRun");
  return mine == nullptr ? nullptr : mine->profile();
}

EpProfile* EP_CALL OfTask(const EpTask* task) {
  const DebugTask* mine = DebugTask::Find(task, "OfTask");
  return mine == nullptr ? nullptr : mine->profile();
}

EpStatus* EP_CALL AddSpans(EpProfile* profile, const EpProfileSpan* const* spans, uint64_t count) {
  DebugProfile* mine = Live<EpProfile, DebugProfile>().Require(profile, "AddSpans", Rule::kProfileEndsWithTheProvider,
                                                               Rule::kDoesNotCrash);
  if (mine == nullptr)
    return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the profile is of no use any more");
  return mine->Add(spans, count);
}

}  // namespace

const EpProfileApi kDebugProfileApi = {sizeof(EpProfileApi), 0, Now, OfRun, OfTask, AddSpans};

DebugProfile::DebugProfile() : began_(Now()), handle_(Live<EpProfile, DebugProfile>().Open(this)) {}

DebugProfile::~DebugProfile() { Live<EpProfile, DebugProfile>().Close(handle_); }

EpStatus* DebugProfile::Add(const EpProfileSpan* const* spans, uint64_t count) {
  DebugHost& host = DebugHost::Current();
  if (spans == nullptr && count != 0) return host.Refuse(Rule::kSpansAreWhole, "AddSpans was called with null");
  const int64_t now = Now();
  for (uint64_t i = 0; i < count; ++i) {
    const EpProfileSpan* span = spans[i];
    const std::string which = "span " + std::to_string(i);
    if (span == nullptr) return host.Refuse(Rule::kSpansAreWhole, which + " is null");
    if (span->struct_size < sizeof(EpProfileSpan) || span->reserved != 0) {
      return host.Refuse(Rule::kSpansAreWhole, which + " has struct_size " + std::to_string(span->struct_size) +
                                                   " and " + std::to_string(span->reserved) + " in `reserved`, " +
                                                   std::to_string(sizeof(EpProfileSpan)) + " and 0 are expected");
    }
    if (span->name == nullptr || *span->name == '\0') return host.Refuse(Rule::kSpansHaveNames, which + " has no name");
    if (span->end_ns < span->start_ns) {
      return host.Refuse(Rule::kSpansHaveALength,
                         which + " ends " + std::to_string(span->start_ns - span->end_ns) + " ns before it starts");
    }
    if (span->end_ns < began_ || span->start_ns > now) {
      return host.Refuse(Rule::kSpansAreOfTheHostsClock, which + " is from " + std::to_string(span->start_ns) + " to " +
                                                             std::to_string(span->end_ns) + ", the trace from " +
                                                             std::to_string(began_) + " to " + std::to_string(now));
    }
  }
  spans_ += count;
  return nullptr;
}

}  // namespace epiphyte::conformance
