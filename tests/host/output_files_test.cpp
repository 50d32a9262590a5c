// Files that the command line writes: --outputs, --save-inputs, --profile, --svg, --output. Each file appears complete
// or not at all. A target that is not a regular file is refused at once.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "epiphyte/error.hpp"
#include "epiphyte/files.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() {
    folder_.Write("m.onnx", MatMulModel());
    folder_.Write("precious", "precious");
    fs::create_directory(folder_ / "out");
  }
  ProgramResult Run(const std::vector<std::string>& arguments) {
    // A command that hangs fails here, not when the suite's time is over.
    std::vector<std::string> words = {"-k", "5", "60", EPIPHYTE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return RunProgram("/usr/bin/timeout", words, folder_.path());
  }
  std::vector<std::string> NamesIn(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / folder)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  // A command, and the file below out/ that it writes.
  struct Writer {
    std::string file;
    std::vector<std::string> command;
  };
  std::vector<Writer> Writers() const {
    return {{"output_0.pb", {"run", "m.onnx", "--outputs", "out"}},
            {"input_0.pb", {"run", "m.onnx", "--save-inputs", "out"}},
            {"trace.json", {"run", "m.onnx", "--profile", "out/trace.json"}},
            {"m.svg", {"place", "m.onnx", "--svg", "out/m.svg"}},
            {"m_ctx.onnx", {"compile", "m.onnx", "--ep", "cpu", "--embed", "--force", "--output", "out/m_ctx.onnx"}}};
  }

  TempDir folder_;
};

TEST_F(OutputFiles, ALinkOutOfTheFolderIsNotFollowed) {
  for (const Writer& writer : Writers()) {
    fs::create_symlink("../precious", folder_ / "out" / writer.file);
    const ProgramResult result = Run(writer.command);
    EXPECT_EQ(result.code, 0) << writer.file << ": " << result.err;
    EXPECT_EQ(ReadFile(folder_ / "precious"), "precious") << writer.file;
    EXPECT_FALSE(fs::is_symlink(folder_ / "out" / writer.file)) << writer.file;
    EXPECT_GT(fs::file_size(folder_ / "out" / writer.file), 10u) << writer.file;
  }
}

TEST_F(OutputFiles, WhatIsNoFileIsRefusedAtOnce) {
  for (const Writer& writer : Writers()) {
    const fs::path target = folder_ / "out" / writer.file;
    const auto refused = [&](const char* what) {
      const ProgramResult result = Run(writer.command);
      EXPECT_EQ(result.code, 1) << writer.file << " hangs or succeeds";
      EXPECT_THAT(result.err, AllOf(StartsWith("epiphyte: error: "), HasSubstr(writer.file), HasSubstr(what),
                                    HasSubstr("give another path")));
      EXPECT_THAT(result.out, IsEmpty());
      EXPECT_THAT(NamesIn("out"), ElementsAre(writer.file)) << "nothing else is there";
    };
    ASSERT_EQ(mkfifo(target.c_str(), 0600), 0);
    refused("is a named pipe");
    EXPECT_TRUE(fs::is_fifo(target));
    fs::remove(target);
    fs::create_directory(target);
    refused("is a folder");
    fs::remove(target);
    fs::create_symlink("/dev/full", target);
    refused("leads to a device");
    fs::remove(target);
  }
}

TEST_F(OutputFiles, AFileIsReplacedAndKeepsItsNeighbours) {
  for (const Writer& writer : Writers()) {
    folder_.Write("out/" + writer.file, "old");
    EXPECT_EQ(Run(writer.command).code, 0);
    EXPECT_NE(ReadFile(folder_ / "out" / writer.file), "old");
  }
  EXPECT_THAT(NamesIn("out"), ElementsAre("input_0.pb", "m.svg", "m_ctx.onnx", "output_0.pb", "trace.json"));
}

TEST_F(OutputFiles, AFolderThatIsMissingIsNamedBeforeTheModelIsRead) {
  for (const char* flag : {"--profile", "--svg"}) {
    const std::string command = std::string(flag) == "--svg" ? "place" : "run";
    const ProgramResult result = Run({command, "m.onnx", flag, "absent/file"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("absent"), HasSubstr("create it first")));
  }
}

TEST_F(OutputFiles, ApplicationsHaveTheSameWriter) {
  WriteFile(folder_ / "out/a", "text");
  EXPECT_EQ(ReadFile(folder_ / "out/a"), "text");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (void (*attempt)(const fs::path&) :
       {+[](const fs::path& path) { WriteFile(path, "text"); }, +[](const fs::path& path) { CheckWritable(path); }}) {
    try {
      attempt(folder_ / "pipe");
      ADD_FAILURE() << "a pipe is no file";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
