// Plugin calls: every call into a plugin goes through here. A plugin must not let exceptions escape. If one does,
// the error has its text.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/abi/handles.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/text.h"
#include "core/base/watched_call.h"
#include "core/registry/plugin_entry.h"

namespace epiphyte::core {

// `call` returns a status. An error names the provider and the function. Throws FAIL for a plugin that a forked child
// can't use.
template <typename Call>
void CallPlugin(const LoadedPlugin& plugin, std::string_view function, Call&& call,
                WatchedCall::Watch watch = WatchedCall::kFolder) {
  plugin.RequireUsableHere();
  std::string context = fmt::format("provider '{}': {}", plugin.name, function);
  EpStatus* status = nullptr;
  try {
    const WatchedCall watched(plugin.name, function, watch);
    status = call();
  } catch (const std::exception& error) {
    Fail(StatusCode::kEpFail, "{} let an exception escape ({}); report this to the plugin's vendor", context,
         PrintableLine(ReasonOf(error), 512));
  } catch (...) {
    Fail(StatusCode::kEpFail, "{} let an exception escape; report this to the plugin's vendor", context);
  }
  ThrowIfFailed(status, context);
}

// Release functions return nothing; exceptions from them are reported and dropped. A forked child that can't use the
// plugin doesn't call them, because the objects are the parent's.
template <typename Call>
void CallRelease(const LoadedPlugin& plugin, std::string_view function, Call&& call) noexcept {
  if (!plugin.IsUsableHere()) return;
  try {
    const WatchedCall watched(plugin.name, function, WatchedCall::kMode);
    call();
  } catch (...) {
    Log(LogLevel::kError, "abi", "provider '{}': {} let an exception escape; it was dropped", plugin.name, function);
  }
}

}  // namespace epiphyte::core
