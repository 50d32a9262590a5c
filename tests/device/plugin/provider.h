// The tables of the provider.
#pragma once

#include "epiphyte/ep_provider.h"

namespace epiphyte::test::device {

// `with_states`: with CreateState and ReleaseState.
const EpProviderApi& ProviderTable(bool with_states);

}  // namespace epiphyte::test::device
