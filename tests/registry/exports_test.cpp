#include "core/registry/exports.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/base/error.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/real_library.h"

namespace epiphyte::core {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Exports, AreThoseThatTheLoaderGivesToOthers) {
  const std::vector<std::string> names = ExportedSymbols(test::RealLibrary());
  EXPECT_THAT(names, Contains("XXH_versionNumber"));
  EXPECT_THAT(names, Not(Contains("memcpy"))) << "it needs that one from others";
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST(Exports, MoreThanAFewAreCounted) {
  const std::string text = NeedlessExports(test::RealLibrary());
  EXPECT_THAT(text, HasSubstr(" more"));
  EXPECT_EQ(std::ranges::count(text, ','), 4) << text;
}

TEST(Exports, OfAFileThatIsNoLibraryThereAreNone) {
  const test::TempDir dir;
  for (const std::string& bytes : {std::string(), std::string("text"), std::string("\177ELF"), std::string(64, '\0')}) {
    EXPECT_THAT(ExportedSymbols(dir.Write("a.so", bytes)), IsEmpty());
    EXPECT_EQ(NeedlessExports(dir.Write("a.so", bytes)), "");
  }
  EXPECT_THROW(ExportedSymbols(dir / "none.so"), Error);
}

// For any length or offset, nothing outside of the file is read.
TEST(Exports, OfADamagedLibraryAreReadWithinTheFile) {
  const test::TempDir dir;
  const std::string whole = test::ReadFile(test::RealLibrary());
  const auto read = [&](const std::string& bytes) {
    const std::vector<std::string> names = ExportedSymbols(dir.Write("damaged.so", bytes));
    EXPECT_TRUE(std::ranges::is_sorted(names));
  };
  for (const size_t size : {whole.size() - 1, whole.size() / 2, sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr) - 1}) {
    read(whole.substr(0, size));
  }
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (const uint64_t value : {uint64_t{1} << 40, UINT64_MAX - 63}) {
    const auto with = [&](size_t at) {
      std::string damaged = whole;
      std::memcpy(damaged.data() + at, &value, sizeof(value));
      return damaged;
    };
    read(with(offsetof(Elf64_Ehdr, e_shoff)));
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
      Elf64_Shdr section;
      std::memcpy(&section, whole.data() + at, sizeof(section));
      if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_STRTAB) continue;
      read(with(at + offsetof(Elf64_Shdr, sh_offset)));
      read(with(at + offsetof(Elf64_Shdr, sh_size)));
    }
  }
}

}  // namespace
}  // namespace epiphyte::core
