// The command line, started with few file descriptors or without standard streams, ends with one error and an exit
// code. No file gets output that is meant for a standard stream.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Descriptors : public ::testing::Test {
 protected:
  Descriptors() { folder_.Write("model.onnx", AddModel()); }
  // Runs the command through a shell, which closes descriptors or sets limits as `how` says.
  ProgramResult Run(const std::string& command, const std::string& how) {
    return RunProgram("/bin/sh", {"-c", how + " \"$0\" " + command, EPIPHYTE_PROGRAM}, folder_.path(),
                      OnlyPlugins(EPIPHYTE_PLUGIN_FOLDER));
  }
  ProgramResult RunClosed(const std::string& command, const std::string& closed) {
    return RunProgram("/bin/sh", {"-c", "\"$0\" " + command + " " + closed, EPIPHYTE_PROGRAM}, folder_.path(),
                      OnlyPlugins(EPIPHYTE_PLUGIN_FOLDER));
  }

  TempDir folder_;
};

TEST_F(Descriptors, TooFewAreOneErrorAndACode) {
  for (int limit = 3; limit <= 20; ++limit) {
    const ProgramResult result = Run("run model.onnx", "ulimit -n " + std::to_string(limit) + "; exec");
    if (result.code == 127) continue;  // the system's loader found no descriptor for the program's libraries
    if (result.code == 0) {
      EXPECT_GT(limit, 9);
      EXPECT_THAT(result.err, IsEmpty()) << limit;
      continue;
    }
    EXPECT_EQ(result.code, 1) << limit;
    EXPECT_THAT(result.err, AllOf(StartsWith("epiphyte: error: only "), HasSubstr("ulimit -n 256"))) << limit;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << limit;
    EXPECT_THAT(result.out, IsEmpty()) << limit;
  }
}

TEST_F(Descriptors, SmallModelNeedsFewDescriptors) {
  const ProgramResult result = Run("run model.onnx", "ulimit -n 24; exec");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("c"));
}

TEST_F(Descriptors, AClosedStandardOutputIsOneErrorAndACode) {
  for (const std::string command : {"run model.onnx", "run model.onnx --json", "plugins", "inspect model.onnx"}) {
    const ProgramResult result = RunClosed(command, ">&-");
    EXPECT_EQ(result.code, 1) << command << ": " << result.err;
    EXPECT_THAT(result.err, AllOf(StartsWith("epiphyte: error: standard output is closed"), HasSubstr(">/dev/null")))
        << command;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }
}

TEST_F(Descriptors, WhatShouldBePrintedIsWrittenIntoNoFile) {
  ASSERT_EQ(RunClosed("run model.onnx --outputs right", "").code, 0);
  const ProgramResult result = RunClosed("run model.onnx --outputs closed", "<&- >&- 2>&-");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(ReadFile(folder_ / "closed/output_0.pb").size(), ReadFile(folder_ / "right/output_0.pb").size());
  EXPECT_EQ(ReadFile(folder_ / "model.onnx"), AddModel());
}

TEST_F(Descriptors, AClosedStandardErrorAndInputAreNoObstacle) {
  EXPECT_EQ(RunClosed("run model.onnx", "2>&-").code, 0);
  EXPECT_EQ(RunClosed("run model.onnx", "<&-").code, 0);
  EXPECT_EQ(RunClosed("run none.onnx", "2>&-").code, 1);
}

}  // namespace
}  // namespace epiphyte::test
