// Session options, and which of them go to the SDK.
#pragma once

#include <map>
#include <span>
#include <string>

#include "epiphyte/kit/plugin/options.hpp"
#include "plugins/npu/client/context.h"

namespace epiphyte::npu {

// Options of the plugin, and options of the reference SDK that other SDKs may have, too. `sdk_options` takes any
// option.
std::span<const kit::Option> DeclaredOptions();

// Options that are passed to the SDK: those that differ from their default value. Throws INVALID_ARGUMENT if
// `sdk_options` isn't "key=value,…".
SdkOptions OptionsOfSdk(const std::map<std::string, std::string>& given);

}  // namespace epiphyte::npu
