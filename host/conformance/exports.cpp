#include "host/conformance/exports.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace epiphyte::conformance {
namespace {

// Every offset is checked: the file need not be what the loader made of it.
class File {
 public:
  explicit File(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
  }
  template <typename T>
  bool Read(uint64_t at, T* item) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) return false;
    std::memcpy(item, bytes_.data() + at, sizeof(T));
    return true;
  }
  std::string Text(uint64_t at) const {
    if (at >= bytes_.size()) return "";
    const char* begin = bytes_.data() + at;
    return {begin, strnlen(begin, bytes_.size() - at)};
  }

 private:
  std::vector<char> bytes_;
};

}  // namespace

std::vector<std::string> ExportedSymbols(const std::filesystem::path& library) {
  static const std::set<std::string> kOfLinkers = {"_init", "_fini", "_edata", "_end", "__bss_start", "_IO_stdin_used"};
  const File file(library);
  ElfW(Ehdr) header;
  if (!file.Read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  std::set<std::string> names;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) section;
    ElfW(Shdr) strings;
    if (!file.Read(header.e_shoff + i * sizeof(section), &section) || section.sh_type != SHT_DYNSYM) continue;
    if (!file.Read(header.e_shoff + section.sh_link * sizeof(strings), &strings)) continue;
    for (uint64_t at = 0; at + sizeof(ElfW(Sym)) <= section.sh_size; at += sizeof(ElfW(Sym))) {
      ElfW(Sym) symbol;
      if (!file.Read(section.sh_offset + at, &symbol)) break;
      const auto binding = symbol.st_info >> 4;
      const auto visibility = symbol.st_other & 3;
      const bool exported = symbol.st_shndx != SHN_UNDEF && binding != STB_LOCAL &&
                            (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
      const std::string name = exported ? file.Text(strings.sh_offset + symbol.st_name) : "";
      if (!name.empty() && !kOfLinkers.contains(name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace epiphyte::conformance
