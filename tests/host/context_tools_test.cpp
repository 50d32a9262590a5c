// inspect --check, verify and merge: their output, and the exit codes that scripts depend on.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "epiphyte/context.hpp"
#include "epiphyte/environment.hpp"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class ContextTools : public ::testing::Test {
 protected:
  ContextTools() {
    folder_.Write("matmul.onnx", MatMulModel());
    EXPECT_EQ(Run({"compile", "matmul.onnx", "--ep", "cpu"}).code, 0);
  }
  ProgramResult Run(const std::vector<std::string>& arguments) { return RunEpiphyte(arguments, folder_.path()); }
  static Json Parsed(const ProgramResult& result) {
    Json json = Json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << result.out << result.err;
    return json;
  }
  void Flip(const std::string& name, size_t at) {
    std::string bytes = ReadFile(folder_ / name);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 4);
    folder_.Write(name, bytes);
  }

  TempDir folder_;
};

TEST_F(ContextTools, CheckSaysOptimalWhereTheModelWasCompiled) {
  ProgramResult text = Run({"inspect", "matmul_ctx.onnx", "--check"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("EpiphyteCPU"), HasSubstr("optimal")));
  Json json = Parsed(Run({"inspect", "matmul_ctx.onnx", "--check", "--json"}));
  EXPECT_EQ(json["verdict"], "optimal");
  EXPECT_EQ(json["providers"][0]["name"], "cpu");
  EXPECT_EQ(json["nodes"][0]["source"], "EpiphyteCPU");
}

