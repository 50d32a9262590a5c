// Elf: what can be told about a shared library from its file, without loading it. The dynamic loader trusts what it is
// given: it reads beyond the end of a truncated file and says little about why it refuses one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::core {

struct ElfFile {
  bool is_elf = false;  // starts with an ELF header that is whole
  bool is_shared_object = false;
  bool is_native = false;           // for this processor, word size and byte order; what follows is read only then
  bool is_whole = false;            // no part that would be loaded lies beyond the end of the file
  bool has_symbols = false;         // has the table of symbols that strip takes away
  std::string architecture;         // "aarch64, 64 bits"
  std::vector<std::string> needed;  // libraries it names as its dependencies
};

// Every offset and count is checked against the file. Throws NO_SUCHFILE, INVALID_ARGUMENT or FAIL as MappedFile does.
ElfFile ReadElf(const std::filesystem::path& path);

}  // namespace epiphyte::core
