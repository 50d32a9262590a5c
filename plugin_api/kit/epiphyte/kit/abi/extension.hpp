// FindExtension: a table of the host's for a feature that came later, or null on a host that doesn't have it.
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
