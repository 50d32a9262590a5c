// Status objects of the ABI. The host creates all of them.
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include "core/abi/handles.h"
#include "core/base/log.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

struct Status {
  EpStatusCode code;
  std::string message;
};

// Table of the statuses that exist. A handle is a number, never an address and never given out twice. A foreign status,
// or one that was released before, is therefore detected instead of followed.
class Statuses {
 public:
  EpStatus* Add(Status status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    uintptr_t number = 0;
    do {
      number = next_;
      next_ += 2;
    } while (number == kOutOfMemory || !live_.try_emplace(number, std::move(status)).second);
    return reinterpret_cast<EpStatus*>(number);
  }
  // Returned pointer is valid until the status is taken; null when there is none.
  const Status* Find(const EpStatus* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(reinterpret_cast<uintptr_t>(handle));
    return found == live_.end() ? nullptr : &found->second;
  }
  std::optional<Status> Take(const EpStatus* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto node = live_.extract(reinterpret_cast<uintptr_t>(handle));
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped());
  }
  size_t size() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_.size();
  }

  // Handle that Create returns when no memory is left for a message. This status always exists and is never released.
  static constexpr uintptr_t kOutOfMemory = 1;

 private:
  std::mutex mutex_;
  std::unordered_map<uintptr_t, Status> live_;
  uintptr_t next_ = 3;  // always odd, because no address of a plugin's object is
};

// The table is leaked because plugins may make statuses until the process ends.
Statuses& TheStatuses() {
  static Statuses* const statuses = new Statuses;
  return *statuses;
}

EpStatus* OutOfMemory() noexcept { return reinterpret_cast<EpStatus*>(Statuses::kOutOfMemory); }

constexpr const char* kOutOfMemoryText = "out of memory";
constexpr const char* kUnknownStatus =
    "failed with a status that the host doesn't know: it was released before, or not made by EpStatusApi::Create; "
    "report this to the plugin's vendor";

EpStatus* EP_CALL Create(EpStatusCode code, const char* message) {
  if (code == EP_STATUS_OK) code = EP_STATUS_FAIL;  // a status that says "ok" would read as a failure without a reason
  try {
    return TheStatuses().Add({code, CleanText(message)});
  } catch (...) {
    return OutOfMemory();
  }
}

EpStatusCode EP_CALL GetCode(const EpStatus* handle) {
  if (handle == nullptr) return EP_STATUS_OK;
  if (handle == OutOfMemory()) return EP_STATUS_OUT_OF_MEMORY;
  const Status* status = TheStatuses().Find(handle);
  return status == nullptr ? EP_STATUS_EP_FAIL : status->code;
}

const char* EP_CALL GetMessage(const EpStatus* handle) {
  if (handle == nullptr) return "";
  if (handle == OutOfMemory()) return kOutOfMemoryText;
  const Status* status = TheStatuses().Find(handle);
  return status == nullptr ? kUnknownStatus : status->message.c_str();
}

void EP_CALL Release(EpStatus* handle) {
  if (handle == nullptr || handle == OutOfMemory() || TheStatuses().Take(handle)) return;
  LogMessage(LogLevel::kError, "abi",
             "a status was released that the host doesn't know, or that was released before; it was ignored");
}

}  // namespace

const EpStatusApi kStatusApi = {sizeof(EpStatusApi), 0, Create, GetCode, GetMessage, Release};

EpStatus* MakeStatus(StatusCode code, const char* message) noexcept {
  return Create(static_cast<EpStatusCode>(code), message);
}

EpStatus* CurrentExceptionToStatus() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return MakeStatus(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return MakeStatus(StatusCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return MakeStatus(StatusCode::kRuntimeException, error.what());
  } catch (...) {
    return MakeStatus(StatusCode::kRuntimeException, "an exception of unknown type");
  }
}

void ThrowIfFailed(EpStatus* handle, std::string_view context) {
  if (handle == nullptr) return;
  if (handle == OutOfMemory()) Fail(StatusCode::kOutOfMemory, "{}: {}", context, kOutOfMemoryText);
  const std::optional<Status> status = TheStatuses().Take(handle);
  if (!status) Fail(StatusCode::kEpFail, "{}: {}", context, kUnknownStatus);
  StatusCode code = static_cast<StatusCode>(status->code);
  if (StatusCodeName(code) == "UNKNOWN") code = StatusCode::kEpFail;
  throw Error(code,
              fmt::format("{}: {}", context, status->message.empty() ? "failed without a message" : status->message));
}

size_t LiveStatusCount() { return TheStatuses().size(); }

std::string CleanText(const char* text, size_t limit) {
  if (text == nullptr) return {};
  return PrintableLine({text, strnlen(text, limit + 1)}, limit);
}

}  // namespace epiphyte::core
