// Opens the libraries that are installed beside the plugin, for what few models need.
//
//   const auto decode = reinterpret_cast<EpiphyteDecodeImageFunction>(
//       OpenBesidePlugin("libepiphyte_cpu_images.so", EPIPHYTE_DECODE_IMAGE, "this image format"));
#pragma once

#include <string_view>

namespace epiphyte::cpu {

// Returns the symbol `function` of the library `name` in the plugin's folder; no other folder is searched. The library
// stays open, so a second call costs nothing. Throws NOT_IMPLEMENTED when it can't be opened; `purpose` begins the
// message. [any thread]
void* OpenBesidePlugin(std::string_view name, const char* function, std::string_view purpose);

}  // namespace epiphyte::cpu
