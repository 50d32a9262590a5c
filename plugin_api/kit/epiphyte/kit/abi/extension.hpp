// FindExtension: a function table of the host for a later feature. Null when the host does not have the feature.
//
//   if (const auto* limits = kit::FindExtension<EpRunLimitsApi>(host, EP_RUN_LIMITS_EXTENSION)) …
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include "epiphyte/ep_host.h"

namespace epiphyte::kit {

template <typename Api>
const Api* FindExtension(const EpHostInfo& host, const char* id) {
  return static_cast<const Api*>(host.GetExtension(&host, id));
}

}  // namespace epiphyte::kit
