// The command line's messages about wrong usage.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::ContainsRegex;
using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kCommands = {"plugins", "doctor", "place", "compile", "run", "bench", "inspect"};

// A failing command prints one line of the common form on standard error, and nothing on standard output.
void ExpectError(const ProgramResult& result, const std::string& part) {
  EXPECT_GT(result.code, 0);
  EXPECT_LT(result.code, 128) << "killed by a signal";
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, ::testing::StartsWith("epiphyte: error: "));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr(part));
}

TEST(CommandLine, HelpOfEveryCommand) {
  ProgramResult all = RunEpiphyte({"--help"});
  EXPECT_EQ(all.code, 0) << all.err;
  for (const std::string& command : kCommands) {
    EXPECT_THAT(all.out, HasSubstr(command));
    ProgramResult help = RunEpiphyte({command, "--help"});
    EXPECT_EQ(help.code, 0) << help.err;
    EXPECT_THAT(help.err, IsEmpty());
    EXPECT_THAT(help.out, HasSubstr("--json")) << command;
    EXPECT_THAT(help.out, HasSubstr("epiphyte " + command)) << command;
  }
}

TEST(CommandLine, FlagsOfTheCommandsStay) {
  auto expect = [](const std::string& command, const std::vector<std::string>& flags) {
    std::string help = RunEpiphyte({command, "--help"}).out;
    for (const std::string& flag : flags) EXPECT_THAT(help, HasSubstr(flag)) << command;
  };
  expect("place", {"MODEL", "--ep", "--json", "--svg"});
  expect("compile",
         {"MODEL", "--ep", "--output", "--embed", "--force", "--option", "--ep-option", "--time-limit", "--json"});
  expect("run", {"MODEL", "--ep", "--inputs", "--outputs", "--seed", "--threads", "--option", "--ep-option",
                 "--profile", "--time-limit", "--json"});
  expect("bench", {"MODEL", "--ep", "--threads", "--runs", "--json"});
  expect("inspect", {"MODEL", "--json"});
}

