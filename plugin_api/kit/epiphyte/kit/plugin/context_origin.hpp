// ContextOrigin: what an EPContext node says about what made it, and whether that fits here.
//
//   void CheckContext(const kit::ContextOrigin& origin) const override {
//     if (Major(origin.sdk_version) != Major(SdkVersion())) throw kit::Error(EP_STATUS_INVALID_GRAPH, "…");
//   }
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <string>
#include <string_view>

#include "epiphyte/ep_context.h"

namespace epiphyte::kit {

// Nothing is null; what was not written is empty.
struct ContextOrigin {
  std::string_view source;
  std::string_view sdk_version;
  std::string_view hardware;
  std::string_view notes;

  template <typename NodeInfoOrHeader>
  static ContextOrigin Of(const NodeInfoOrHeader& info) {
    const auto text = [](const char* string) { return std::string_view(string == nullptr ? "" : string); };
    return {text(info.source), text(info.ep_sdk_version), text(info.hardware_architecture), text(info.notes)};
  }
};

// Why a context can't be used by this SDK version, and what to do; "" when it can, or when one of the two says nothing:
// a node's attributes are optional.
std::string SdkMismatch(const ContextOrigin& origin, std::string_view expected);
// The same for the device that a session uses.
std::string HardwareMismatch(const ContextOrigin& origin, std::string_view expected);

}  // namespace epiphyte::kit
