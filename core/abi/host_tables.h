// The host's side of the C ABI: the tables a plugin gets. One constant set for the process.
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "epiphyte/ep_host.h"

namespace epiphyte::core {

const EpHostInfo* HostInfo();

// Status across the boundary. Take* own what they are given: null gives nothing, a status becomes an Error whose
// message starts with `context` ("provider 'vulkan': Compile: …"). Codes outside the table become EP_FAIL.
void ThrowIfFailed(EpStatus* status, std::string_view context);
// For trampolines: the running exception as a status. Call inside catch (...).
EpStatus* CurrentExceptionToStatus() noexcept;

}  // namespace epiphyte::core
