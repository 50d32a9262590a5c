// Platforms as manifests spell them: system, '-', processor.
//
//   CurrentPlatform()                                    // "linux-x86_64"
//   MeansPlatform("Linux-x64", CurrentPlatform())        // true there; used in messages only, never to accept a
//   manifest
#pragma once

#include <string_view>

namespace epiphyte::core {

// Name of this build's platform, such as "linux-x86_64".
std::string_view CurrentPlatform();

// Whether `spelled` in a manifest probably means `platform`: another name of the same system and processor
// ("linux-amd64", "win64-x64", "darwin-arm64"), in upper case, or with other separators.
bool MeansPlatform(std::string_view spelled, std::string_view platform);

}  // namespace epiphyte::core
