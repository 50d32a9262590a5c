// Statuses: created here, whoever asks.
#include <cstddef>
#include <cstring>
#include <new>

#include "core/abi/handles.h"

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

namespace {

// Length of the UTF-8 sequence at `text`, 0 when it is none. Overlong forms and surrogates count as none.
size_t Utf8Length(const char* text, size_t available) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  size_t length = first < 0x80                    ? 1
                  : first >= 0xC2 && first < 0xE0 ? 2
                  : first >= 0xE0 && first < 0xF0 ? 3
                  : first >= 0xF0 && first < 0xF5 ? 4
                                                  : 0;
  if (length == 0 || length > available) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) >= 0x90)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string CleanText(const char* text, size_t limit) {
  if (text == nullptr) return {};
  size_t size = strnlen(text, limit);
  std::string clean;
  clean.reserve(size);
  for (size_t i = 0; i < size;) {
    size_t length = Utf8Length(text + i, size - i);
    if (length == 0) {
      clean += '?';
      ++i;
    } else if (length == 1 && static_cast<unsigned char>(text[i]) < 0x20) {
      clean += ' ';
      ++i;
    } else {
      clean.append(text + i, length);
      i += length;
    }
  }
  return clean;
}

}  // namespace epiphyte::core
