#include "core/cache/cache_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CacheAccess, ErrorNamesTheInaccessibleFolderAndItsMode) {
  const test::TempDir folder;
  std::filesystem::create_directory(folder / "cache");
  std::filesystem::permissions(folder / "cache", std::filesystem::perms{0500});
  EXPECT_THAT(AccessReason(folder / "cache/ab/entry", EACCES),
              AllOf(HasSubstr("Permission denied"), HasSubstr((folder / "cache").string() + "' has mode 0500"),
                    HasSubstr("chmod u+rwX")));
}

TEST(CacheAccess, NamesTheOwnerWhenThatIsAnotherUser) {
  const test::TempDir folder;
  std::filesystem::create_directory(folder / "cache");
  const bool is_root = geteuid() == 0;
  if (is_root) ASSERT_EQ(chown((folder / "cache").c_str(), 12345, 12345), 0);
  const std::string reason = AccessReason(is_root ? folder / "cache/ab" : "/nowhere/cache", EACCES);
  EXPECT_THAT(reason, AllOf(HasSubstr(is_root ? "belongs to user 12345" : "belongs to user 0"),
                            HasSubstr("choose a cache folder of your own")));
  EXPECT_EQ(reason.find("let root fill") != std::string::npos, !is_root);
}

TEST(CacheAccess, OtherErrorsAreWhatTheSystemSays) {
  EXPECT_EQ(AccessReason("/nowhere", ENOSPC), "No space left on device");
  EXPECT_THAT(AccessReason("/nowhere", EROFS),
              AllOf(HasSubstr("Read-only file system"), HasSubstr("choose a cache folder")));
}

}  // namespace
}  // namespace epiphyte::core
