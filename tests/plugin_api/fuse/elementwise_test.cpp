// Element-wise trees become programs, and invalid programs are refused.
#include "epiphyte/kit/fuse/elementwise.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::ElementwiseOp;
using kit::fuse::ElementwiseOptions;
using kit::fuse::ElementwiseProgram;
using testing::HasSubstr;

Recogniser Elementwise(ElementwiseOptions options = {}) {
  return [options](kit::ir::Editor& editor) { kit::fuse::FuseElementwise(editor, options); };
}

// Computes a program on one number from each input, as elementwise_program.hpp defines it.
double Compute(const ElementwiseProgram& program, const std::vector<double>& inputs) {
  std::vector<double> results;
  for (const ElementwiseProgram::Instruction& step : program.instructions) {
    const auto operand = [&](int32_t reference) {
      if (reference < 0) return static_cast<double>(step.p0);
      const auto index = static_cast<size_t>(reference / 2);
      return reference % 2 == 0 ? inputs[index] : results[index];
    };
    const double a = operand(step.a), b = IsBinary(step.op) ? operand(step.b) : 0;
    switch (step.op) {
      case ElementwiseOp::kAdd: results.push_back(a + b); break;
      case ElementwiseOp::kSub: results.push_back(a - b); break;
      case ElementwiseOp::kMul: results.push_back(a * b); break;
      case ElementwiseOp::kDiv: results.push_back(a / b); break;
      case ElementwiseOp::kTanh: results.push_back(std::tanh(a)); break;
      case ElementwiseOp::kNeg: results.push_back(-a); break;
      case ElementwiseOp::kSquare: results.push_back(a * a); break;
      case ElementwiseOp::kClip: results.push_back(a < step.p0 ? step.p0 : a > step.p1 ? step.p1 : a); break;
      case ElementwiseOp::kHardSigmoid: results.push_back(std::min(1.0, std::max(0.0, step.p0 * a + step.p1))); break;
      default: ADD_FAILURE() << NameOf(step.op); results.push_back(0);
    }
  }
  return results.back();
}

TEST(FuseElementwise, ATreeBecomesAProgramThatComputesTheSame) {
  const kit::ir::Graph graph = RecognisedGraph(R"(
in a: float[2,3]
in b: float[3]
const two: float[] = [2]
const low: float[] = [-1]
m = Mul@14(a, b) : float[2,3]
d = Div@14(two, m) : float[2,3]
p = Pow@13(a, two) : float[2,3]
c = Clip@13(p, low, two) : float[2,3]
s = Sub@14(d, c) : float[2,3]
h = HardSigmoid<alpha=0.25, beta=0.5>(s) : float[2,3]
y = Add@14(h, h) : float[2,3]
out y
)",
                                               Elementwise());
  ASSERT_EQ(graph.nodes.size(), 1u);
  ASSERT_EQ(graph.nodes[0].domain, kit::fuse::kDomain);
  const ElementwiseProgram program = kit::fuse::ReadElementwiseProgram(graph.nodes[0]);
  for (const double a : {0.5, -2.0, 1.25}) {
    for (const double b : {3.0, -0.75}) {
      std::vector<double> inputs;
      for (int32_t input : graph.nodes[0].inputs)
        inputs.push_back(graph.values[static_cast<size_t>(input)].name == "a" ? a : b);
      const double s = 2 / (a * b) - std::min(2.0, std::max(-1.0, a * a));
      EXPECT_DOUBLE_EQ(Compute(program, inputs), 2 * std::min(1.0, std::max(0.0, 0.25 * s + 0.5))) << a << " " << b;
    }
  }
}

const std::string kChain = "in x: float[4]\na = Neg@13(x) : float[4]\ny = Tanh@13(a) : float[4]\nout y\n";

TEST(FuseElementwise, AProviderSaysWhatItTakes) {
  EXPECT_EQ(Recognised(kChain, Elementwise()),
            "y = epiphyte.kit::Elementwise<code=[9,0,-1,8,1,-1], parameters=[0.0,0.0,0.0,0.0]>(x)\n");
  ElementwiseOptions options;
  options.takes = [](ElementwiseOp op) { return op != ElementwiseOp::kTanh; };
  EXPECT_EQ(RecognisedOperators(kChain, Elementwise(options)), "Neg Tanh");
  options = {};
  options.takes_type = [](EpElementType type) { return type == EP_TYPE_FLOAT16; };
  EXPECT_EQ(RecognisedOperators(kChain, Elementwise(options)), "Neg Tanh");
  options = {};
  options.most_instructions = 1;
  EXPECT_EQ(RecognisedOperators(kChain, Elementwise(options)), "Neg Tanh");
}

