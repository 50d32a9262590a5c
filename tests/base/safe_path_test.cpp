#include "core/base/safe_path.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::TempDir;
using testing::HasSubstr;

class SafePath : public testing::Test {
 protected:
  SafePath() : root_(fs::canonical(folder_.path())) {
    folder_.Write("models/w.bin", "weights");
    folder_.Write("models/sub/w.bin", "weights");
    folder_.Write("outside.bin", "secret");
    folder_.Write("models-old/w.bin", "secret");
  }

  fs::path Inside(std::string_view name) { return ResolveInside(root_ / "models", name, "external data of 'w'"); }
  std::string Refused(std::string_view name) {
    return ErrorOf(StatusCode::kInvalidGraph, [&] { Inside(name); });
  }

  TempDir folder_;
  fs::path root_;
};

TEST_F(SafePath, ResolvesNamesBelowTheFolder) {
  EXPECT_EQ(Inside("w.bin"), root_ / "models/w.bin");
  EXPECT_EQ(Inside("sub/w.bin"), root_ / "models/sub/w.bin");
  EXPECT_EQ(Inside("./sub//w.bin"), root_ / "models/sub/w.bin");
}

TEST_F(SafePath, TheFolderMayBeALinkOrRelative) {
  fs::create_directory_symlink(root_ / "models", root_ / "link");
  EXPECT_EQ(ResolveInside(root_ / "link", "w.bin", "data"), root_ / "models/w.bin");
  const fs::path before = fs::current_path();
  fs::current_path(root_ / "models");
  EXPECT_EQ(ResolveInside("", "w.bin", "data"), root_ / "models/w.bin");
  EXPECT_EQ(ResolveBeside("model.onnx", "w.bin", "data"), root_ / "models/w.bin");
  fs::current_path(before);
}

TEST_F(SafePath, RefusesNamesByTheirSpelling) {
  EXPECT_THAT(Refused(""), HasSubstr("empty"));
  EXPECT_THAT(Refused(std::string(4096, 'a')), HasSubstr("4095"));
  EXPECT_THAT(Refused(std::string_view("w.bin\0.txt", 10)), HasSubstr("zero byte"));
  for (const std::string_view name :
       {"/etc/passwd", "//server/share", "\\x", "\\\\server\\x", "C:x", "c:\\x", "C:/x"}) {
    EXPECT_THAT(Refused(name), HasSubstr("absolute"));
  }
  EXPECT_THAT(Refused("sub\\w.bin"), HasSubstr("backslash"));
  for (const std::string_view name : {"..", "../outside.bin", "sub/../w.bin", "sub/..", "./../outside.bin"}) {
    EXPECT_THAT(Refused(name), HasSubstr("'..'"));
  }
}

TEST_F(SafePath, NamesThatOnlyLookDangerousAreFine) {
  folder_.Write("models/..w", "");
  folder_.Write("models/w..bin", "");
  EXPECT_EQ(Inside("..w"), root_ / "models/..w");
  EXPECT_EQ(Inside("w..bin"), root_ / "models/w..bin");
}

TEST_F(SafePath, SaysWhatIsMissingAndWhere) {
  const std::string message = Refused("missing.bin");
  EXPECT_THAT(message, HasSubstr("external data of 'w'"));
  EXPECT_THAT(message, HasSubstr((root_ / "models/missing.bin").string()));
  EXPECT_THAT(message, HasSubstr("does not exist"));
  EXPECT_THAT(Refused("w.bin/below"), HasSubstr("does not exist"));
}

TEST_F(SafePath, RefusesWhatIsNoRegularFile) {
  EXPECT_THAT(Refused("sub"), HasSubstr("no regular file"));
  EXPECT_THAT(Refused("."), HasSubstr("no regular file"));
  ASSERT_EQ(mkfifo((root_ / "models/fifo").c_str(), 0600), 0);
  EXPECT_THAT(Refused("fifo"), HasSubstr("no regular file"));
}

TEST_F(SafePath, FollowsLinksAndLooksWhereTheyLead) {
  fs::create_symlink("sub/w.bin", root_ / "models/inner");
  EXPECT_EQ(Inside("inner"), root_ / "models/sub/w.bin");
  fs::create_symlink("../outside.bin", root_ / "models/escape");
  EXPECT_THAT(Refused("escape"), HasSubstr("out of the model's folder"));
  fs::create_directory_symlink("..", root_ / "models/up");
  EXPECT_THAT(Refused("up/outside.bin"), HasSubstr("out of the model's folder"));
  fs::create_symlink("loop", root_ / "models/loop");
  EXPECT_THAT(Refused("loop"), HasSubstr("can't be resolved"));
}

TEST_F(SafePath, AFolderWhoseNameBeginsTheSameIsOutside) {
  fs::create_symlink("../models-old/w.bin", root_ / "models/old");
  EXPECT_THAT(Refused("old"), HasSubstr("out of the model's folder"));
}

// The cache of the Hugging Face hub: models--x/blobs/<digest>, and links models--x/snapshots/<revision>/<name> ->
// ../../blobs/<digest>.
class ContentAddressedCache : public testing::Test {
 protected:
  ContentAddressedCache() : root_(fs::canonical(folder_.path())) {
    folder_.Write("blobs/aaa", "model");
    folder_.Write("blobs/bbb", "weights");
    folder_.Write("secrets/ccc", "secret");
    fs::create_directories(root_ / "snapshots/1");
    fs::create_symlink("../../blobs/aaa", root_ / "snapshots/1/model.onnx");
    fs::create_symlink("../../blobs/bbb", root_ / "snapshots/1/w.bin");
  }
  fs::path Beside(const fs::path& model, std::string_view name) { return ResolveBeside(model, name, "data"); }

  TempDir folder_;
  fs::path root_;
};

TEST_F(ContentAddressedCache, ModelAndDataMayBeLinksIntoOneFolder) {
  EXPECT_EQ(Beside(root_ / "snapshots/1/model.onnx", "w.bin"), root_ / "blobs/bbb");
}

TEST_F(ContentAddressedCache, AnotherFolderIsAnEscape) {
  fs::create_symlink("../../secrets/ccc", root_ / "snapshots/1/evil.bin");
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidGraph, [&] { Beside(root_ / "snapshots/1/model.onnx", "evil.bin"); }),
              HasSubstr("out of the model's folder"));
}

TEST_F(ContentAddressedCache, AModelThatIsNoLinkGivesNoSuchRight) {
  folder_.Write("snapshots/1/plain.onnx", "model");
  ErrorOf(StatusCode::kInvalidGraph, [&] { Beside(root_ / "snapshots/1/plain.onnx", "w.bin"); });
}

TEST_F(ContentAddressedCache, TheLinkItselfMustBeInTheModelsFolder) {
  fs::create_directories(root_ / "elsewhere");
  fs::create_symlink("../blobs/bbb", root_ / "elsewhere/w.bin");
  fs::create_directory_symlink("../../elsewhere", root_ / "snapshots/1/sub");
  ErrorOf(StatusCode::kInvalidGraph, [&] { Beside(root_ / "snapshots/1/model.onnx", "sub/w.bin"); });
}

TEST_F(ContentAddressedCache, ResolveInsideKnowsNoModelAndAllowsNothing) {
  ErrorOf(StatusCode::kInvalidGraph, [&] { ResolveInside(root_ / "snapshots/1", "w.bin", "data"); });
}

}  // namespace
}  // namespace epiphyte::core
