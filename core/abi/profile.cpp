// Profiles and the table of ep_profile.h.
#include "core/abi/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "core/abi/handles.h"
#include "core/base/log.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxNameBytes = 256;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Profiles {
  std::mutex mutex;  // held while spans are added, so that the end of a profile waits for them
  std::map<uintptr_t, Profile*> open;
  uintptr_t next = 1;  // always odd, because no object's address is
};

// The table is leaked because a plugin's threads may add spans until the process ends.
Profiles& TheProfiles() {
  static Profiles* const profiles = new Profiles;
  return *profiles;
}

void Check(const EpProfileSpan* span, uint64_t index) {
  if (span == nullptr) Fail(StatusCode::kInvalidArgument, "AddSpans: span {} is null", index);
  if (!EP_HAS_FIELD(span, EpProfileSpan, end_ns) || span->reserved != 0) {
    Fail(StatusCode::kInvalidArgument, "AddSpans: span {} has struct_size {} and {} in `reserved`; {} and 0 expected",
         index, span->struct_size, span->reserved, sizeof(EpProfileSpan));
  }
  if (span->name == nullptr || *span->name == '\0') {
    Fail(StatusCode::kInvalidArgument, "AddSpans: span {} has no name", index);
  }
  if (span->end_ns < span->start_ns) {
    Fail(StatusCode::kInvalidArgument, "AddSpans: span {} ('{}') ends at {}, before it starts at {}", index,
         CleanText(span->name, 64), span->end_ns, span->start_ns);
  }
}

}  // namespace

Profile::Profile(SpanSink& sink, std::string provider) : sink_(sink), provider_(std::move(provider)) {
  Profiles& profiles = TheProfiles();
  const std::lock_guard<std::mutex> lock(profiles.mutex);
  number_ = profiles.next;
  profiles.next += 2;
  profiles.open.emplace(number_, this);
}

Profile::~Profile() {
  Profiles& profiles = TheProfiles();
  const std::lock_guard<std::mutex> lock(profiles.mutex);
  profiles.open.erase(number_);
}

EpProfile* Profile::handle() const { return reinterpret_cast<EpProfile*>(number_); }

void Profile::Add(const EpProfile* handle, const EpProfileSpan* const* spans, uint64_t count) {
  if (count != 0 && spans == nullptr) {
    Fail(StatusCode::kInvalidArgument, "AddSpans: {} spans are in a null array", count);
  }
  for (uint64_t i = 0; i < count; ++i) Check(spans[i], i);
  Profiles& profiles = TheProfiles();
  const std::lock_guard<std::mutex> lock(profiles.mutex);
  const auto found = profiles.open.find(reinterpret_cast<uintptr_t>(handle));
  if (found == profiles.open.end()) {
    Fail(StatusCode::kInvalidArgument, "AddSpans: the handle is no profile, or its provider was destroyed");
  }
  found->second->AddChecked(spans, count);
}

void Profile::AddChecked(const EpProfileSpan* const* spans, uint64_t count) {
  const int64_t first = sink_.origin_ns();
  const int64_t last = std::max(first, NowNs());
  for (uint64_t i = 0; i < count; ++i) {
    const EpProfileSpan& span = *spans[i];
    const std::string name = CleanText(span.name, kMaxNameBytes);
    const int64_t start = std::clamp(span.start_ns, first, last);
    const int64_t end = std::clamp(span.end_ns, first, last);
    if ((start != span.start_ns || end != span.end_ns) && !std::exchange(reported_, true)) {
      Log(LogLevel::kWarning, "profile",
          "provider '{}': span '{}' is from {} to {}, but the trace is from {} to {}: such spans are clipped; convert "
          "the device's clock to the host's",
          provider_, name, span.start_ns, span.end_ns, first, last);
    }
    if (span.end_ns < first || span.start_ns > last) continue;
    const std::string track = span.track == nullptr ? std::string() : CleanText(span.track, kMaxNameBytes);
    sink_.AddSpan(provider_, name, track.empty() ? provider_ : provider_ + ": " + track, start, end);
  }
}

namespace {

int64_t EP_CALL Now(void) { return NowNs(); }

EpProfile* EP_CALL OfRun(const EpRun* run) { return run == nullptr ? nullptr : run->profile; }

EpStatus* EP_CALL AddSpans(EpProfile* profile, const EpProfileSpan* const* spans, uint64_t count) {
  return Guard([&] { Profile::Add(profile, spans, count); });
}

}  // namespace

const EpProfileApi kProfileApi = {sizeof(EpProfileApi), 0, Now, OfRun, ProfileOfTask, AddSpans};

}  // namespace epiphyte::core
