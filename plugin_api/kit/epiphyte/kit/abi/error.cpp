#include "epiphyte/kit/abi/error.hpp"

#include <new>

namespace epiphyte::kit {

void ThrowStatus(const EpHostInfo& host, EpStatus* status, std::string_view what) {
  // Releases the status even if copying the message throws.
  struct Owned {
    const EpHostInfo& host;
    EpStatus* status;
    ~Owned() { host.status->Release(status); }
  } owned{host, status};
  std::string message(what);
  if (!what.empty()) message += ": ";
  message += host.status->GetMessage(status);
  throw Error(host.status->GetCode(status), std::move(message));
}

EpStatus* StatusOfCurrentException(const EpHostInfo& host) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return host.status->Create(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return host.status->Create(EP_STATUS_OUT_OF_MEMORY, "out of memory; free some, or use smaller inputs");
  } catch (const std::exception& error) {
    return host.status->Create(EP_STATUS_EP_FAIL, error.what());
  } catch (...) {
    return host.status->Create(EP_STATUS_EP_FAIL, "an exception of unknown type");
  }
}

}  // namespace epiphyte::kit
