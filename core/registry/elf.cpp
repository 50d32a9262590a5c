#include "core/registry/elf.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/base/mapped_file.h"

namespace epiphyte::core {
namespace {

using Header = ElfW(Ehdr);
using ProgramHeader = ElfW(Phdr);
using Dynamic = ElfW(Dyn);

constexpr size_t kMaxNeeded = 256;
constexpr size_t kMaxNameBytes = 4096;

constexpr unsigned char kNativeClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kNativeOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
#if defined(__x86_64__)
constexpr uint16_t kNativeMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kNativeMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kNativeMachine = EM_RISCV;
#elif defined(__i386__)
constexpr uint16_t kNativeMachine = EM_386;
#else
#error "name this processor's ELF machine"
#endif

std::string_view MachineName(uint16_t machine) {
  switch (machine) {
    case EM_386: return "x86";
    case EM_X86_64: return "x86_64";
    case EM_ARM: return "arm";
    case EM_AARCH64: return "aarch64";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390x";
    case EM_RISCV: return "riscv";
    case EM_LOONGARCH: return "loongarch";
    default: return "";
  }
}

class Reader {
 public:
  Reader(const uint8_t* data, uint64_t size) : data_(data), size_(size) {}

  bool Holds(uint64_t offset, uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

  template <typename T>
  std::optional<T> Get(uint64_t offset) const {
    if (!Holds(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, data_ + offset, sizeof value);
    return value;
  }

  // Returns the zero-terminated string at `offset`, which must end before `end`.
  std::optional<std::string> String(uint64_t offset, uint64_t end) const {
    end = std::min(end, size_);
    if (offset >= end) return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(data_ + offset);
    const uint64_t most = std::min<uint64_t>(end - offset, kMaxNameBytes);
    const void* zero = std::memchr(begin, 0, most);
    if (zero == nullptr) return std::nullopt;
    return std::string(begin, static_cast<const char*>(zero));
  }

 private:
  const uint8_t* data_;
  uint64_t size_;
};

std::vector<ProgramHeader> ProgramHeaders(const Reader& file, const Header& header) {
  std::vector<ProgramHeader> headers;
  if (header.e_phentsize != sizeof(ProgramHeader)) return headers;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    // Only the offset itself could overflow, because e_phnum has 16 bits.
    if (header.e_phoff > UINT64_MAX / 2) break;
    const auto segment = file.Get<ProgramHeader>(header.e_phoff + i * sizeof(ProgramHeader));
    if (!segment) break;
    headers.push_back(*segment);
  }
  return headers;
}

// File offset of the memory address; nullopt when no loaded part has it.
std::optional<uint64_t> OffsetOf(const std::vector<ProgramHeader>& segments, uint64_t address) {
  for (const ProgramHeader& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside < segment.p_filesz && segment.p_offset <= UINT64_MAX - inside) return segment.p_offset + inside;
  }
  return std::nullopt;
}

std::vector<std::string> Needed(const Reader& file, const std::vector<ProgramHeader>& segments) {
  const auto dynamic = std::find_if(segments.begin(), segments.end(),
                                    [](const ProgramHeader& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == segments.end() || !file.Holds(dynamic->p_offset, dynamic->p_filesz)) return {};
  std::vector<uint64_t> names;
  std::optional<uint64_t> strings;
  uint64_t strings_size = 0;
  for (uint64_t at = 0; at + sizeof(Dynamic) <= dynamic->p_filesz; at += sizeof(Dynamic)) {
    const auto entry = file.Get<Dynamic>(dynamic->p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED && names.size() < kMaxNeeded) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = OffsetOf(segments, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRSZ) strings_size = entry->d_un.d_val;
  }
  if (!strings || !file.Holds(*strings, strings_size)) return {};
  std::vector<std::string> needed;
  for (const uint64_t name : names) {
    if (name >= strings_size) continue;
    if (auto text = file.String(*strings + name, *strings + strings_size)) needed.push_back(std::move(*text));
  }
  return needed;
}

bool HasSymbolTable(const Reader& file, const Header& header) {
  using Section = ElfW(Shdr);
  if (header.e_shentsize != sizeof(Section) || header.e_shoff > UINT64_MAX / 2) return false;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = file.Get<Section>(header.e_shoff + i * sizeof(Section));
    if (!section) return false;
    if (section->sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

}  // namespace

ElfFile ReadElf(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::Open(path);
  const Reader file(mapped->data(), mapped->size());
  ElfFile elf;
  // Identification, type and machine are at the same place in every ELF file; only the byte order differs.
  struct Start {
    unsigned char ident[EI_NIDENT];
    uint16_t type;
    uint16_t machine;
  };
  auto start = file.Get<Start>(0);
  if (!start || std::memcmp(start->ident, ELFMAG, SELFMAG) != 0) {
    elf.first_bytes.assign(reinterpret_cast<const char*>(mapped->data()), std::min<uint64_t>(mapped->size(), 512));
    return elf;
  }
  elf.is_elf = true;
  const bool native_order = start->ident[EI_DATA] == kNativeOrder;
  if (!native_order) {
    start->type = __builtin_bswap16(start->type);
    start->machine = __builtin_bswap16(start->machine);
  }
  const bool is_64 = start->ident[EI_CLASS] == ELFCLASS64;
  std::string machine(MachineName(start->machine));
  if (machine.empty()) machine = fmt::format("ELF machine {}", start->machine);
  elf.architecture = fmt::format("{}, {} bits", machine, is_64 ? 64 : 32);
  elf.is_shared_object = start->type == ET_DYN;
  elf.is_native = native_order && start->ident[EI_CLASS] == kNativeClass && start->machine == kNativeMachine;
  const auto header = file.Get<Header>(0);
  if (!elf.is_native || !header) return elf;

  const std::vector<ProgramHeader> segments = ProgramHeaders(file, *header);
  elf.is_whole = !segments.empty() && segments.size() == header->e_phnum &&
                 std::all_of(segments.begin(), segments.end(), [&](const ProgramHeader& segment) {
                   return segment.p_type != PT_LOAD || file.Holds(segment.p_offset, segment.p_filesz);
                 });
  if (elf.is_whole) elf.needed = Needed(file, segments);
  if (elf.is_whole) elf.has_symbols = HasSymbolTable(file, *header);
  return elf;
}

}  // namespace epiphyte::core
