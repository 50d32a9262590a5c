#include "core/registry/platform.h"

#include <gtest/gtest.h>

namespace epiphyte::core {
namespace {

TEST(MeansPlatform, OtherNamesOfOneSystemAndProcessor) {
  for (const char* spelled :
       {"linux-x64", "Linux-amd64", "linux_x86_64", "linux-x86-64", "gnulinux-x64", "LINUX/X64"}) {
    EXPECT_TRUE(MeansPlatform(spelled, "linux-x86_64")) << spelled;
  }
  for (const char* spelled : {"win-x64", "win64-amd64", "Windows_x64"}) {
    EXPECT_TRUE(MeansPlatform(spelled, "windows-x86_64")) << spelled;
  }
  for (const char* spelled : {"darwin-arm64", "osx-aarch64", "macosx-arm64"}) {
    EXPECT_TRUE(MeansPlatform(spelled, "macos-aarch64")) << spelled;
  }
  EXPECT_TRUE(MeansPlatform("linux-i686", "linux-x86"));
}

TEST(MeansPlatform, NotOfAnother) {
  for (const char* spelled : {"windows-x64", "linux-arm64", "linux-x86", "linux-mips64", "linux", "x86_64", "", "-",
                              "linux-x86_64-musl", "plan9-x64"}) {
    EXPECT_FALSE(MeansPlatform(spelled, "linux-x86_64")) << spelled;
  }
}

}  // namespace
}  // namespace epiphyte::core
