// Platforms as manifests spell them: system, '-', processor.
//
//   CurrentPlatform()                                    // "linux-x86_64"
//   MeansPlatform("Linux-x64", CurrentPlatform())        // true there: for the message, nothing is guessed silently
#pragma once

#include <string_view>

namespace epiphyte::core {

// "linux-x86_64" and so on, for this build.
std::string_view CurrentPlatform();

// Whether somebody who wrote `spelled` in a manifest meant `platform`: another name of the same system and processor
// ("linux-amd64", "win64-x64", "darwin-arm64"), in upper case, or with other separators.
bool MeansPlatform(std::string_view spelled, std::string_view platform);

}  // namespace epiphyte::core
