// Exports: the symbols that a library exports, read from its file without loading it and without compiler tools. A
// plugin exports EpPluginQuery and nothing else: other exports may collide with another plugin's.
//
//   for (const std::string& name : ExportedSymbols(library)) …
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::core {

// Returns sorted names, without those that linkers add (_end, __bss_start …). Empty unless it is an ELF file of this
// word size. Every offset is checked against the file. Throws NO_SUCHFILE, INVALID_ARGUMENT or FAIL as MappedFile does.
std::vector<std::string> ExportedSymbols(const std::filesystem::path& library);

// Lists in one line what a plugin's library exports besides EpPluginQuery: "a, b and 7 more"; "" for nothing.
std::string NeedlessExports(const std::filesystem::path& library);

}  // namespace epiphyte::core
