// The same model and options give the same bytes in every process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"

namespace epiphyte::test {
namespace {

constexpr std::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) {
    w = Constant <value = float[4] {2, -3, 0.5, 8}> ()
    m = Constant <value = float[4, 4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> ()
    a = Mul(x, w) b = MatMul(a, m) c = Tanh(b) d = Abs(c) z = Softmax(d) y = Neg(d)
  })";

struct Providers {
  const char* name;
  const char* list;
  std::vector<std::string> binaries;
};

class SameBytes : public testing::TestWithParam<Providers> {};
INSTANTIATE_TEST_SUITE_P(Providers, SameBytes,
                         testing::Values(Providers{"Cpu", "cpu", {"model_cpu.bin"}},
                                         Providers{"RecorderA", "recorder_a", {"model_recorder_a.bin"}},
                                         Providers{
                                             "Both", "recorder_a,cpu", {"model_cpu.bin", "model_recorder_a.bin"}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(SameBytes, InTwoProcesses) {
  const auto plugins =
      RecordingPluginFolder().string() + ":" + (RecordingPluginFolder() / "../../lib/epiphyte/plugins").string();
  for (bool embed : {false, true}) {
    SCOPED_TRACE(embed ? "embedded" : "external");
    std::map<std::string, std::string> first;
    for (int process = 0; process < 2; ++process) {
      TempDir dir;
      dir.Write("model.onnx", OnnxFromText(kModel));
      std::vector<std::string> arguments = {"compile",  "model.onnx",
                                            "--ep",     GetParam().list,
                                            "--option", "ep.context_model_external_initializers_file_name=plain.data"};
      if (embed) arguments.push_back("--embed");
      ProgramResult result = RunEpiphyte(arguments, dir.path(), {{"EPIPHYTE_PLUGIN_PATH", plugins}});
      ASSERT_EQ(result.code, 0) << result.err;
      auto content = ContentOf(dir.path());
      if (process == 0) {
        first = content;
        EXPECT_TRUE(content.contains("model_ctx.onnx"));
        for (const std::string& binary : GetParam().binaries) EXPECT_EQ(content.contains(binary), !embed) << binary;
        continue;
      }
      ASSERT_EQ(content.size(), first.size());
      for (const auto& [name, bytes] : first) EXPECT_TRUE(content[name] == bytes) << name;
    }
  }
}

}  // namespace
}  // namespace epiphyte::test
