#include "epiphyte/kit/plugin/context_origin.hpp"

namespace epiphyte::kit {

std::string SdkMismatch(const ContextOrigin& origin, std::string_view expected) {
  if (expected.empty() || origin.sdk_version.empty() || origin.sdk_version == expected) return {};
  return "the context was written by SDK version '" + std::string(origin.sdk_version) + "', this is '" +
         std::string(expected) + "'; compile the model again";
}

std::string HardwareMismatch(const ContextOrigin& origin, std::string_view expected) {
  if (expected.empty() || origin.hardware.empty() || origin.hardware == expected) return {};
  return "the context was compiled for '" + std::string(origin.hardware) + "', the device in use is '" +
         std::string(expected) + "'; choose the other device if it is here, or compile the model again";
}

}  // namespace epiphyte::kit
