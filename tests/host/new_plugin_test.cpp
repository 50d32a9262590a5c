// epiphyte new-plugin: the files that it writes, and refusals. A test of plugin_api checks that the folder builds and
// passes.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

class NewPlugin : public ::testing::Test {
 protected:
  ProgramResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "new-plugin");
    return RunEpiphyte(arguments, dir_.path());
  }
  void ExpectRefused(const std::vector<std::string>& arguments, const std::string& part) {
    const ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, 1) << result.out;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }
  std::vector<std::string> Files(const fs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    return names;
  }

  TempDir dir_;
};

TEST_F(NewPlugin, IsAFolderNamedAfterItWithTheNameEverywhere) {
  const ProgramResult result = Run({"acme_npu"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Files(dir_ / "acme_npu"), UnorderedElementsAre("CMakeLists.txt", "acme_npu.cpp", "acme_npu.yaml"));
  EXPECT_THAT(ReadFile(dir_ / "acme_npu/acme_npu.yaml"),
              AllOf(HasSubstr("\nname: acme_npu\n"), HasSubstr("linux-x86_64: acme_npu.so"),
                    HasSubstr("sources: [ExampleAcmeNpu]")));
  EXPECT_THAT(ReadFile(dir_ / "acme_npu/acme_npu.cpp"),
              AllOf(HasSubstr("EPIPHYTE_KIT_PLUGIN(AcmeNpuProvider, \"acme_npu\","), Not(HasSubstr("minimal"))));
  EXPECT_THAT(ReadFile(dir_ / "acme_npu/CMakeLists.txt"),
              AllOf(HasSubstr("add_ep_plugin(acme_npu SOURCES acme_npu.cpp"), HasSubstr("ep_conformance")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("acme_npu/acme_npu.cpp\n"), HasSubstr("cmake --build acme_npu/build")));
}

TEST_F(NewPlugin, GoesIntoTheFolderThatIsNamedIfThatIsEmpty) {
  fs::create_directory(dir_ / "here");
  EXPECT_EQ(Run({"x", "--dir", "here", "--c"}).code, 0);
  EXPECT_THAT(Files(dir_ / "here"), UnorderedElementsAre("CMakeLists.txt", "x.c", "x.yaml"));
  EXPECT_THAT(ReadFile(dir_ / "here/x.c"), AllOf(HasSubstr("\"x\""), Not(HasSubstr("plain_c"))));
  EXPECT_EQ(Run({"x", "--dir", "new/below/it"}).code, 0);
  EXPECT_TRUE(fs::exists(dir_ / "new/below/it/x.cpp"));
}

TEST_F(NewPlugin, OverwritesNothing) {
  dir_.Write("full/file", "mine");
  ExpectRefused({"x", "--dir", "full"}, "exists and is no empty folder");
  EXPECT_THAT(Files(dir_ / "full"), UnorderedElementsAre("file"));
  dir_.Write("x", "a file");
  ExpectRefused({"x"}, "'x' exists and is no empty folder; name a new one with --dir");
  ExpectRefused({"y", "--dir", "x/below"}, "x/below");
}

TEST_F(NewPlugin, HasANameThatManifestsAndCMakeTake) {
  for (const char* name : {"1st", "_x", "a b", "a/b", "../a", "a.b", "ä", "a\n"}) {
    ExpectRefused({name, "--dir", "d"},
                  "can't be a plugin's name; a letter, then letters, digits, '_' or '-' expected");
  }
  ExpectRefused({std::string(65, 'a')}, "at most 64");
  ExpectRefused({"test"}, "is a target of every CMake project");
  EXPECT_FALSE(fs::exists(dir_ / "d"));
  EXPECT_EQ(Run({}).code, 2);
}

}  // namespace
}  // namespace epiphyte::test
