// Exports: the symbols that a library gives to others, read from its file, without loading it and without a compiler's
// tools. A plugin gives EpPluginQuery and nothing else: what it exports besides may get mixed up with another plugin's.
//
//   for (const std::string& name : ExportedSymbols(library)) …
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::core {

// Sorted; without those that linkers add (_end, __bss_start …). Empty for what is no ELF file of this word size. Every
// offset is checked against the file. Throws NO_SUCHFILE, INVALID_ARGUMENT or FAIL as MappedFile does.
std::vector<std::string> ExportedSymbols(const std::filesystem::path& library);

// What a plugin's library exports beside EpPluginQuery, in one line: "a, b and 7 more"; "" for nothing.
std::string NeedlessExports(const std::filesystem::path& library);

}  // namespace epiphyte::core
