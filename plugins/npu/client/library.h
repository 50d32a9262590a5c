// A shared library by its path, for as long as the process lives: texts and code of an SDK may be in use anywhere.
#pragma once

#include <filesystem>

namespace epiphyte::npu {

// The address of a symbol in the library. Throws Error(EP_STATUS_NOT_FOUND): the file isn't there, can't be loaded, or
// lacks the symbol. `path` is absolute.
void* FindSymbol(const std::filesystem::path& path, const char* symbol);

// "libNAME.so", as the platform has it.
std::filesystem::path LibraryFileName(const char* name);

}  // namespace epiphyte::npu
