// Digests that a manifest records: they are read, and updated in every form that a manifest may have.
#include "core/registry/manifest_digest.h"

#include <elf.h>
#include <link.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/hash.h"
#include "core/registry/elf.h"
#include "core/registry/manifest.h"
#include "core/registry/platform.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/manifest_text.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::ManifestText;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kOther(64, '0');

class ManifestDigestTest : public testing::Test {
 protected:
  ManifestDigestTest() : root_(fs::canonical(folder_.path())) {
    folder_.Write("lib.so", "the library");
    folder_.Write("arm/lib.so", "another one");
  }
  // Returns the manifest after its digests were written.
  std::string Write(std::string_view text) {
    const fs::path manifest = folder_.Write("acme.yaml", text);
    WriteManifestDigests(manifest);
    return test::ReadFile(manifest);
  }
  const std::string digest_ = Sha256("the library", 11);
  const std::string other_ = Sha256("another one", 11);
  test::TempDir folder_;
  fs::path root_;
};

TEST_F(ManifestDigestTest, IsAddedBehindEverythingElse) {
  const std::string text = ManifestText("acme", "lib.so", "# a remark") + "priority: 3";
  EXPECT_EQ(Write(text), text + "\nsha256: \"" + digest_ + "\"\n");
}

TEST_F(ManifestDigestTest, TakesThePlaceOfAnotherAndNothingElseChanges) {
  for (const std::string quote : {"", "\"", "'"}) {
    const std::string before = "sha256: " + quote + kOther + quote + "  # taken when it was built\n# the end\n";
    const std::string text = ManifestText("acme", "lib.so", before);
    std::string expected = text;
    expected.replace(expected.find(quote + kOther + quote), kOther.size() + 2 * quote.size(), "\"" + digest_ + "\"");
    EXPECT_EQ(Write(text), expected);
    EXPECT_EQ(Write(expected), expected) << "what is right already is left alone";
  }
}

TEST_F(ManifestDigestTest, OfEachPlatformIsWrittenInItsPlace) {
  const std::string libraries = "{linux-x86_64: lib.so, linux-aarch64: arm/lib.so, windows-x86_64: none.dll}";
  for (const std::string& text :
       {ManifestText("acme", libraries,
                     "sha256: { linux-x86_64: " + kOther + ", windows-x86_64: " + kOther + " } # flow\npriority: 1"),
        ManifestText(
            "acme", libraries,
            "sha256:\n  linux-x86_64: " + kOther + " # block\n  windows-x86_64: \"" + kOther + "\"\npriority: 1"),
        ManifestText("acme", libraries, "")}) {
    const std::string written = Write(text);
    for (const ManifestDigest& digest : ReadManifestDigests(root_ / "acme.yaml")) {
      const bool here = digest.platform != "windows-x86_64";
      EXPECT_EQ(digest.recorded, here                                       ? digest.actual
                                 : text.find("sha256") == std::string::npos ? ""
                                                                            : kOther)
          << written;
    }
    EXPECT_THAT(written, AllOf(HasSubstr(digest_), HasSubstr(other_)));
    const size_t at = text.find("priority");
    if (at != std::string::npos) {
      EXPECT_THAT(written, HasSubstr(text.substr(at)));
    }
  }
}

TEST_F(ManifestDigestTest, OneForAllPlatformsBecomesOneForEachWhenTheyDiffer) {
  const std::string written =
      Write(ManifestText("acme", "{linux-x86_64: lib.so, linux-aarch64: arm/lib.so}", "sha256: " + kOther));
  EXPECT_THAT(written, AllOf(HasSubstr(digest_), HasSubstr(other_), Not(HasSubstr(kOther))));
}

TEST_F(ManifestDigestTest, IsWrittenIntoJsonToo) {
  const std::string json =
      R"({"manifest_version": 1, "name": "acme", "vendor": "A", "version": "1", "library": "lib.so", "abi": "0.2"})";
  const std::string written = Write(json);
  EXPECT_EQ(written, R"({"sha256": ")" + digest_ + "\"," + json.substr(1));
  EXPECT_EQ(Write(written), written);
}

