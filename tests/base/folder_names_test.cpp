// The names in a folder: complete and sorted, or the reason why they can't be read.
#include "core/base/folder_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using core::FolderNames;
using core::NamesIn;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(FolderNames, AreSortedAndHaveNoDots) {
  TempDir dir;
  for (const char* name : {"b", "a", ".hidden", "...", "with space", "\xff not utf-8"}) dir.Write(name, "");
  std::filesystem::create_directory(dir / "folder");
  const FolderNames found = NamesIn(dir.path());
  EXPECT_EQ(found.error, 0);
  EXPECT_THAT(found.names, ElementsAre("...", ".hidden", "a", "b", "folder", "with space", "\xff not utf-8"));
}

TEST(FolderNames, LinksCountEvenThoseThatLeadNowhere) {
  TempDir dir;
  std::filesystem::create_symlink("nowhere", dir / "link");
  EXPECT_THAT(NamesIn(dir.path()).names, ElementsAre("link"));
}

TEST(FolderNames, AnEmptyFolderHasNone) {
  TempDir dir;
  const FolderNames found = NamesIn(dir.path());
  EXPECT_EQ(found.error, 0);
  EXPECT_THAT(found.names, IsEmpty());
}

TEST(FolderNames, UnreadableFolderIsReportedWithTheReason) {
  TempDir dir;
  dir.Write("file", "");
  EXPECT_EQ(NamesIn(dir / "missing").error, ENOENT);
  EXPECT_EQ(NamesIn(dir / "file").error, ENOTDIR);
}

TEST(FolderNames, TheEmptyPathIsTheCurrentFolder) {
  EXPECT_EQ(NamesIn("").names, NamesIn(".").names);
  EXPECT_EQ(NamesIn("").error, 0);
}

}  // namespace
}  // namespace epiphyte::test
