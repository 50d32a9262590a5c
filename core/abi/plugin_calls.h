// Calls into a plugin. A plugin must not let exceptions escape, but some do; their text ends up in the error.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/abi/handles.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/text.h"

namespace epiphyte::core {

// `call` gives a status. What fails names the provider and the function.
template <typename Call>
void CallPlugin(const std::string& provider, std::string_view function, Call&& call) {
  std::string context = fmt::format("provider '{}': {}", provider, function);
  EpStatus* status = nullptr;
  try {
    status = call();
  } catch (const std::exception& error) {
    Fail(StatusCode::kEpFail, "{} let an exception escape ({}); report this to the plugin's vendor", context,
         PrintableLine(ReasonOf(error), 512));
  } catch (...) {
    Fail(StatusCode::kEpFail, "{} let an exception escape; report this to the plugin's vendor", context);
  }
  ThrowIfFailed(status, context);
}

// Release functions return nothing; what they throw is reported and dropped.
template <typename Call>
void CallRelease(const std::string& provider, std::string_view function, Call&& call) noexcept {
  try {
    call();
  } catch (...) {
    Log(LogLevel::kError, "abi", "provider '{}': {} let an exception escape; it was dropped", provider, function);
  }
}

}  // namespace epiphyte::core
