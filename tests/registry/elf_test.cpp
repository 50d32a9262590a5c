#include "core/registry/elf.h"

#include <elf.h>

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/registry/module.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/real_library.h"

namespace epiphyte::core {
namespace {

using test::RealLibrary;
using test::TempDir;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ModuleOf, NamesProgramAndLibraries) {
  static int own_data = 0;
  EXPECT_EQ(ModuleOf(&own_data), std::filesystem::canonical("/proc/self/exe"));
  EXPECT_THAT(RealLibrary().filename().string(), testing::StartsWith("libxxhash.so"));
  const int on_the_stack = 0;
  EXPECT_EQ(ModuleOf(&on_the_stack), "");
}

TEST(ReadElf, DescribesARealLibrary) {
  const ElfFile elf = ReadElf(RealLibrary());
  EXPECT_TRUE(elf.is_elf);
  EXPECT_TRUE(elf.is_shared_object);
  EXPECT_TRUE(elf.is_native);
  EXPECT_TRUE(elf.is_whole);
  EXPECT_THAT(elf.needed, Contains("libc.so.6"));
}

TEST(ReadElf, SaysWhatIsNoElfFile) {
  const TempDir folder;
  for (const std::string_view content : {"", "x", "#!/bin/sh\n",
                                         "\x7F"
                                         "ELF",
                                         "\x7F"
                                         "ELF\x02\x01\x01"}) {
    EXPECT_FALSE(ReadElf(folder.Write("file", content)).is_elf) << content;
  }
  test::ErrorOf(StatusCode::kNoSuchFile, [&] { ReadElf(folder / "missing"); });
  test::ErrorOf(StatusCode::kInvalidArgument, [&] { ReadElf(folder.path()); });
}

TEST(ReadElf, NamesAnotherArchitecture) {
  const TempDir folder;
  std::string bytes = test::ReadFile(RealLibrary());
  bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_S390);
  bytes[EI_DATA] = ELFDATA2LSB;
  const ElfFile s390 = ReadElf(folder.Write("s390.so", bytes));
  EXPECT_FALSE(s390.is_native);
  EXPECT_EQ(s390.architecture, "s390x, 64 bits");
  bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_386);
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(ReadElf(folder.Write("i386.so", bytes)).architecture, "x86, 32 bits");
  bytes[EI_DATA] = ELFDATA2MSB;
  const ElfFile big_endian = ReadElf(folder.Write("big.so", bytes));
  EXPECT_FALSE(big_endian.is_native);
  EXPECT_EQ(big_endian.architecture, "ELF machine 768, 32 bits");
}

TEST(ReadElf, NoticesThatAFileIsTruncated) {
  const TempDir folder;
  const std::string bytes = test::ReadFile(RealLibrary());
  for (const size_t size : {sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr) + 10, size_t{4096}, bytes.size() / 2}) {
    const ElfFile elf = ReadElf(folder.Write("cut.so", std::string_view(bytes).substr(0, size)));
    EXPECT_TRUE(elf.is_elf);
    EXPECT_FALSE(elf.is_whole) << size;
  }
}

// Damage to the header and the dynamic section changes offsets and counts.
TEST(ReadElf, SurvivesDamagedHeaders) {
  const TempDir folder;
  const std::string bytes = test::ReadFile(RealLibrary());
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const size_t tables = header.e_phoff + size_t{header.e_phnum} * header.e_phentsize;
  ASSERT_LT(tables, bytes.size());
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 4; ++i) {
      const size_t at = EI_NIDENT + random() % (tables - EI_NIDENT - 8);
      const uint64_t values[] = {0, 1, UINT64_MAX, INT64_MAX, damaged.size(), random(), random() % damaged.size()};
      std::memcpy(damaged.data() + at, &values[random() % std::size(values)], 1 + random() % 8);
    }
    const ElfFile elf = ReadElf(folder.Write("damaged.so", damaged));
    EXPECT_THAT(elf.needed, testing::AnyOf(IsEmpty(), SizeIs(testing::Le(256u))));
  }
}

TEST(ReadElf, SurvivesADamagedDynamicSection) {
  const TempDir folder;
  const std::string bytes = test::ReadFile(RealLibrary());
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  Elf64_Phdr dynamic = {};
  for (size_t i = 0; i < header.e_phnum && dynamic.p_type != PT_DYNAMIC; ++i) {
    std::memcpy(&dynamic, bytes.data() + header.e_phoff + i * sizeof dynamic, sizeof dynamic);
  }
  ASSERT_EQ(dynamic.p_type, static_cast<uint32_t>(PT_DYNAMIC));
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 6; ++i) {
      const uint64_t values[] = {0, DT_NEEDED, DT_STRTAB, DT_STRSZ, UINT64_MAX, damaged.size() - 1, random()};
      const size_t at = dynamic.p_offset + 8 * (random() % (dynamic.p_filesz / 8));
      std::memcpy(damaged.data() + at, &values[random() % std::size(values)], 8);
    }
    for (const std::string& name : ReadElf(folder.Write("damaged.so", damaged)).needed) EXPECT_LE(name.size(), 4096u);
  }
}

}  // namespace
}  // namespace epiphyte::core
