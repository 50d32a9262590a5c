// Complaints of ONNX Runtime users that only occur in whole programs. Complaints that other tests cover are not
// repeated. Those about messages and formats are in tests/context/complaints_test.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProgramComplaint : public ::testing::Test {
 protected:
  ProgramComplaint() { folder_.Write("models/mask.onnx", MaskModel()); }
  ProgramResult Run(const std::vector<std::string>& arguments) { return RunEpiphyte(arguments, folder_.path()); }
  std::vector<std::string> Names(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Model(const std::string& name) const { return (folder_ / "models" / name).string(); }

  TempDir folder_;
};

// microsoft/onnxruntime#21850: the performance tool ignores the options of EP contexts.
TEST_F(ProgramComplaint, EveryCommandWithASessionTakesTheSameOptions) {
  for (const char* command : {"run", "bench"}) {
    const ProgramResult refused =
        Run({command, Model("mask.onnx"), "--ep", "cpu", "--option", "session.disable_model_compile=1"});
    EXPECT_EQ(refused.code, 1) << command;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("session.disable_model_compile is 1"), HasSubstr("provider 'cpu'")))
        << command;
    const std::string written = std::string(command) + "_ctx.onnx";
    const ProgramResult compiled =
        Run({command, Model("mask.onnx"), "--ep", "cpu", "--option", "ep.context_enable=1", "--option",
             "ep.context_embed_mode=1", "--option", "ep.context_file_path=" + Model(written)});
    EXPECT_EQ(compiled.code, 0) << compiled.err;
    const ProgramResult loaded =
        Run({command, Model(written), "--ep", "cpu", "--option", "session.disable_model_compile=1"});
    EXPECT_EQ(loaded.code, 0) << loaded.err;
  }
  EXPECT_THAT(Names("models"), ElementsAre("bench_ctx.onnx", "mask.onnx", "run_ctx.onnx"));
}

// microsoft/onnxruntime#22131: loading fails without naming the file, and no tool can show more about the model.
TEST_F(ProgramComplaint, AModelWhosePayloadIsGoneSaysSoAndCanStillBeInspected) {
  ASSERT_EQ(Run({"compile", Model("mask.onnx"), "--ep", "cpu"}).code, 0);
  fs::remove(Model("mask_cpu.bin"));
  const ProgramResult run = Run({"run", Model("mask_ctx.onnx")});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("mask_ctx.onnx"), HasSubstr("source 'EpiphyteCPU'"), HasSubstr("mask_cpu.bin"),
                             HasSubstr("does not exist"), HasSubstr("compile the model again")));
  const ProgramResult check = Run({"inspect", Model("mask_ctx.onnx"), "--json"});
  ASSERT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, AllOf(HasSubstr("EpiphyteCPU"), HasSubstr("mask_cpu.bin")));
}

// microsoft/onnxruntime#23431: the process ends without a message when a context can't be loaded.
TEST_F(ProgramComplaint, AContextThatCannotBeLoadedIsOneLineAndAnExitCode) {
  folder_.Write("models/foreign_ctx.onnx", ForeignContextModel());
  const ProgramResult result = Run({"run", Model("foreign_ctx.onnx")});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("foreign_ctx.onnx"), HasSubstr("source 'Nobody'"), HasSubstr("no installed plugin owns"),
                    HasSubstr("EpiphyteCPU"), HasSubstr("install the plugin")));
}

}  // namespace
}  // namespace epiphyte::test
