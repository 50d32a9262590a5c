// The function table of the provider.
#pragma once

#include "epiphyte/ep_provider.h"

namespace epiphyte::test::device {

// `with_states`: the table has CreateState and ReleaseState.
const EpProviderApi& ProviderTable(bool with_states);

}  // namespace epiphyte::test::device
