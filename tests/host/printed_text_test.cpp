// Text for people: names with terminal control sequences, text that would fill pages, and messages that could name a
// wrong remedy.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "epiphyte/epiphyte.hpp"
#include "host/cli/peak_memory.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// U+009B alone means "escape [". U+202E reverses the direction of the following text.
const std::string kHostileName =
    "x\u202Egnp.exe\u2066\u200F\xC2\x9B"
    "31m\x1b[2J\u2028y";

::testing::Matcher<std::string> IsSafeToPrint() {
  return AllOf(Not(HasSubstr("\xC2\x9B")), Not(HasSubstr("\x1b")), Not(HasSubstr("\u202E")), Not(HasSubstr("\u2066")),
               Not(HasSubstr("\u200F")), Not(HasSubstr("\u2028")));
}

class PrintedText : public ::testing::Test {
 protected:
  ProgramResult Run(const std::vector<std::string>& arguments) { return RunEpiphyte(arguments, folder_.path()); }
  std::string ErrorOf(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  TempDir folder_;
  Environment environment_;
};

TEST_F(PrintedText, HostileNamesOfAModelReachNoTerminal) {
  folder_.Write("m.onnx", NamedModel(kHostileName));
  struct Case {
    std::vector<std::string> command;
    bool shows_the_name;
  };
  const Case kCases[] = {{{"place", "m.onnx"}, true},
                         {{"place", "m.onnx", "--json"}, true},
                         {{"run", "m.onnx"}, true},
                         {{"run", "m.onnx", "--json"}, true},
                         {{"run", kHostileName}, true},
                         {{"run", "m.onnx", "--ep", kHostileName}, true},
                         {{"compile", "m.onnx", "--ep", "cpu", "--embed"}, false},
                         {{"inspect", "m_ctx.onnx"}, false},
                         {{"inspect", "m_ctx.onnx", "--json"}, false},
                         {{"verify", "m_ctx.onnx"}, false}};
  for (const Case& example : kCases) {
    const ProgramResult result = Run(example.command);
    const std::string printed = result.out + result.err;
    EXPECT_THAT(printed, IsSafeToPrint()) << example.command[0] << ' ' << example.command.back();
    if (example.shows_the_name) {
      EXPECT_THAT(printed, HasSubstr("gnp.exe")) << example.command[0] << ' ' << example.command.back();
    }
  }
}

TEST_F(PrintedText, JsonKeepsEveryName) {
  folder_.Write("m.onnx", NamedModel(kHostileName));
  for (const char* command : {"run", "place"}) {
    const Json json = Json::parse(Run({command, "m.onnx", "--json"}).out, nullptr, false);
    ASSERT_FALSE(json.is_discarded());
    EXPECT_THAT(json.dump(), HasSubstr(kHostileName.substr(0, 10))) << command;
  }
}

TEST_F(PrintedText, AVendorThatWritesPagesIsShortened) {
  folder_.Write("loud.yaml", "manifest_version: 1\nname: loud\nvendor: " + std::string(60'000, 'v') +
                                 "\nversion: 1.0.0\nlicense: MIT\ndescription: d\nlibrary: loud.so\nabi: \"0.2\"\n"
                                 "sources: [Loud]\ndevices: [other]\npriority: 1\n");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"plugins"}, {"doctor", "loud"}}) {
    const ProgramResult result = RunEpiphyte(command, folder_.path(), OnlyPlugins(folder_.path()));
    EXPECT_THAT(result.out, AllOf(HasSubstr("loud"), HasSubstr("vvv..."))) << command[0];
    EXPECT_LT(result.out.size(), 10'000u) << command[0];
  }
}

