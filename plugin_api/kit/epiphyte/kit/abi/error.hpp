// Errors in a plugin: throw kit::Error inside, and let the trampolines turn it into an EpStatus at the boundary.
//
//   if (rank != 4)
//     throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, "rank " + std::to_string(rank) + " found, 4 expected");
//
//   // A failed call to the host becomes an Error with the same code:
//   kit::ThrowIfFailed(host, host.graph->GetNodeInfo(node, &info));
//
//   // A function in a table of the plugin's own, which the host calls:
//   EpStatus* EP_CALL Export(EpPlugin* plugin, …) {
//     return kit::Guard(kit::HostOf(plugin), [&] { … });
//   }
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <exception>
#include <string>
#include <string_view>
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

// Throws an Error for a status from the host, and releases the status. Null means success. `what` names the failed
// request, for example "a node can't be described".
void ThrowStatus(const EpHostInfo& host, EpStatus* status, std::string_view what);
inline void ThrowIfFailed(const EpHostInfo& host, EpStatus* status, std::string_view what = {}) {
  if (status != nullptr) [[unlikely]]
    ThrowStatus(host, status, what);
}

// Returns the current exception as a status: Errors keep their code, bad_alloc is OUT_OF_MEMORY, everything else is
// EP_FAIL. Call it only inside a catch block.
EpStatus* StatusOfCurrentException(const EpHostInfo& host) noexcept;

// Runs `body` and returns an exception of it as a status, because no exception may cross the boundary.
template <typename Body>
EpStatus* Guard(const EpHostInfo& host, Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return StatusOfCurrentException(host);
  }
}

}  // namespace epiphyte::kit