TEST(FuseElementwise, AnOperatorAloneStaysUnlessItIsWorthIt) {
  const std::string text = "in x: float[4]\ny = Neg@13(x) : float[4]\nout y\n";
  EXPECT_EQ(RecognisedOperators(text, Elementwise()), "Neg");
  ElementwiseOptions options;
  options.alone = [](const kit::ir::Editor&, int32_t) { return true; };
  EXPECT_EQ(RecognisedOperators(text, Elementwise(options)), "Elementwise");
}

TEST(FuseElementwise, WhatIsNeededBesidesOrHasAnotherShapeIsMade) {
  EXPECT_EQ(RecognisedOperators(kChain + "out a\n", Elementwise()), "Neg Tanh");
  EXPECT_EQ(RecognisedOperators("in x: float[4]\nin z: float[2,4]\na = Neg@13(x) : float[4]\n"
                                "y = Add@14(a, z) : float[2,4]\nout y\n",
                                Elementwise()),
            "Neg Add");
  EXPECT_EQ(
      RecognisedOperators("in x: int32[4]\na = Neg@13(x) : int32[4]\ny = Abs@13(a) : int32[4]\nout y\n", Elementwise()),
      "Neg Abs");
}

TEST(FuseElementwise, ALongChainBecomesProgramsOfTheLargestSize) {
  std::string text = "in x: float[4]\nv0 = Neg@13(x) : float[4]\n";
  for (int i = 0; i < 3000; ++i)
    text += "v" + std::to_string(i + 1) + " = Neg@13(v" + std::to_string(i) + ") : float[4]\n";
  const kit::ir::Graph graph = RecognisedGraph(text + "out v3000\n", Elementwise());
  EXPECT_EQ(graph.nodes.size(), 3u);
  size_t count = 0;
  for (const kit::ir::Node& node : graph.nodes) count += kit::fuse::ReadElementwiseProgram(node).instructions.size();
  EXPECT_EQ(count, 3001u);
}

std::string Refusal(const std::vector<int64_t>& code, std::vector<int32_t> inputs = {0}, size_t parameters = 4) {
  kit::ir::Node node;
  node.inputs = std::move(inputs);
  node.attributes = {kit::ir::Attribute::Ints("code", code),
                     kit::ir::Attribute::Floats("parameters", std::vector<float>(parameters))};
  try {
    kit::fuse::ReadElementwiseProgram(node);
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
    return error.what();
  }
  return "";
}

TEST(ElementwiseProgram, ThatMakesNoSenseIsRefused) {
  EXPECT_EQ(Refusal({8, 0, -1, 0, 1, 0}), "");
  EXPECT_THAT(Refusal({8, 0, 0, 0, 1, 0}), HasSubstr("operand 1 of instruction 0 is 0"));
  for (int64_t operand : {int64_t{2}, int64_t{3}, int64_t{-1}, int64_t{1} << 32, std::numeric_limits<int64_t>::min()})
    EXPECT_THAT(Refusal({8, operand, -1, 0, 1, 0}),
                HasSubstr("operand 0 of instruction 0 is " + std::to_string(operand)));
  EXPECT_THAT(Refusal({8, 0, -1, 0, -1, -1}), HasSubstr("operand 0 of instruction 1 is -1"));
  EXPECT_THAT(Refusal({8, 0, -1, 1000, 1, 0}), HasSubstr("instruction 1 has operation 1000"));
  EXPECT_THAT(Refusal({8, 0, -1, 0, 1}), HasSubstr("5 integers and 4 parameters found"));
  EXPECT_THAT(Refusal({8, 0, -1, 0, 1, 0}, {0}, 3), HasSubstr("6 integers and 3 parameters found"));
  EXPECT_THAT(Refusal({}, {0}, 0), HasSubstr("0 integers"));
  EXPECT_THAT(Refusal({8, 0, -1, 0, 1, 0}, {}), HasSubstr("it has 0 inputs; 1 to 32 expected"));
  EXPECT_THAT(Refusal({8, 0, -1, 0, 1, 0}, std::vector<int32_t>(33, 0)), HasSubstr("it has 33 inputs"));
  EXPECT_THAT(Refusal({8, 0, -1, 0, 1, 0}, {0, -1}), HasSubstr("an input is left out"));
}

TEST(ElementwiseOp, HasANameThatNamesIt) {
  for (int32_t op = 0; op < static_cast<int32_t>(ElementwiseOp::kCount); ++op)
    EXPECT_EQ(kit::fuse::ElementwiseOpOf(NameOf(static_cast<ElementwiseOp>(op))), static_cast<ElementwiseOp>(op));
  EXPECT_EQ(kit::fuse::ElementwiseOpOf("?"), std::nullopt);
}

}  // namespace
}  // namespace epiphyte::test
