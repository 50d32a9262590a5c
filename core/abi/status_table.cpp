// Statuses: created here, whoever asks.
#include <cstddef>
#include <cstring>
#include <new>

#include "core/abi/handles.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

// What Create gives when there is no memory left for a message. Never freed, and made without an allocation: it lies in
// static storage, and its text is short enough to be held in place.
EpStatus* OutOfMemory() noexcept {
  alignas(EpStatus) static std::byte storage[sizeof(EpStatus)];
  static EpStatus* const kStatus = new (storage) EpStatus{EP_STATUS_FAIL, "out of memory"};
  return kStatus;
}

EpStatus* EP_CALL Create(EpStatusCode code, const char* message) {
  if (code == EP_STATUS_OK) code = EP_STATUS_FAIL;  // a status that says "ok" would read as a failure without a reason
  try {
    return new EpStatus{code, CleanText(message)};
  } catch (...) {
    return OutOfMemory();
  }
}

EpStatusCode EP_CALL GetCode(const EpStatus* status) { return status == nullptr ? EP_STATUS_OK : status->code; }

const char* EP_CALL GetMessage(const EpStatus* status) { return status == nullptr ? "" : status->message.c_str(); }

void EP_CALL Release(EpStatus* status) {
  if (status != OutOfMemory()) delete status;
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
    return MakeStatus(StatusCode::kFail, "out of memory");
  } catch (const std::exception& error) {
    return MakeStatus(StatusCode::kRuntimeException, error.what());
  } catch (...) {
    return MakeStatus(StatusCode::kRuntimeException, "an exception of unknown type");
  }
}

void ThrowIfFailed(EpStatus* status, std::string_view context) {
  if (status == nullptr) return;
  StatusCode code = static_cast<StatusCode>(status->code);
  if (StatusCodeName(code) == "UNKNOWN") code = StatusCode::kEpFail;
  std::string message =
      fmt::format("{}: {}", context, status->message.empty() ? "failed without a message" : status->message);
  Release(status);
  throw Error(code, std::move(message));
}

std::string CleanText(const char* text, size_t limit) {
  if (text == nullptr) return {};
  return PrintableLine({text, strnlen(text, limit + 1)}, limit);
}

}  // namespace epiphyte::core