TEST_F(ManifestDigestTest, LineEndsAndByteOrderMarksStay) {
  std::string text = "\xEF\xBB\xBF" + ManifestText("acme", "lib.so", "sha256: " + kOther + "\npriority: 1");
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  std::string expected = text;
  expected.replace(expected.find(kOther), kOther.size(), "\"" + digest_ + "\"");
  EXPECT_EQ(Write(text), expected);
}

TEST_F(ManifestDigestTest, KeepsRightsAndFollowsLinks) {
  folder_.Write("real/acme.yaml", ManifestText("acme", "lib.so"));
  folder_.Write("real/lib.so", "the library");
  fs::permissions(root_ / "real/acme.yaml", fs::perms{0640});
  fs::create_symlink("real/acme.yaml", root_ / "link.yaml");
  WriteManifestDigests(root_ / "link.yaml");
  EXPECT_TRUE(fs::is_symlink(root_ / "link.yaml"));
  EXPECT_EQ(fs::status(root_ / "real/acme.yaml").permissions(), fs::perms{0640});
  EXPECT_EQ(ReadManifestDigests(root_ / "real/acme.yaml")[0].recorded, digest_);
}

TEST_F(ManifestDigestTest, WithoutALibraryNothingIsWritten) {
  const fs::path manifest = folder_.Write("acme.yaml", ManifestText("acme", "gone.so"));
  EXPECT_THAT(ErrorOf(StatusCode::kNoSuchFile, [&] { WriteManifestDigests(manifest); }),
              AllOf(HasSubstr("acme.yaml"), HasSubstr("gone.so")));
  EXPECT_EQ(test::ReadFile(manifest), ManifestText("acme", "gone.so"));
}

TEST_F(ManifestDigestTest, WhatIsNoManifestIsRefused) {
  const fs::path bad = folder_.Write("bad.yaml", "name: acme\n");
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { ReadManifestDigests(bad); }), HasSubstr("manifest_version"));
  EXPECT_THAT(ErrorOf(StatusCode::kNoSuchFile, [&] { WriteManifestDigests(root_ / "absent.yaml"); }),
              HasSubstr("absent.yaml"));
}

// A digest that is written with escapes can't be located in the text by its length.
TEST_F(ManifestDigestTest, AFormThatAllowsNoChangeIsRefusedAndStays) {
  const std::string text = ManifestText("acme", "lib.so", "sha256: \"\\x30" + std::string(63, '0') + "\"");
  const fs::path manifest = folder_.Write("acme.yaml", text);
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { WriteManifestDigests(manifest); }),
              AllOf(HasSubstr("by hand"), HasSubstr(digest_)));
  EXPECT_EQ(test::ReadFile(manifest), text);
}

TEST_F(ManifestDigestTest, TheReasonOfAWrongOneNamesStripWhenTheLibraryIsStripped) {
  std::string library = test::ReadFile("/proc/self/exe");
  const fs::path path = root_ / "plugin.so";
  folder_.Write("plugin.so", library);
  ASSERT_TRUE(ReadElf(path).has_symbols) << "a test program is not stripped";
  EXPECT_THAT(
      WhyDigestsDiffer(path, root_ / "acme.yaml"),
      AllOf(Not(HasSubstr("stripped")), HasSubstr("epiphyte manifest --digest '" + (root_ / "acme.yaml").string())));
  ElfW(Ehdr) header;
  std::memcpy(&header, library.data(), sizeof header);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) section;
    const uint64_t at = header.e_shoff + i * sizeof section;
    std::memcpy(&section, library.data() + at, sizeof section);
    if (section.sh_type == SHT_SYMTAB) section.sh_type = SHT_NULL;
    std::memcpy(library.data() + at, &section, sizeof section);
  }
  folder_.Write("plugin.so", library);
  EXPECT_FALSE(ReadElf(path).has_symbols);
  EXPECT_THAT(WhyDigestsDiffer(path, root_ / "acme.yaml"),
              AllOf(HasSubstr("the library is stripped"), HasSubstr("as packaging does it"), HasSubstr("--digest")));
  EXPECT_THAT(WhyDigestsDiffer(path, ""), AllOf(HasSubstr("stripped"), Not(HasSubstr("manifest"))));
}

}  // namespace
}  // namespace epiphyte::core
