// ep_weight_sharing_ctx_gen: the command line that the specification describes.
#include <gmock/gmock.h>

#include "epiphyte/epiphyte.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class WeightSharing : public ::testing::Test {
 protected:
  WeightSharing() {
    folder_.Write("model1.onnx", MatMulModel());
    folder_.Write("model2.onnx", MatMulModel(/*negated=*/true));
  }
  ProgramResult Run(const std::vector<std::string>& arguments) {
    return RunProgram(EPIPHYTE_SHARING_PROGRAM, arguments, folder_.path());
  }
  std::vector<std::string> Files(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  // Returns the output of the model for one input, in a session that shares its weights.
  std::vector<float> Output(const std::string& model) const {
    EnvironmentOptions plugins;
    plugins.plugin_folders = {EPIPHYTE_PLUGIN_FOLDER};
    plugins.use_environment_variable = plugins.use_user_folder = plugins.use_system_folders = false;
    const Environment environment(plugins);
    SessionOptions options;
    options.AddProvider("cpu").Set("ep.share_ep_contexts", "1");
    Session session(environment, folder_ / model, options);
    const std::vector<float> x = {1, -2, 3, 0.25f, 5, -6, 0.5f, 8};
    const Value y = session.Run(std::vector<Value>{Value::Copy<float>(x, {2, 4})})[0];
    const auto data = y.Data<float>();
    return {data.begin(), data.end()};
  }
  // The graphs of the two models have the same name, but each model must give its own numbers.
  void ExpectTheNumbersOfTheSources(const std::string& folder) const {
    const std::vector<float> first = Output("model1.onnx");
    const std::vector<float> second = Output("model2.onnx");
    ASSERT_NE(first, second);
    EXPECT_EQ(Output(folder + "model1_ctx.onnx"), first);
    EXPECT_EQ(Output(folder + "model2_ctx.onnx"), second);
  }

  TempDir folder_;
};

TEST_F(WeightSharing, NModelsGiveNPlusOneFiles) {
  ProgramResult result = Run({"-e", "cpu", "-i", "precision|f32", "./model1.onnx,./model2.onnx"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Files("."), UnorderedElementsAre("model1.onnx", "model2.onnx", "model1_ctx.onnx", "model2_ctx.onnx",
                                               "model1_cpu.bin"));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("model1_ctx.onnx"), HasSubstr("model2_ctx.onnx"), HasSubstr("model1_cpu.bin")));
  for (const char* model : {"model1_ctx.onnx", "model2_ctx.onnx"}) {
    ProgramResult verified = RunEpiphyte({"verify", model}, folder_.path());
    EXPECT_EQ(verified.code, 0) << verified.out;
  }
  ExpectTheNumbersOfTheSources("");
}

TEST_F(WeightSharing, WritesToAFolderAndReplacesOnlyOnRequest) {
  std::filesystem::create_directory(folder_ / "out");
  std::vector<std::string> arguments = {
      "-e", "cpu", "-o", "out", "-C", "ep.context_node_name_prefix|p_", "model1.onnx,model2.onnx"};
  const ProgramResult first = Run(arguments);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(Files("out"), UnorderedElementsAre("model1_ctx.onnx", "model2_ctx.onnx", "model1_cpu.bin"));
  ExpectTheNumbersOfTheSources("out/");
  arguments[5] = "ep.context_node_name_prefix|q_";
  ProgramResult refused = Run(arguments);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  arguments.push_back("--force");
  EXPECT_EQ(Run(arguments).code, 0);
  ExpectTheNumbersOfTheSources("out/");
}

TEST_F(WeightSharing, EachModelMayHaveOptionsOfItsOwn) {
  const ProgramResult result =
      Run({"-e", "cpu", "-C", "ep.context_node_name_prefix|all_", "--model-options", "model2.onnx",
           "ep.context_node_name_prefix|second_ cpu.precision|f32", "./model1.onnx,./model2.onnx"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(InspectContext(folder_ / "model1_ctx.onnx").nodes.at(0).partition, ::testing::StartsWith("all_"));
  EXPECT_THAT(InspectContext(folder_ / "model2_ctx.onnx").nodes.at(0).partition, ::testing::StartsWith("second_"));
  ExpectTheNumbersOfTheSources("");
  EXPECT_THAT(
      Run({"-e", "cpu", "--model-options", "model2.onnx", "vulkan.device|0", "./model1.onnx,./model2.onnx"}).err,
      HasSubstr("options of the provider begin with 'cpu.', because -e is 'cpu'"));
  const std::string first = ReadFile(folder_ / "model1_ctx.onnx");
  for (const auto& [name, pairs] : {std::pair<std::string, std::string>{"model3.onnx", "a|b"},
                                    {"model2.onnx", "no.such_option|1"},
                                    {"model2.onnx", "cpu.precison|f32"},
                                    {"model2.onnx", "vulkan.device|0"},
                                    {"model2.onnx", "ep.context_file_path|x.onnx"}}) {
    const ProgramResult refused =
        Run({"-e", "cpu", "--force", "--model-options", name, pairs, "./model1.onnx,./model2.onnx"});
    EXPECT_NE(refused.code, 0) << name << ' ' << pairs;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_EQ(ReadFile(folder_ / "model1_ctx.onnx"), first) << "a failure leaves what was there";
  }
}

// The library has no manifest in the folders that are searched.
TEST_F(WeightSharing, TakesPluginsByTheirLibrary) {
  const ProgramResult result =
      Run({"-e", "nobody", "--plugin", (folder_ / "absent.so").string(), "./model1.onnx,./model2.onnx"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("absent.so"));
}

TEST_F(WeightSharing, RefusesInOneLineWhatIsWrongOnTheCommandLine) {
  auto refusal = [&](const std::vector<std::string>& arguments, int code) {
    ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal({"model1.onnx"}, 2), HasSubstr("-e"));
  EXPECT_THAT(refusal({"-e", "cpu"}, 2), HasSubstr("MODELS"));
  EXPECT_THAT(refusal({"-e", "cpu", "-i", "precision=f32", "model1.onnx"}, 1), HasSubstr("key|value"));
  EXPECT_THAT(refusal({"-e", "cpu", "-i", "a|1 a|2", "model1.onnx"}, 1), HasSubstr("twice"));
  EXPECT_THAT(refusal({"-e", "cpu", "-C", "ep.contextenable|1", "model1.onnx"}, 1), HasSubstr("ep.context_enable"));
  EXPECT_THAT(refusal({"-e", "cpu", "-C", "ep.context_file_path|x.onnx", "model1.onnx"}, 1), HasSubstr("-o"));
  EXPECT_THAT(refusal({"-e", "gpu9", "model1.onnx"}, 1), HasSubstr("gpu9"));
  EXPECT_THAT(refusal({"-e", "cpu", "model1.onnx,absent.onnx"}, 1), HasSubstr("absent.onnx"));
  EXPECT_THAT(Files("."), UnorderedElementsAre("model1.onnx", "model2.onnx")) << "a failure leaves nothing";
}

}  // namespace
}  // namespace epiphyte::test
