// The commands of the command line. Scripts depend on their effects.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class Cli : public ::testing::Test {
 protected:
  ProgramResult Run(const std::vector<std::string>& arguments) { return RunEpiphyte(arguments, folder_.path()); }

  // Runs a command that must succeed and print one JSON document and nothing else.
  Json RunJson(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    ProgramResult result = Run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
    Json json = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << result.out;
    return json;
  }

  static std::vector<std::string> Keys(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    return keys;
  }

  TempDir folder_;
};

TEST_F(Cli, PluginsListsTheBundledOnesWithoutAnySetting) {
  Json json = RunJson({"plugins"});
  ASSERT_THAT(json["plugins"], Not(IsEmpty()));
  auto cpu = std::ranges::find_if(json["plugins"], [](const Json& plugin) { return plugin["name"] == "cpu"; });
  ASSERT_NE(cpu, json["plugins"].end());
  EXPECT_EQ((*cpu)["state"], "Ready") << "listing opens no library";
  EXPECT_EQ((*cpu)["sources"], Json::array({"EpiphyteCPU"}));
  for (const char* key : {"name", "state", "priority", "version", "vendor", "abi", "library", "manifest", "sources",
                          "devices", "message", "hint", "notes"}) {
    EXPECT_TRUE(cpu->contains(key)) << key;
  }
  for (const Json& folder : json["folders"]) {
    EXPECT_THAT(Keys(folder), ElementsAre("path", "origin", "exists", "manifests"));
  }
  EXPECT_THAT(Run({"plugins"}).out, HasSubstr("cpu"));
}

TEST_F(Cli, PluginsSaysWhatIsWrongWithAManifest) {
  folder_.Write("bad.yaml", "manifest_version: one");
  ProgramResult result = RunEpiphyte({"plugins", "--json"}, ".", OnlyPlugins(folder_.path()));
  EXPECT_EQ(result.code, 0) << "one bad plugin affects nothing else";
  Json plugins = Json::parse(result.out)["plugins"];
  auto bad = std::ranges::find_if(plugins, [](const Json& plugin) { return plugin["state"] == "BadManifest"; });
  ASSERT_NE(bad, plugins.end());
  EXPECT_THAT((*bad)["message"].get<std::string>(), HasSubstr("bad.yaml"));
}

TEST_F(Cli, ALibraryWithoutAManifestIsNamedByAFlag) {
  std::filesystem::copy_file(EPIPHYTE_CRASHING_PLUGIN, folder_ / "fine_one.so");
  folder_.Write("model.onnx", AddModel());
  const Json place = RunJson({"place", "model.onnx", "--plugin", "fine_one.so", "--ep", "fine_one"});
  EXPECT_EQ(place["nodes"][0]["provider"], "fine_one");
  const Json listed = RunJson({"plugins", "--plugin", "fine_one.so"});
  const auto found = std::ranges::find_if(listed["plugins"], [](const Json& p) { return p["name"] == "fine_one"; });
  ASSERT_NE(found, listed["plugins"].end());
  EXPECT_EQ((*found)["state"], "Loaded");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"place", "model.onnx"}, {"run", "model.onnx"}, {"verify", "model.onnx"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--plugin", "absent.so"});
    const ProgramResult absent = Run(words);
    EXPECT_EQ(absent.code, 1);
    EXPECT_THAT(absent.err, AllOf(HasSubstr("LibraryMissing"), HasSubstr("absent.so")));
    EXPECT_THAT(absent.out, IsEmpty());
  }
}

TEST_F(Cli, PluginsAndDoctorNoteAPluginThatOthersCanChange) {
  folder_.Write("plugins/acme.so", "");
  folder_.Write("plugins/acme.yaml",
                "manifest_version: 1\nname: acme\nvendor: V\nversion: 1\nlibrary: acme.so\nabi: \"0.2\"\n");
  std::filesystem::permissions(folder_ / "plugins", std::filesystem::perms{0777});
  for (const char* command : {"plugins", "doctor"}) {
    const ProgramResult result = RunEpiphyte({command}, ".", OnlyPlugins(folder_ / "plugins"));
    EXPECT_THAT(result.out, HasSubstr("others could change this plugin: folder '")) << command;
    EXPECT_THAT(result.out, HasSubstr("mode 0777")) << command;
  }
}

