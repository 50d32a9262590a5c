// BeamSearch, GreedySearch and Sampling, compared with ONNX Runtime.
#include <gmock/gmock.h>

#include "core/runtime/session.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/microsoft/call.h"
#include "tests/onnx/microsoft/generation_expected.h"
#include "tests/onnx/microsoft/generation_models.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::HasSubstr;

DataType TypeOf(const Fed& input) { return input.type == "float" ? DataType::kFloat : DataType::kInt32; }

std::vector<core::ValuePtr> Inputs(const GenerationCase& test) {
  std::vector<core::ValuePtr> values;
  for (const auto& [place, input] : test.inputs)
    values.push_back(ToValue(Of(input.dims, input.numbers, TypeOf(input))));
  return values;
}

Arrays RunOn(core::Session& session, const GenerationCase& test) {
  Arrays found;
  for (const core::ValuePtr& output : session.Run(Inputs(test))) found.push_back(FromValue(*output));
  return found;
}

Arrays RunText(const std::string& text, const GenerationCase& test) {
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  const std::string bytes = OnnxFromText(text);
  core::Session session(*environment, bytes.data(), bytes.size(), core::SessionConfig(OptionsFor({"cpu"})));
  return RunOn(session, test);
}
Arrays Generate(const GenerationCase& test) { return RunText(GenerationText(test), test); }

GenerationCase CaseNamed(const std::string& name) {
  for (GenerationCase& test : GenerationCases())
    if (test.name == name) return test;
  throw std::invalid_argument(name);
}

std::vector<double> MeanOfEachTurn(const Array& scores) {
  std::vector<double> means;
  const int64_t each = scores.dims[0] == 0 ? 0 : scores.count() / scores.dims[0];
  for (int64_t turn = 0; turn < scores.dims[0]; ++turn) {
    double sum = 0, count = 0;
    for (int64_t i = turn * each; i < (turn + 1) * each; ++i) {
      const double score = scores.numbers[static_cast<size_t>(i)];
      if (score <= -50) continue;
      sum += score;
      ++count;
    }
    means.push_back(sum / count);
  }
  return means;
}

void ExpectAgreement(const Arrays& found, const ExpectedGeneration& expected) {
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].type, DataType::kInt32);
  EXPECT_EQ(found[0].numbers, expected.sequences);
  if (found.size() < 3) return;
  ASSERT_EQ(found[1].numbers.size(), expected.best.size());
  for (size_t i = 0; i < expected.best.size(); ++i) EXPECT_NEAR(found[1].numbers[i], expected.best[i], 2e-5) << i;
  const std::vector<double> means = MeanOfEachTurn(found[2]);
  ASSERT_EQ(means.size(), expected.scores.size());
  for (size_t i = 0; i < means.size(); ++i) EXPECT_NEAR(means[i], expected.scores[i], 2e-4) << "turn " << i;
}

class Generation : public testing::TestWithParam<GenerationCase> {};

TEST_P(Generation, IsThatOfOnnxRuntime) {
  for (const ExpectedGeneration& expected : ExpectedGenerations()) {
    if (GetParam().name == expected.name) return ExpectAgreement(Generate(GetParam()), expected);
  }
  FAIL() << "nothing is expected of " << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Microsoft, Generation, testing::ValuesIn(GenerationCases()),
                         [](const testing::TestParamInfo<GenerationCase>& info) { return info.param.name; });

TEST(MicrosoftGeneration, RunsFromAContext) {
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  for (const std::string name : {"gpt_plain", "gpt_shared_weights", "t5_plain", "greedy_plain"}) {
    const GenerationCase test = CaseNamed(name);
    const TempDir dir;
    const auto path = dir.Write("model.onnx", OnnxFromText(GenerationText(test)));
    core::SessionOptions compile = OptionsFor({"cpu"});
    compile.Set("ep.context_enable", "1");
    core::Session(*environment, path, core::SessionConfig(compile));
    core::Session session(*environment, dir / "model_ctx.onnx", core::SessionConfig(OptionsFor({"cpu"})));
    EXPECT_TRUE(session.has_context());
    const Arrays expected = Generate(test), found = RunOn(session, test);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) ExpectNear(found[i], expected[i], 1e-5);
  }
}