TEST(CommandLine, Version) {
  ProgramResult result = RunEpiphyte({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, ContainsRegex("^epiphyte [0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(CommandLine, CommandMustBeKnown) {
  ExpectError(RunEpiphyte({}), "no command given");
  ExpectError(RunEpiphyte({"plugin"}), "did you mean 'plugins'?");
  ExpectError(RunEpiphyte({"zzzzzzzz"}), "commands are: plugins, doctor");
}

TEST(CommandLine, FlagsMustBeKnown) {
  for (const std::string& command : kCommands) ExpectError(RunEpiphyte({command, "m.onnx", "--jsn"}), "'--jsn'");
  ExpectError(RunEpiphyte({"bench", "m.onnx", "--rnus", "3"}), "did you mean '--runs'?");
  ExpectError(RunEpiphyte({"run", "a.onnx", "b.onnx"}), "'b.onnx'");
}

TEST(CommandLine, FlagsMustBeComplete) {
  ExpectError(RunEpiphyte({"run"}), "MODEL");
  ExpectError(RunEpiphyte({"run", "m.onnx", "--ep"}), "--ep");
  ExpectError(RunEpiphyte({"run", "m.onnx", "--threads", "many"}), "--threads");
  ExpectError(RunEpiphyte({"run", "m.onnx", "--threads", "0"}), "--threads");
  ExpectError(RunEpiphyte({"bench", "m.onnx", "--runs", "-1"}), "--runs");
}

class CommandLineWithModel : public ::testing::Test {
 protected:
  ProgramResult Run(std::vector<std::string> arguments) { return RunEpiphyte(arguments, folder_.path()); }

  TempDir folder_;
  std::filesystem::path model_ = folder_.Write("add.onnx", AddModel());
};

TEST_F(CommandLineWithModel, OptionsMustBeKnown) {
  ExpectError(Run({"run", "add.onnx", "--option", "ep.context_enabled=1"}), "'ep.context_enable'");
  ExpectError(Run({"run", "add.onnx", "--option", "ep.context_enable"}), "KEY=VALUE");
  ExpectError(Run({"compile", "add.onnx", "--option", "ep.context_embed_mode=2"}), "ep.context_embed_mode");
  ExpectError(Run({"run", "add.onnx", "--ep-option", "precision=bf16"}), "names no provider");
  ExpectError(Run({"run", "add.onnx", "--ep", "cpu", "--ep-option", "npu.x=1"}), "'npu'");
  ExpectError(Run({"run", "add.onnx", "--ep", "cpu", "--ep-option", "cpu.no_such_option=1"}), "no_such_option");
}

TEST_F(CommandLineWithModel, ProvidersMustBeInstalled) {
  for (const char* command : {"place", "compile", "run", "bench"}) {
    ExpectError(Run({command, "add.onnx", "--ep", "no_such_provider"}), "no_such_provider");
  }
  ExpectError(Run({"run", "add.onnx", "--ep", "cpu,cpu"}), "twice");
  ExpectError(Run({"run", "add.onnx", "--ep", "cpu,,x"}), "empty name");
}

TEST_F(CommandLineWithModel, ModelsMustBeThereAndBeModels) {
  folder_.Write("text.onnx", "this is no model");
  folder_.Write("empty.onnx", "");
  folder_.Write("short.onnx", AddModel().substr(0, 50));
  for (const char* command : {"place", "compile", "run", "bench", "inspect"}) {
    ExpectError(Run({command, "absent.onnx"}), "absent.onnx");
    ExpectError(Run({command, "."}), "'.'");
    ExpectError(Run({command, "text.onnx"}), "text.onnx");
    ExpectError(Run({command, "empty.onnx"}), "empty.onnx");
    ExpectError(Run({command, "short.onnx"}), "");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "text_ctx.onnx"));
}

TEST_F(CommandLineWithModel, InputsMustFit) {
  ExpectError(Run({"run", "add.onnx", "--inputs", "absent"}), "absent");
  std::filesystem::create_directory(folder_ / "in");
  ExpectError(Run({"run", "add.onnx", "--inputs", "in"}), "input_0.pb");
  folder_.Write("in/input_0.pb", "this is no tensor");
  folder_.Write("in/input_1.pb", "this is no tensor");
  ExpectError(Run({"run", "add.onnx", "--inputs", "in"}), "input_0.pb");
  ExpectError(Run({"run", "add.onnx", "--inputs", "in", "--dim", "batch=2"}), "--dim");
  ExpectError(Run({"run", "add.onnx", "--dim", "bach=2"}), "batch");
  ExpectError(Run({"run", "add.onnx", "--dim", "batch=two"}), "batch=4");
}

TEST_F(CommandLineWithModel, OutputsMustBeWritable) {
  folder_.Write("file", "");
  ExpectError(Run({"run", "add.onnx", "--outputs", "file/x"}), "file");
  ExpectError(Run({"run", "add.onnx", "--profile", "absent/trace.json"}), "absent");
  ExpectError(Run({"compile", "add.onnx", "--ep", "cpu", "--output", "absent/ctx.onnx"}), "absent");
  ExpectError(Run({"place", "add.onnx", "--svg", "absent/x.svg"}), "absent");
}

TEST_F(CommandLineWithModel, SvgNeedsGraphviz) {
  ProgramResult result = RunEpiphyte({"place", "add.onnx", "--svg", "x.svg"}, folder_.path(), {{"PATH", "/nowhere"}});
  ExpectError(result, "install graphviz");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.svg"));
}

TEST_F(CommandLineWithModel, FullDiskIsNoSuccess) {
  if (!std::filesystem::exists("/dev/full")) FAIL() << "this system has no /dev/full";
  std::string command = std::string(EPIPHYTE_PROGRAM) + " plugins --json > /dev/full 2> " + (folder_ / "err").string();
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_THAT(ReadFile(folder_ / "err"), HasSubstr("standard output"));
}

// --- --json: prints one document in every case

Json ErrorOf(const ProgramResult& result) {
  const Json json = Json::parse(result.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << result.out << result.err;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  return json.is_object() && json.contains("error") ? json["error"] : Json();
}

TEST_F(CommandLineWithModel, AFailureIsJsonToo) {
  for (const std::string& command : kCommands) {
    if (command == "plugins" || command == "doctor") continue;
    const ProgramResult result = Run({command, "absent.onnx", "--json"});
    const Json error = ErrorOf(result);
    EXPECT_EQ(error["code"], "NO_SUCHFILE") << command;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("absent.onnx")) << command;
    EXPECT_EQ(error["exit_code"], 1) << command;
    EXPECT_EQ(result.code, 1) << command;
  }
}

TEST_F(CommandLineWithModel, AFailureNamesItsHint) {
  EXPECT_EQ(ErrorOf(Run({"run", "add.onnx", "--ep", "cpuu", "--json"}))["hint"], "list_plugins");
  EXPECT_EQ(ErrorOf(Run({"run", "add.onnx", "--ep", "cpu", "--disable", "cpu", "--json"}))["hint"], "list_plugins");
  folder_.Write("add_ctx.onnx", "something");
  EXPECT_EQ(ErrorOf(Run({"compile", "add.onnx", "--ep", "cpu", "--json"}))["hint"], "overwrite");
  EXPECT_EQ(ErrorOf(Run({"run", "absent.onnx", "--json"}))["hint"], "");
}

TEST_F(CommandLineWithModel, AWrongCommandLineIsJsonToo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "--json"},
                                                {"rnu", "--json"},
                                                {"--json"},
                                                {"run", "add.onnx", "--json", "--jsn"},
                                                {"place", "add.onnx", "--json", "--svg", "x.svg"}}) {
    const ProgramResult result = Run(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(ErrorOf(result)["exit_code"], 2) << result.out;
  }
}

