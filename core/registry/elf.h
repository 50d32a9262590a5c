// Elf: properties of a shared library, read from its file without loading it. The dynamic loader trusts its input: it
// reads beyond the end of a truncated file and says little about why it refuses one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace epiphyte::core {

struct ElfFile {
  bool is_elf = false;  // starts with a complete ELF header
  bool is_shared_object = false;
  bool is_native = false;           // for this processor, word size and byte order; the fields below are read only then
  bool is_whole = false;            // all parts to be loaded lie within the file
  bool has_symbols = false;         // has the symbol table that strip removes
  std::string architecture;         // such as "aarch64, 64 bits"
  std::vector<std::string> needed;  // names of the libraries it depends on
  std::string first_bytes;          // first bytes of a file that is no ELF file, for messages
};

// Every offset and count is checked against the file. Throws NO_SUCHFILE, INVALID_ARGUMENT or FAIL as MappedFile does.
ElfFile ReadElf(const std::filesystem::path& path);

}  // namespace epiphyte::core
