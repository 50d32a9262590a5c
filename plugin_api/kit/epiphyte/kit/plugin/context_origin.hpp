// ContextOrigin: what an EPContext node says about its SDK, hardware and source, and whether they fit here.
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

// No pointer is null; a missing attribute is an empty string.
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

// Says why this SDK version can't use the context, and what to do. "" when it can, or when one of the two gives no
// version: the attributes of a node are optional.
std::string SdkMismatch(const ContextOrigin& origin, std::string_view expected);
// Says the same about the architecture of the device that a session uses.
std::string HardwareMismatch(const ContextOrigin& origin, std::string_view expected);

}  // namespace epiphyte::kit