TEST(MicrosoftGeneration, WhatIsNotGeneratedIsPadded) {
  // Both rows end before the longest length.
  GenerationCase test = CaseNamed("greedy_plain");
  test.attributes = "eos_token_id=2, pad_token_id=1";
  test.inputs[0] = {"int32", {2, 4}, {1, 1, 3, 4, 6, 7, 8, 9}};
  EXPECT_THAT(Generate(test)[0].numbers, testing::ElementsAre(1, 1, 3, 4, 6, 6, 1, 1, 1, 1, 1, 1,  //
                                                              6, 7, 8, 9, 1, 1, 1, 1, 1, 1, 1, 1));
}

// ONNX Runtime uses the penalty of the first row's first token for all tokens.
TEST(MicrosoftGeneration, APresencePenaltyIsThatOfItsToken) {
  GenerationCase test = CaseNamed("sampling_most_likely");
  test.inputs[4] = {"int32", {12}, {1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1}};
  const Arrays forbidden = Generate(test);
  test.inputs.erase(4);
  std::vector<double> mask(24, 0);
  mask[6] = mask[12 + 6] = 1;
  test.inputs[7] = {"int32", {2, 12}, mask};
  test.attributes += ", presence_penalty=1000.0";
  EXPECT_EQ(Generate(test)[0].numbers, forbidden[0].numbers);
  EXPECT_NE(forbidden[0].numbers, Generate(CaseNamed("sampling_most_likely"))[0].numbers);
}

TEST(MicrosoftGeneration, AModelMayRunAgainWithOtherSizes) {
  GenerationCase test = CaseNamed("gpt_padded");
  std::string text = GenerationText(test);
  text.replace(text.find("int32[2,4] i0"), 13, "int32[b0,s0] i0");
  const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  const std::string bytes = OnnxFromText(text);
  core::Session session(*environment, bytes.data(), bytes.size(), core::SessionConfig(OptionsFor({"cpu"})));
  const Arrays first = RunOn(session, test);
  GenerationCase smaller = test;
  smaller.inputs[0] = {"int32", {1, 4}, {1, 1, 3, 4}};
  const Arrays alone = RunOn(session, smaller);
  EXPECT_EQ(alone[0].dims, (Dims{1, 4, 12}));
  EXPECT_EQ(RunOn(session, test)[0].numbers, first[0].numbers);
}

std::string Failure(const std::string& name, const std::string& from, const std::string& to) {
  const GenerationCase test = CaseNamed(name);
  std::string text = GenerationText(test);
  size_t place = text.find(from);
  if (place == std::string::npos) throw std::invalid_argument(from);
  for (; place != std::string::npos; place = text.find(from, place + to.size())) text.replace(place, from.size(), to);
  return FailureOf([&] { RunText(text, test); });
}

TEST(MicrosoftGeneration, GraphsThatDoNotFitAreRefusedByName) {
  EXPECT_THAT(Failure("gpt_plain", "decoder = gpt", "init_decoder = gpt"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("attribute 'decoder' is missing")));
  EXPECT_THAT(Failure("t5_plain", "encoder = e", "init_decoder = e"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("attribute 'encoder' is missing")));
  EXPECT_THAT(
      Failure("gpt_plain", "int32[rows,total] attention_mask", "int32[rows,total] attention_mask, float[1] more"),
      AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("input 'more' of graph 'gpt' is tensor(float)[1]")));
  EXPECT_THAT(Failure("gpt_plain", "float[2,rows,2,past,4] past_0", "float[2,rows,heads,past,4] past_0"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("past_0"), HasSubstr("a known size of dimension 2")));
  EXPECT_THAT(Failure("t5_plain", "encoder_attention_mask", "mask"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("graph 'e' has an input 'mask'")));
  EXPECT_THAT(Failure("t5_plain", "model_type=1", "model_type=7"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("model_type")));
  EXPECT_THAT(Failure("t5_plain", "decoder_start_token_id=2", "decoder_start_token_id=-1"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("decoder_start_token_id")));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
