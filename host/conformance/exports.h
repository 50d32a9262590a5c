// The symbols that a library gives to others, read from its file: no tool of a compiler is needed where the suite runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::conformance {

// Sorted; without those that linkers add (_end, __bss_start …). Empty for what is no ELF file of this word size.
std::vector<std::string> ExportedSymbols(const std::filesystem::path& library);

}  // namespace epiphyte::conformance
