// The size of the minimal SDK shows how little code an SDK needs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace epiphyte::nsdk_conformance {
namespace {

// Returns the number of lines that contain more than a comment.
int LinesOfCode(const std::filesystem::path& folder) {
  int lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) {
      const size_t first = line.find_first_not_of(' ');
      if (first != std::string::npos && line.compare(first, 2, "//") != 0) ++lines;
    }
  }
  return lines;
}

TEST(MinimalSdk, HasAtMostAThousandLinesOfCode) {
  const int lines = LinesOfCode(EPIPHYTE_MINIMAL_SDK_SOURCES);
  EXPECT_GT(lines, 100);
  EXPECT_LE(lines, 1000);
}

}  // namespace
}  // namespace epiphyte::nsdk_conformance