TEST_F(PrintedText, WithoutAWordOfTheSystemThePeakIsUnknown) {
  EXPECT_EQ(cli::PeakRssMb(folder_ / "absent"), std::nullopt);
  EXPECT_EQ(cli::PeakRssMb(folder_.Write("status", "Name: epiphyte\n")), std::nullopt);
  EXPECT_THAT(cli::PeakText(std::nullopt), HasSubstr("unknown"));
  EXPECT_EQ(cli::PeakText(cli::PeakRssMb(folder_.Write("more", "VmHWM:\t   2048 kB\n"))), "2.0 MiB");
}

TEST_F(PrintedText, AdviceNamesTheApiForApplicationsAndFlagsForTheCommandLine) {
  const fs::path model = folder_.Write("m.onnx", MatMulModel());
  const auto compile = [&] {
    SessionOptions options;
    options.AddProvider("cpu").Set("ep.context_enable", "1");
    Session session(environment_, model, options);
  };
  compile();
  EXPECT_THAT(ErrorOf(compile), AllOf(HasSubstr("epiphyte.context_overwrite"), Not(HasSubstr("--"))));
  EXPECT_THAT(Run({"compile", "m.onnx", "--ep", "cpu"}).err, HasSubstr("--force"));
  folder_.Write("both.onnx", "something else");
  MergeOptions merge;
  merge.models = {folder_ / "m_ctx.onnx", folder_ / "m_ctx.onnx"};
  merge.output = folder_ / "both.onnx";
  EXPECT_THAT(ErrorOf([&] { MergeContexts(environment_, merge); }),
              AllOf(HasSubstr("MergeOptions::overwrite"), Not(HasSubstr("--"))));
  EXPECT_THAT(Run({"merge", "m_ctx.onnx", "m_ctx.onnx", "-o", "both.onnx"}).err, HasSubstr("--force"));
}

TEST_F(PrintedText, AnInputWithoutATypeIsNamed) {
  folder_.Write("m.onnx", UntypedModel());
  fs::create_directory(folder_ / "in");
  folder_.Write("in/input_0.pb", "");
  for (const auto& arguments : {std::vector<std::string>{"run", "m.onnx"}, {"run", "m.onnx", "--inputs", "in"}}) {
    EXPECT_THAT(Run(arguments).err,
                AllOf(HasSubstr("type of input 'pixels' is unknown"), HasSubstr("export the model")));
  }
  EXPECT_THAT(ErrorOf([&] { LoadValue(folder_ / "in/input_0.pb", TypeInfo()); }), HasSubstr("input_0.pb"));
  // The file of a tensor contains its type.
  const float numbers[] = {1, 2};
  SaveValue(folder_ / "v.pb", Value::Copy<float>(numbers, {2}), TypeInfo(), "v");
  EXPECT_EQ(LoadValue(folder_ / "v.pb", TypeInfo::Tensor(ElementType::kFloat)).Data<float>()[1], 2);
}

TEST_F(PrintedText, MissingDeviceIsReportedWithTheValidIndices) {
  folder_.Write("m.onnx", MatMulModel());
  EXPECT_THAT(Run({"run", "m.onnx", "--ep", "cpu", "--ep-option", "cpu.device=1"}).err,
              AllOf(HasSubstr("device 1 was asked for"), HasSubstr("its only device is 0"), HasSubstr("begins at 0")));
}

TEST_F(PrintedText, APatternThatFillsPagesIsShortened) {
  folder_.Write("m.onnx", PatternModel("(" + std::string(5000, 'a')));
  const ProgramResult result = Run({"run", "m.onnx"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("(RegexFullMatch): pattern '(aaa"), HasSubstr("aaa...'")));
  EXPECT_LT(result.err.size(), 1000u);
}

TEST_F(PrintedText, UnknownTransformIsReportedWithTheKnownOnes) {
  folder_.Write("m.onnx", MatMulModel());
  EXPECT_THAT(
      Run({"run", "m.onnx", "--option", "optimization.disable_specified_optimizers=foo"}).err,
      AllOf(HasSubstr("no transform is called 'foo'"), HasSubstr("RemoveIdentity"), HasSubstr("FoldConstants")));
}

}  // namespace
}  // namespace epiphyte::test
