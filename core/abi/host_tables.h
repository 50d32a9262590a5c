// The host's side of the C ABI: the tables a plugin gets. One constant set for the process.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/error.h"
#include "epiphyte/ep_host.h"

namespace epiphyte::core {

const EpHostInfo* HostInfo();

// Takes a status that a plugin returned: null gives nothing, any other becomes an Error whose message starts with
// `context` ("provider 'vulkan': Compile: …"). Codes outside the table, and statuses that aren't the host's, become
// EP_FAIL.
void ThrowIfFailed(EpStatus* status, std::string_view context);
// How many statuses nobody has released yet: more after a failure than before it is a leak.
size_t LiveStatusCount();
// For trampolines: the running exception as a status. Call inside catch (...).
EpStatus* CurrentExceptionToStatus() noexcept;

}  // namespace epiphyte::core