TEST_F(ContextTools, CheckFailsForASourceWithoutPluginAndNamesInstalledSources) {
  folder_.Write("foreign.onnx", ForeignContextModel());
  ProgramResult result = Run({"inspect", "foreign.onnx", "--check", "--json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(Parsed(result)["verdict"], "not applicable");
  EXPECT_THAT(result.err, AllOf(HasSubstr("'Nobody'"), HasSubstr("EpiphyteCPU")));
}

TEST_F(ContextTools, CheckFailsForAModelWithoutContexts) {
  ProgramResult result = Run({"inspect", "matmul.onnx", "--check"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("no EPContext node"));
}

TEST_F(ContextTools, VerifyFindsNothingWrongWithWhatWasJustCompiled) {
  ProgramResult text = Run({"verify", "matmul_ctx.onnx"});
  EXPECT_EQ(text.code, 0) << text.out << text.err;
  Json json = Parsed(Run({"verify", "matmul_ctx.onnx", "--json"}));
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["seal"], "intact");
  EXPECT_EQ(json["context_nodes"], 1);
  EXPECT_EQ(json["payloads"][0]["file"], "matmul_cpu.bin");
  EXPECT_EQ(json["payloads"][0]["recorded"], true);
}

TEST_F(ContextTools, VerifyListsEveryProblem) {
  Flip("matmul_cpu.bin", 200);
  std::string model = ReadFile(folder_ / "matmul_ctx.onnx");
  size_t producer = model.find("epiphyte tests");
  ASSERT_NE(producer, std::string::npos);
  Flip("matmul_ctx.onnx", producer);
  ProgramResult result = Run({"verify", "matmul_ctx.onnx", "--json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("2 problems"));
  Json json = Parsed(result);
  EXPECT_EQ(json["seal"], "broken");
  ASSERT_EQ(json["problems"].size(), 2u);
  EXPECT_THAT(json["problems"][0].get<std::string>(), HasSubstr("--reseal"));
  EXPECT_THAT(json["problems"][1].get<std::string>(), HasSubstr("matmul_cpu.bin"));
}

TEST_F(ContextTools, CheckRefusesABrokenSealAsASessionDoes) {
  Flip("matmul_ctx.onnx", ReadFile(folder_ / "matmul_ctx.onnx").find("epiphyte tests"));
  const ProgramResult checked = Run({"inspect", "--check", "matmul_ctx.onnx"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.err, AllOf(HasSubstr("seal"), HasSubstr("epiphyte verify --reseal")));
  const ContextCheck verdict = CheckContext(Environment(), folder_ / "matmul_ctx.onnx");
  EXPECT_EQ(verdict.verdict, ContextVerdict::kUnsupported);
  EXPECT_THAT(verdict.reason, HasSubstr("seal"));
  EXPECT_TRUE(CheckContext(Environment(), folder_ / "matmul_ctx.onnx", /*with_payloads=*/false).usable())
      << "judged by attributes and metadata alone";
}

TEST_F(ContextTools, ResealAcceptsAChangeOfTheModelAndNotOfItsPayload) {
  Flip("matmul_ctx.onnx", ReadFile(folder_ / "matmul_ctx.onnx").find("epiphyte tests"));
  EXPECT_THAT(Run({"run", "matmul_ctx.onnx"}).err, AllOf(HasSubstr("seal"), HasSubstr("epiphyte verify --reseal")));
  ProgramResult resealed = Run({"verify", "matmul_ctx.onnx", "--reseal"});
  EXPECT_EQ(resealed.code, 0) << resealed.err;
  EXPECT_THAT(resealed.out, HasSubstr("was broken"));
  EXPECT_EQ(Run({"run", "matmul_ctx.onnx"}).code, 0);
  EXPECT_THAT(Run({"verify", "matmul_ctx.onnx", "--reseal"}).out, HasSubstr("nothing had to be done"));

  Flip("matmul_cpu.bin", 200);
  std::string before = ReadFile(folder_ / "matmul_ctx.onnx");
  ProgramResult refused = Run({"verify", "matmul_ctx.onnx", "--reseal"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("not sealed again"), HasSubstr("matmul_cpu.bin")));
  EXPECT_EQ(ReadFile(folder_ / "matmul_ctx.onnx"), before);
}

// Verdicts consider options and a list of providers as sessions do.
TEST_F(ContextTools, CheckAndVerifyTakeProvidersAndTheirOptions) {
  const std::vector<std::string> other = {"--ep-option", "cpu.precision=int8-dynamic"};
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const ProgramResult check = Run(with({"inspect", "matmul_ctx.onnx", "--check"}, other));
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, AllOf(HasSubstr("prefer recompilation"), HasSubstr("precision int8-dynamic")));
  const ProgramResult verify = Run(with({"verify", "matmul_ctx.onnx"}, other));
  EXPECT_EQ(verify.code, 0) << verify.err;
  EXPECT_THAT(verify.out, HasSubstr("precision int8-dynamic"));
  const ProgramResult unknown = Run({"inspect", "matmul_ctx.onnx", "--check", "--ep", "cpuu"});
  EXPECT_NE(unknown.code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("cpuu"));
}

TEST_F(ContextTools, MergeJoinsModelsThatThenRun) {
  folder_.Write("add.onnx", AddModel());
  EXPECT_EQ(Run({"compile", "add.onnx", "--ep", "cpu"}).code, 0);
  ProgramResult merged = Run({"merge", "matmul_ctx.onnx", "add_ctx.onnx", "-o", "both_ctx.onnx", "--connect",
                              "matmul.y=add.a", "--connect", "A.y=B.b", "--json"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  Json json = Parsed(merged);
  EXPECT_EQ(json["context_nodes"], 2);
  EXPECT_EQ(json["referenced"].size(), 2u);
  EXPECT_THAT(json["written"], IsEmpty());
  EXPECT_EQ(Run({"verify", "both_ctx.onnx"}).code, 0);

  Json run = Parsed(Run({"run", "both_ctx.onnx", "--json", "--seed", "5"}));
  Json first = Parsed(Run({"run", "matmul_ctx.onnx", "--json", "--seed", "5"}));
  EXPECT_EQ(run["outputs"].size(), 1u);
  EXPECT_DOUBLE_EQ(run["outputs"][0]["max"].get<double>(), 2 * first["outputs"][0]["max"].get<double>());
}

TEST_F(ContextTools, MergeRefusesInOneLine) {
  auto refusal = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "merge");
    ProgramResult result = Run(arguments);
    EXPECT_NE(result.code, 0);
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal({"matmul_ctx.onnx", "-o", "c.onnx"}), HasSubstr("MODELS"));
  EXPECT_THAT(refusal({"matmul_ctx.onnx", "matmul_ctx.onnx"}), HasSubstr("--output"));
  EXPECT_THAT(refusal({"matmul_ctx.onnx", "matmul_ctx.onnx", "-o", "c.onnx", "--connect", "matmul.y=B.x"}),
              HasSubstr("letters"));
  EXPECT_THAT(refusal({"matmul_ctx.onnx", "matmul_ctx.onnx", "-o", "c.onnx", "--connect", "A.y=B.q"}),
              AllOf(HasSubstr("no input 'q'"), HasSubstr("it has: x")));
  folder_.Write("c.onnx", "precious");
  EXPECT_THAT(refusal({"matmul_ctx.onnx", "matmul_ctx.onnx", "-o", "c.onnx"}), HasSubstr("--force"));
  EXPECT_EQ(ReadFile(folder_ / "c.onnx"), "precious");
  EXPECT_EQ(Run({"merge", "matmul_ctx.onnx", "matmul_ctx.onnx", "-o", "c.onnx", "--force"}).code, 0);
}

}  // namespace
}  // namespace epiphyte::test
