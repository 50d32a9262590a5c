// A shared library by its path. It stays loaded until the process ends, because texts and code of an SDK may be in use
// anywhere.
#pragma once

#include <filesystem>

namespace epiphyte::npu {

// The address of a symbol in the library. `path` is absolute. Throws Error(EP_STATUS_NOT_FOUND) if the file doesn't
// exist, can't be loaded, or lacks the symbol.
void* FindSymbol(const std::filesystem::path& path, const char* symbol);

// The platform's file name of a library, such as "libNAME.so".
std::filesystem::path LibraryFileName(const char* name);

}  // namespace epiphyte::npu