TEST_F(Cli, DoctorOpensThePlugins) {
  Json json = RunJson({"doctor"});
  auto cpu = std::ranges::find_if(json["plugins"], [](const Json& plugin) { return plugin["name"] == "cpu"; });
  ASSERT_NE(cpu, json["plugins"].end());
  EXPECT_EQ((*cpu)["state"], "Loaded") << (*cpu)["message"];
  EXPECT_EQ((*cpu)["found_devices"][0]["kind"], "cpu");
}

TEST_F(Cli, DoctorFailsWhenAPluginIsBroken) {
  folder_.Write("bad.yaml", "manifest_version: one");
  ProgramResult result = RunEpiphyte({"doctor", "--json"}, ".", OnlyPlugins(folder_.path()));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("bad.yaml (BadManifest)"));
  EXPECT_FALSE(Json::parse(result.out, nullptr, false).is_discarded());
}

TEST_F(Cli, PlaceReportsEachNode) {
  folder_.Write("add.onnx", AddModel());
  EXPECT_THAT(Run({"place", "add.onnx"}).out, HasSubstr("cpu"));
  folder_.Write("chain.onnx", ChainModel({"Identity", "Relu"}));
  EXPECT_THAT(Run({"place", "chain.onnx"}).out,
              AllOf(HasSubstr("bypassed: gives its input 'x' on"), HasSubstr("1 more node of the model: 1 bypassed")));
  EXPECT_FALSE(RunJson({"place", "add.onnx", "--ep", "cpu"}).is_null());
  ProgramResult svg = Run({"place", "add.onnx", "--svg", "add.svg"});
  EXPECT_EQ(svg.code, 0) << svg.err;
  EXPECT_THAT(ReadFile(folder_ / "add.svg"), HasSubstr("<svg"));
}

TEST_F(Cli, PlaceSaysWhichKernelEachNodeGets) {
  if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
  folder_.Write("add.onnx", ChainModel({"double"}));
  const Json placed = RunJson({"place", "add.onnx", "--ep", "vulkan"});
  ASSERT_EQ(placed["nodes"][0]["notes"].size(), 1u);
  const std::string note = placed["nodes"][0]["notes"][0];
  EXPECT_THAT(note, HasSubstr("elementwise2.f32"));
  EXPECT_THAT(Run({"place", "add.onnx", "--ep", "vulkan", "--details"}).out, HasSubstr(note));
  EXPECT_THAT(Run({"place", "add.onnx", "--ep", "vulkan"}).out, Not(HasSubstr(note)));
  EXPECT_TRUE(RunJson({"place", "add.onnx", "--ep", "cpu"})["nodes"][0]["notes"].empty());
}

// Mesa's software device compiles a pipeline at its first dispatch, and keeps the code on disk.
TEST_F(Cli, CompilingForVulkanLeavesNoPipelineToTheFirstRun) {
  if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
  folder_.Write("add.onnx", ChainModel({"double"}));
  const std::string cache = (folder_ / "shaders").string();
  const ProgramResult compiled =
      RunEpiphyte({"compile", "add.onnx", "--ep", "vulkan"}, folder_.path(), {{"MESA_SHADER_CACHE_DIR", cache}});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const auto kept = [&] {
    size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache))
      if (entry.is_regular_file() && entry.path().filename() != "index" && entry.path().filename() != "marker") ++files;
    return files;
  };
  const size_t after_compile = kept();
  EXPECT_GT(after_compile, 0u);
  const ProgramResult run =
      RunEpiphyte({"run", "add_ctx.onnx", "--ep", "vulkan"}, folder_.path(), {{"MESA_SHADER_CACHE_DIR", cache}});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(kept(), after_compile);
}

