// The example applications, each run as host/examples/README.md shows it.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Examples : public ::testing::Test {
 protected:
  ProgramResult Run(const std::string& name, const std::vector<std::string>& arguments,
                    const std::vector<std::filesystem::path>& plugins = {EPIPHYTE_PLUGIN_FOLDER}) {
    std::string path;
    for (const std::filesystem::path& folder : plugins) path += (path.empty() ? "" : ":") + folder.string();
    return RunProgram(std::string(EPIPHYTE_EXAMPLES) + "/" + name, arguments, folder_.path(), OnlyPlugins(path));
  }
  // Expects that the program succeeded and printed each of `parts`.
  void ExpectGood(const ProgramResult& result, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
    for (const std::string& part : parts) EXPECT_THAT(result.out, HasSubstr(part));
  }
  void ExpectError(const ProgramResult& result, const std::string& part) {
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }

  TempDir folder_;
};

TEST_F(Examples, ARewriteRuleChangesWhatItMatches) {
  folder_.Write("model.onnx", ChainModel({"Relu", "square", "square", "Neg"}));
  ExpectGood(Run("rewrite_rule", {"model.onnx"}), {"rewrote 2 of Pow into Mul", "the outputs are those of the model"});
  folder_.Write("plain.onnx", ChainModel({"Relu"}));
  ExpectGood(Run("rewrite_rule", {"plain.onnx"}), {"rewrote 0 of Pow"});
  ExpectError(Run("rewrite_rule", {"absent.onnx"}), "absent.onnx");
}

TEST_F(Examples, AGraphTransformBuildsTheNormalisationIn) {
  folder_.Write("model.onnx", ChainModel({"Abs", "double"}));
  ExpectGood(Run("graph_transform", {"model.onnx", "x", "127.5", "0.0078"}),
             {"'x' is normalised in the model", "raw pixels give what normalised ones gave"});
  ExpectError(Run("graph_transform", {"model.onnx", "pixels", "0", "1"}),
              "transform 'example.Normalize': the model has no input 'pixels'");
}

TEST_F(Examples, ACacheStaysInTheMemoryOfADevice) {
  folder_.Write("model.onnx", CacheModel(/*attends=*/true));
  ExpectGood(Run("kv_cache", {"model.onnx", "cpu", "200", "past=present"}),
             {"'past' is 8192 bytes in host memory", "after 200 steps it is what plain runs make"});
  const std::filesystem::path device = std::filesystem::path(EPIPHYTE_TEST_DEVICE).parent_path();
  ExpectGood(Run("kv_cache", {"model.onnx", "test_device", "200", "past=present"}, {EPIPHYTE_PLUGIN_FOLDER, device}),
             {"'past' is 8192 bytes in memory 'arena' of test_device", "after 200 steps it is what plain runs make"});
  ExpectError(Run("kv_cache", {"model.onnx", "cpu", "2", "cache=present"}), "no input 'cache'");
  ExpectError(Run("kv_cache", {"model.onnx", "cpu", "2", "past=cache"}), "no output 'cache'");
  EXPECT_EQ(Run("kv_cache", {"model.onnx", "cpu", "none", "past=present"}).code, 2);
}

TEST_F(Examples, AProviderIsRegisteredByThePathOfItsLibrary) {
  const std::string library = std::string(EPIPHYTE_EXAMPLES) + "/example_elementwise.so";
  folder_.Write("model.onnx", ChainModel({"Relu", "Neg", "square", "Abs"}));
  ExpectGood(Run("provider_by_path", {library, "model.onnx"}),
             {"registered example_elementwise 1.0.0", "example_elementwise 3 in 2 partitions", "cpu 1",
              "the outputs are those of the CPU"});
  ExpectError(Run("provider_by_path", {"absent.so", "model.onnx"}), "LibraryMissing");
  ExpectError(Run("provider_by_path", {folder_ / "model.onnx", "model.onnx"}), "not a shared library");
}

}  // namespace
}  // namespace epiphyte::test
