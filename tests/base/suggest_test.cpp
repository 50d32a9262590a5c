#include "core/base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace epiphyte::core {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"ep.context_enable", "ep.context_file_path", "vulkan", "cpu"};

TEST(Nearest, FindsTypingErrors) {
  EXPECT_EQ(Nearest("ep.context_enabel", kNames), "ep.context_enable");
  EXPECT_EQ(Nearest("ep.contxt_file_path", kNames), "ep.context_file_path");
  EXPECT_EQ(Nearest("volkan", kNames), "vulkan");
  EXPECT_EQ(Nearest("VULKAN", kNames), "vulkan");
  EXPECT_EQ(Nearest("cup", kNames), "cpu") << "swapped neighbours are one error";
}

TEST(Nearest, SuggestsNothingForSomethingElse) {
  EXPECT_EQ(Nearest("tensorrt", kNames), "");
  EXPECT_EQ(Nearest("x", kNames), "");
  EXPECT_EQ(Nearest("", kNames), "");
  EXPECT_EQ(Nearest("cpu", {}), "");
}

TEST(Nearest, IsNotSlowedDownByHugeNames) { EXPECT_EQ(Nearest(std::string(10'000'000, 'v'), kNames), ""); }

}  // namespace
}  // namespace epiphyte::core