TEST_F(Cli, CompileWritesAContextModelThatRunsTheSame) {
  folder_.Write("matmul.onnx", MatMulModel());
  Json compiled = RunJson({"compile", "matmul.onnx", "--ep", "cpu"});
  EXPECT_EQ(compiled["output"], "matmul_ctx.onnx");
  EXPECT_EQ(compiled["context_nodes"], 1);
  ASSERT_GE(compiled["files"].size(), 2u) << "the payload is a file of its own";
  for (const Json& file : compiled["files"]) {
    EXPECT_EQ(std::filesystem::file_size(folder_ / file["path"].get<std::string>()), file["size"]);
  }
  EXPECT_EQ(RunJson({"run", "matmul.onnx", "--outputs", "cold", "--seed", "7"})["context"], false);
  EXPECT_EQ(RunJson({"run", "matmul_ctx.onnx", "--outputs", "warm", "--seed", "7"})["context"], true);
  EXPECT_EQ(ReadFile(folder_ / "cold/output_0.pb"), ReadFile(folder_ / "warm/output_0.pb"));
}

TEST_F(Cli, CompileOverwritesOnlyWhenAskedTo) {
  folder_.Write("matmul.onnx", MatMulModel());
  folder_.Write("out.onnx", "precious");
  ProgramResult refused = Run({"compile", "matmul.onnx", "--ep", "cpu", "--output", "out.onnx"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(ReadFile(folder_ / "out.onnx"), "precious");
  EXPECT_EQ(RunJson({"compile", "matmul.onnx", "--ep", "cpu", "--output", "out.onnx", "--force"})["output"],
            "out.onnx");
  EXPECT_NE(ReadFile(folder_ / "out.onnx"), "precious");
}

TEST_F(Cli, CompileOfAModelThatIsKnownBeforehandNamesTheFlagThatHelps) {
  folder_.Write("known.onnx", KnownModel());
  const ProgramResult refused = Run({"compile", "known.onnx", "--ep", "npu"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--allow-plain"));
  EXPECT_EQ(Run({"compile", "known.onnx", "--ep", "npu", "--allow-plain"}).code, 0);
}

TEST_F(Cli, CompileEmbeds) {
  folder_.Write("matmul.onnx", MatMulModel());
  EXPECT_EQ(RunJson({"compile", "matmul.onnx", "--ep", "cpu", "--embed"})["files"].size(), 1u);
  Json node = RunJson({"inspect", "matmul_ctx.onnx"})["nodes"][0];
  EXPECT_EQ(node["embed_mode"], 1);
  EXPECT_EQ(node["file"], "");
}

TEST_F(Cli, RunTakesAndWritesFilesAsBackendTestsHaveThem) {
  folder_.Write("add.onnx", AddModel());
  Json first = RunJson({"run", "add.onnx", "--dim", "batch=5", "--save-inputs", "in", "--outputs", "out1"});
  EXPECT_EQ(first["outputs"][0]["type"], "tensor(float)[5,3]");
  EXPECT_EQ(first["providers"], Json::array({"cpu"}));
  RunJson({"run", "add.onnx", "--inputs", "in", "--outputs", "out2"});
  EXPECT_EQ(ReadFile(folder_ / "out1/output_0.pb"), ReadFile(folder_ / "out2/output_0.pb"));
  std::filesystem::copy_file(folder_ / "in/input_0.pb", folder_ / "in/input_2.pb");
  EXPECT_THAT(Run({"run", "add.onnx", "--inputs", "in"}).err, HasSubstr("input_2.pb"));
}

TEST_F(Cli, RunTakesAFileForAnInitializerThatIsAnInput) {
  folder_.Write("model.onnx", OverridableModel());
  EXPECT_THAT(Run({"run", "model.onnx", "--save-inputs", "in", "--outputs", "usual"}).err,
              HasSubstr("'w'), so that a run may give them"));
  // Any tensor with the same type can be the input.
  std::filesystem::copy_file(folder_ / "usual/output_0.pb", folder_ / "in/initializer_w.pb");
  const ProgramResult given = Run({"run", "model.onnx", "--inputs", "in", "--outputs", "given", "--json"});
  EXPECT_EQ(Json::parse(given.out)["inputs"].size(), 1u);
  EXPECT_NE(ReadFile(folder_ / "usual/output_0.pb"), ReadFile(folder_ / "given/output_0.pb"));
  std::filesystem::rename(folder_ / "in/initializer_w.pb", folder_ / "in/initializer_v.pb");
  EXPECT_THAT(Run({"run", "model.onnx", "--inputs", "in"}).err,
              AllOf(HasSubstr("initializer_v.pb"), HasSubstr("the model has: w")));
}

TEST_F(Cli, RandomInputsFollowTheSeed) {
  folder_.Write("add.onnx", AddModel());
  auto inputs = [&](const std::string& seed) {
    RunJson({"run", "add.onnx", "--seed", seed, "--save-inputs", "in" + seed, "--dim", "batch=100"});
    return std::pair(ReadFile(folder_ / ("in" + seed + "/input_0.pb")),
                     ReadFile(folder_ / ("in" + seed + "/input_1.pb")));
  };
  auto one = inputs("1");
  EXPECT_NE(one.first, one.second);
  EXPECT_NE(one, inputs("2"));
  EXPECT_EQ(one, inputs("1"));
}

TEST_F(Cli, RandomMasksAreOnes) {
  folder_.Write("mask.onnx", MaskModel());
  Json mask = RunJson({"run", "mask.onnx", "--dim", "batch=8"})["inputs"][1];
  EXPECT_EQ(mask["name"], "attention_mask");
  EXPECT_EQ(mask["min"], 1);
  EXPECT_EQ(mask["max"], 1);
}

TEST_F(Cli, RunWritesAProfile) {
  folder_.Write("add.onnx", AddModel());
  ProgramResult result = Run({"run", "add.onnx", "--profile", "trace.json", "--threads", "1"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(Json::parse(ReadFile(folder_ / "trace.json"), nullptr, false).is_discarded());
}

TEST_F(Cli, BenchPrintsExactlyTheseFields) {
  folder_.Write("add.onnx", AddModel());
  Json json = RunJson({"bench", "add.onnx", "--runs", "11", "--threads", "1", "--dim", "batch=2"});
  EXPECT_THAT(Keys(json),
              ElementsAre("model", "providers", "session_ms", "first_run_ms", "run_ms", "peak_rss_mb", "context"));
  EXPECT_EQ(json["model"], "add.onnx");
  EXPECT_THAT(Keys(json["run_ms"]), ElementsAre("min", "median", "max"));
  EXPECT_LE(json["run_ms"]["min"], json["run_ms"]["median"]);
  EXPECT_LE(json["run_ms"]["median"], json["run_ms"]["max"]);
  EXPECT_GT(json["session_ms"], 0.0);
  EXPECT_GT(json["peak_rss_mb"], 1.0);
  EXPECT_EQ(json["context"], false);
}

TEST_F(Cli, InspectShowsEveryField) {
  folder_.Write("foreign.onnx", ForeignContextModel());
  Json json = RunJson({"inspect", "foreign.onnx"});
  ASSERT_EQ(json["nodes"].size(), 1u);
  for (const char* key : {"source", "partition", "main_context", "embed_mode", "file", "size", "digest", "sdk_version",
                          "hardware", "notes"}) {
    EXPECT_TRUE(json["nodes"][0].contains(key)) << key;
  }
  EXPECT_THAT(Run({"inspect", "foreign.onnx"}).out, HasSubstr("Nobody"));
  ProgramResult run = Run({"run", "foreign.onnx"});
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("Nobody"));
  EXPECT_THAT(run.err, HasSubstr("EpiphyteCPU"));
}

}  // namespace
}  // namespace epiphyte::test
