#include "core/registry/exports.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/base/mapped_file.h"
#include "core/base/text.h"
#include "epiphyte/ep_plugin.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxNameBytes = 4096;

class Bytes {
 public:
  explicit Bytes(const std::filesystem::path& path) : file_(MappedFile::Open(path)) {}

  template <typename T>
  bool Read(uint64_t at, T* item) const {
    if (at > file_->size() || file_->size() - at < sizeof(T)) return false;
    std::memcpy(item, file_->data() + at, sizeof(T));
    return true;
  }
  std::string Text(uint64_t at) const {
    if (at >= file_->size()) return "";
    const auto* begin = reinterpret_cast<const char*>(file_->data() + at);
    return {begin, strnlen(begin, std::min<uint64_t>(file_->size() - at, kMaxNameBytes))};
  }

 private:
  std::shared_ptr<const MappedFile> file_;
};

}  // namespace

std::vector<std::string> ExportedSymbols(const std::filesystem::path& library) {
  constexpr std::string_view kOfLinkers[] = {"_init", "_fini", "_edata", "_end", "__bss_start", "_IO_stdin_used"};
  const Bytes file(library);
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
      if (!name.empty() && std::ranges::find(kOfLinkers, name) == std::end(kOfLinkers)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::string NeedlessExports(const std::filesystem::path& library) {
  constexpr size_t kMostNamed = 5;
  std::string text;
  size_t count = 0;
  for (const std::string& name : ExportedSymbols(library)) {
    if (name == EP_PLUGIN_QUERY_SYMBOL) continue;
    if (count < kMostNamed) text += (text.empty() ? "" : ", ") + PrintableLine(name, 80);
    ++count;
  }
  if (count > kMostNamed) text += fmt::format(" and {} more", count - kMostNamed);
  return text;
}

}  // namespace epiphyte::core
