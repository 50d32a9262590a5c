// Trust in a file depends on which users could have written it.
#include "core/base/file_trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class FileTrustTest : public testing::Test {
 protected:
  FileTrustTest() : file_(dir_.Write("folder/file", "bytes")) {
    fs::permissions(dir_.path(), fs::perms{0755});
    fs::permissions(Folder(), fs::perms{0755});
    fs::permissions(file_, fs::perms{0644});
  }
  fs::path Folder() const { return file_.parent_path(); }
  std::string Reason() const { return FileTrust().ReasonAgainst(file_); }

  test::TempDir dir_;
  fs::path file_;
};

TEST_F(FileTrustTest, FileThatOnlyTheUserCanWriteIsTrusted) {
  EXPECT_EQ(Reason(), "");
  EXPECT_EQ(FileTrust().ReasonAgainst(Folder()), "");
  EXPECT_EQ(FileTrust().ReasonAgainst(Folder().string() + "/"), "");
  EXPECT_EQ(FileTrust::ReasonAgainstOne(file_), "");
}

TEST_F(FileTrustTest, FileOfRootIsTrusted) {
  EXPECT_EQ(FileTrust().ReasonAgainst("/"), "");
  EXPECT_EQ(FileTrust().ReasonAgainst("/etc/passwd"), "");
}

TEST_F(FileTrustTest, FileThatOthersCanWriteIsNotTrusted) {
  for (const auto& [mode, who] : {std::pair(0664, "its group"), {0666, "others"}, {0646, "others"}}) {
    fs::permissions(file_, static_cast<fs::perms>(mode));
    EXPECT_THAT(Reason(), AllOf(HasSubstr(file_.string()), HasSubstr(who), HasSubstr("chmod go-w"))) << mode;
  }
}

TEST_F(FileTrustTest, FileBelowAFolderThatOthersCanWriteIsNotTrusted) {
  for (const fs::path& above : {Folder(), dir_.path()}) {
    fs::permissions(above, fs::perms{0777});
    EXPECT_THAT(Reason(), AllOf(HasSubstr("folder '" + above.string() + "'"), HasSubstr("0777")));
    fs::permissions(above, fs::perms{0755});
    EXPECT_EQ(Reason(), "");
  }
}

TEST_F(FileTrustTest, AStickyFolderAboveIsFineButNotThePathItself) {
  fs::permissions(Folder(), fs::perms{01777});
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(FileTrust().ReasonAgainst(Folder()), HasSubstr("can be written by others (mode 1777)"));
}

TEST_F(FileTrustTest, WhatIsNotThereYetIsJudgedByWhatIsAbove) {
  const fs::path missing = Folder() / "not/there";
  EXPECT_EQ(FileTrust().ReasonAgainst(missing), "");
  fs::permissions(Folder(), fs::perms{0757});
  EXPECT_THAT(FileTrust().ReasonAgainst(missing), HasSubstr(Folder().string()));
}

TEST_F(FileTrustTest, LinksAreFollowedFirst) {
  const fs::path link = dir_ / "link";
  fs::create_directory_symlink(Folder(), link);
  EXPECT_EQ(FileTrust().ReasonAgainst(link / "file"), "");
  EXPECT_THAT(FileTrust::ReasonAgainstOne(link), HasSubstr("symbolic link"));
  fs::permissions(Folder(), fs::perms{0777});
  EXPECT_THAT(FileTrust().ReasonAgainst(link / "file"), HasSubstr(Folder().string()));
}

// Only root can give files to another user. Every user can check files that belong only to that user.
TEST_F(FileTrustTest, FileOfAnotherUserIsNotTrusted) {
  if (geteuid() == 0) {
    ASSERT_EQ(chown(Folder().c_str(), kNobody, static_cast<gid_t>(-1)), 0);
    EXPECT_THAT(Reason(), HasSubstr("belongs to user 65534; it must belong to user 0"));
    ASSERT_EQ(seteuid(kNobody), 0);
    const std::string own = FileTrust::ReasonAgainstOne(Folder());
    ASSERT_EQ(seteuid(0), 0);
    EXPECT_EQ(own, "");
  } else {
    EXPECT_EQ(Reason(), "") << "what is the user's own";
  }
}

}  // namespace
}  // namespace epiphyte::core
