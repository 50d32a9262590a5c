// Errors in a plugin: throw kit::Error inside, and let the trampolines turn it into an EpStatus at the boundary.
//
//   if (rank != 4) throw epiphyte::kit::Error(EP_STATUS_NOT_IMPLEMENTED, "rank " + std::to_string(rank) + " found, 4
//   expected");
//
// Header-only; needs C++20 and nothing but the C headers.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "epiphyte/ep_host.h"

namespace epiphyte::kit {

class Error : public std::exception {
 public:
  Error(EpStatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  EpStatusCode code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  EpStatusCode code_;
  std::string message_;
};

// Takes a status that the host gave: null is fine, anything else is released and thrown.
inline void ThrowIfFailed(const EpHostInfo& host, EpStatus* status) {
  if (status == nullptr) return;
  // Copying the message may throw, and the status is released all the same.
  struct Owned {
    const EpHostInfo& host;
    EpStatus* status;
    ~Owned() { host.status->Release(status); }
  } owned{host, status};
  throw Error(host.status->GetCode(status), host.status->GetMessage(status));
}

// Runs `body` and gives what it throws as a status: nothing may be thrown across the boundary.
template <typename Body>
EpStatus* Guard(const EpHostInfo& host, Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return host.status->Create(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return host.status->Create(EP_STATUS_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return host.status->Create(EP_STATUS_EP_FAIL, error.what());
  } catch (...) {
    return host.status->Create(EP_STATUS_EP_FAIL, "an exception of unknown type");
  }
}

}  // namespace epiphyte::kit
