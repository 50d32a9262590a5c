// Refusal: why one plugin can't be used. It is thrown while the plugin is loaded, kept in its entry, and has no effect
// on other plugins.
#pragma once

#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/registry/plugin_entry.h"

namespace epiphyte::core {

class Refusal : public Error {
 public:
  Refusal(PluginState state, std::string message, std::string hint = "")
      : Error(StatusCode::kEpFail, std::move(message)), state_(state), hint_(std::move(hint)) {}

  PluginState state() const { return state_; }
  const std::string& hint() const { return hint_; }

 private:
  PluginState state_;
  std::string hint_;
};

}  // namespace epiphyte::core
