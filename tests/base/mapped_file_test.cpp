#include "core/base/mapped_file.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "core/base/small_file.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

using test::ErrorOf;
using test::TempDir;
using testing::HasSubstr;

std::string_view Content(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size())};
}

TEST(MappedFile, ShowsTheBytes) {
  const TempDir folder;
  const auto file = MappedFile::Open(folder.Write("a", std::string_view("x\0y", 3)));
  EXPECT_EQ(Content(*file), std::string_view("x\0y", 3));
  EXPECT_EQ(file->path(), folder / "a");
}

TEST(MappedFile, ShowsTheSameBytesAfterReleasingItsPages) {
  TempDir dir;
  const std::string text(100000, 'x');
  auto file = MappedFile::Open(dir.Write("file", text));
  file->ReleasePages();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->data()), file->size()), text);
}

TEST(MappedFile, OutlivesTheFilesName) {
  const TempDir folder;
  const auto file = MappedFile::Open(folder.Write("a", "still here"));
  std::filesystem::remove(folder / "a");
  EXPECT_EQ(Content(*file), "still here");
}

TEST(MappedFile, AnEmptyFileHasNoData) {
  const TempDir folder;
  const auto file = MappedFile::Open(folder.Write("empty", ""));
  EXPECT_EQ(file->data(), nullptr);
  EXPECT_EQ(file->size(), 0u);
}

TEST(MappedFile, SaysThatThereIsNoFile) {
  EXPECT_THAT(ErrorOf(StatusCode::kNoSuchFile, [] { MappedFile::Open("/nonexistent/a"); }),
              HasSubstr("/nonexistent/a"));
  const TempDir folder;
  ErrorOf(StatusCode::kNoSuchFile, [&] { MappedFile::Open(folder.Write("file", "") / "below"); });
}

TEST(MappedFile, RefusesWhatIsNoRegularFile) {
  const TempDir folder;
  ErrorOf(StatusCode::kInvalidArgument, [&] { MappedFile::Open(folder.path()); });
  ErrorOf(StatusCode::kInvalidArgument, [] { MappedFile::Open("/dev/zero"); });
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  ErrorOf(StatusCode::kInvalidArgument, [&] { MappedFile::Open(folder / "fifo"); });
}

TEST(ReadSmallFile, ReadsUpToTheLimitAndNoFurther) {
  const TempDir folder;
  const auto file = folder.Write("file", std::string(100, 'x'));
  EXPECT_EQ(ReadSmallFile(file, 100), std::string(100, 'x'));
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { ReadSmallFile(file, 99); }), HasSubstr("more than 99 bytes"));
}

TEST(ReadSmallFile, RefusesWhatIsNoRegularFile) {
  const TempDir folder;
  ErrorOf(StatusCode::kInvalidArgument, [] { ReadSmallFile("/dev/zero", 10); });
  ErrorOf(StatusCode::kInvalidArgument, [&] { ReadSmallFile(folder.path(), 10); });
  ErrorOf(StatusCode::kNoSuchFile, [&] { ReadSmallFile(folder / "missing", 10); });
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  ErrorOf(StatusCode::kInvalidArgument, [&] { ReadSmallFile(folder / "fifo", 10); });
}

}  // namespace
}  // namespace epiphyte::core