TEST_F(CommandLineWithModel, AReportOfWhatFailedIsTheOnlyDocument) {
  folder_.Write("plugins/bad.yaml", "manifest_version: one");
  const ProgramResult doctor = RunEpiphyte({"doctor", "--json"}, folder_.path(), OnlyPlugins(folder_ / "plugins"));
  EXPECT_EQ(doctor.code, 1);
  EXPECT_TRUE(Json::parse(doctor.out, nullptr, false).contains("plugins")) << doctor.out;
  ASSERT_EQ(Run({"compile", "add.onnx", "--ep", "cpu"}).code, 0);
  ASSERT_TRUE(std::filesystem::remove(folder_ / "add_cpu.bin"));
  const ProgramResult verify = Run({"verify", "add_ctx.onnx", "--json"});
  EXPECT_EQ(verify.code, 1);
  EXPECT_TRUE(Json::parse(verify.out, nullptr, false).contains("problems")) << verify.out;
}

// --- documentation that is checked against the program

TEST(CommandLine, HelpNamesTheVariables) {
  const std::string help = RunEpiphyte({"--help"}).out;
  for (const char* variable : {"EPIPHYTE_LOG", "EPIPHYTE_PLUGIN_PATH", "EPIPHYTE_POLICY", "EPIPHYTE_DISABLE"}) {
    EXPECT_THAT(help, HasSubstr(variable));
  }
}

TEST(CommandLine, WrongLogLevelIsReportedAtStart) {
  const ProgramResult result = RunEpiphyte({"plugins"}, ".", {{"EPIPHYTE_LOG", "loud"}});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("EPIPHYTE_LOG is 'loud', expected one of trace, debug, info, warning, error, off"));
}

TEST_F(CommandLineWithModel, AFailedRunLeavesNoTrace) {
  std::filesystem::create_directory(folder_ / "in");
  folder_.Write("in/input_0.pb", "this is no tensor");
  folder_.Write("old.json", "kept");
  for (const char* trace : {"trace.json", "old.json"}) {
    EXPECT_EQ(Run({"run", "add.onnx", "--inputs", "in", "--profile", trace}).code, 1);
    EXPECT_EQ(Run({"run", "absent.onnx", "--profile", trace}).code, 1);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "trace.json"));
  EXPECT_EQ(ReadFile(folder_ / "old.json"), "kept");
}

}  // namespace
}  // namespace epiphyte::test
