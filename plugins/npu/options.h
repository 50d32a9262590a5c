// The options of sessions, and which of them are the SDK's.
#pragma once

#include <map>
#include <span>
#include <string>

#include "epiphyte/kit/plugin/options.hpp"
#include "plugins/npu/client/context.h"

namespace epiphyte::npu {

// Those of the plugin, and those of the reference SDK that other SDKs may have, too; `sdk_options` takes any.
std::span<const kit::Option> DeclaredOptions();

// What is given on to the SDK: what isn't the default. Throws INVALID_ARGUMENT for `sdk_options` that
// are no "key=value,…".
SdkOptions OptionsOfSdk(const std::map<std::string, std::string>& given);

}  // namespace epiphyte::npu
