// Nodes without a kernel for their own float type run in float32, between casts.
#include <gmock/gmock.h>

#include <algorithm>

#include "core/abi/host_tables.h"
#include "core/onnx/infer/inference.h"
#include "epiphyte/kit/graph/import.hpp"
#include "plugins/cpu/exec/float_fallback.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;

struct Imported {
  explicit Imported(std::string_view text) : graph(ParseGraph(text)) {
    core::InferTypes(*graph);
    graph->Finalize();
    def = kit::ir::Import(*core::HostInfo(), core::ToAbi(graph.get()), "test");
  }
  std::unique_ptr<core::Graph> graph;
  kit::ir::Graph def;
};

// A recurrent network of `type` with float inputs. `number` is the type's value in ONNX.
std::string Recurrent(const std::string& type, int number) {
  const std::string to = std::to_string(number);
  return "in x: float[3,1,2]\nconst w: " + type + "[1,2,2] = 0.5 -0.25 1 0.125\nconst r: " + type +
         "[1,2,2] = 0.1 0.2 -0.3 0.4\nd = Cast<to=" + to + ">(x)\ny = RNN@14<hidden_size=2>(d, w, r)\n" +
         "again, last = RNN@14<hidden_size=2>(d, w, r)\nz = Cast<to=1>(y)\nout z, last\n";
}

TEST(RunInFloat, ANodeWithoutAKernelForItsTypeComputesBetweenCasts) {
  Imported model(Recurrent("double", 11));
  const std::vector<std::string> told = cpu::RunInFloat(model.def, AllKernels());
  EXPECT_THAT(told, ElementsAre(AllOf(HasSubstr("computed in float"), HasSubstr("RNN 'y'")), HasSubstr("RNN 'again'")));
  EXPECT_EQ(Operators(model.def), "Cast Cast RNN RNN Cast Cast Cast") << "cast once for both, and what somebody reads";
  for (const kit::ir::Node& node : model.def.nodes) {
    if (node.op_type != "RNN") continue;
    for (const int32_t input : node.inputs) EXPECT_EQ(model.def.values[input].type, EP_TYPE_FLOAT);
  }
  Imported plain(Recurrent("float", 1));
  const std::vector<float> x = {0.5f, -1, 0.25f, 2, -0.75f, 1};
  const std::vector<float> expected = PlanRunner(std::move(plain.def)).Run({x});
  EXPECT_THAT(PlanRunner(std::move(model.def)).Run({x}), Pointwise(FloatNear(1e-6f), expected));
}

TEST(RunInFloat, WhatHasAKernelOfItsTypeStays) {
  Imported model(R"(
    in    x: double[2,2]
    const w: double[2,2] = 1 2 3 4
    m = MatMul(x, w)
    y = Softmax(m)
    out y
  )");
  EXPECT_THAT(cpu::RunInFloat(model.def, AllKernels()), IsEmpty());
  EXPECT_EQ(Operators(model.def), "MatMul Softmax");
}

TEST(RunInFloat, UnknownOperatorsStayAsTheyAre) {
  Imported model(R"(
    in  x: double[2]
    y:double[2] = NoSuchOperator(x)
    out y
  )");
  EXPECT_THAT(cpu::RunInFloat(model.def, AllKernels()), IsEmpty());
  EXPECT_EQ(Operators(model.def), "NoSuchOperator");
}

TEST(RunInFloat, ANetworkOfSixteenBitsIsCastAtItsEnds) {
  for (const std::string type : {"float16", "bfloat16"}) {
    Imported model(
        "in x: " + type + "[1,1,4,4]\nconst w: " + type +
        "[2,1,1,1] = 0.5 -1\nc = Conv@22(x, w)\nr = Relu(c)\ns = Add(r, c)\np = MaxPool@22<kernel_shape=[2,2]>(s)\n" +
        "y = Softmax(p)\nout y\n");
    EXPECT_THAT(cpu::RunInFloat(model.def, AllKernels()), IsEmpty()) << "nothing to tell of";
    EXPECT_EQ(Operators(model.def), "Cast Conv Relu Add MaxPool Softmax Cast");
    const kit::ir::Node& conv = model.def.nodes[1];
    EXPECT_EQ(model.def.values[conv.inputs[1]].type, EP_TYPE_FLOAT);
    EXPECT_EQ(model.def.values[model.def.outputs[0]].type, type == "float16" ? EP_TYPE_FLOAT16 : EP_TYPE_BFLOAT16);
  }
}

TEST(RunInFloat, OperatorsBesideNoProductKeepTheirType) {
  Imported model(R"(
    in x: float16[2,3]
    r = Relu(x)
    t = Transpose(r)
    y = Add(t, t)
    out y
  )");
  cpu::RunInFloat(model.def, AllKernels());
  EXPECT_EQ(Operators(model.def), "Relu Transpose Add");
}

TEST(RunInFloat, NodesThatReadBitsGetTheOriginalType) {
  Imported model(R"(
    in x: float16[2,2]
    in k: float16[2,2]
    const w: float16[2,2] = 1 2 3 4
    m = MatMul(x, w)
    l = Less(m, x)
    f = Cast<to=1>(m)
    cache = Concat<axis=0>(k, m)
    out l, f, cache
  )");
  cpu::RunInFloat(model.def, AllKernels());
  EXPECT_EQ(Operators(model.def), "Cast MatMul Cast Less Identity Concat")
      << "compared as it is; widened without rounding; a cache that grows isn't converted";
}

TEST(RunInFloat, ResultsOfSixteenBitsAreRoundedOnce) {
  // 1 + 2^-8 needs 9 bits of significand, so as a bfloat16 it is 1. If the product were rounded to bfloat16, adding -1
  // would give 0.
  Imported model(R"(
    in x: float[1,2]
    const w: bfloat16[2,1] = 1 0.00390625
    const minus: bfloat16[1] = -1
    b = Cast<to=16>(x)
    m = MatMul(b, w)
    s = Add(m, minus)
    y = Cast<to=1>(s)
    out y
  )");
  cpu::RunInFloat(model.def, AllKernels());
  EXPECT_THAT(PlanRunner(std::move(model.def)).Run({{1, 1}}), ElementsAre(0.00390625f));
}

// Expected operators for each value of Float32Promotion, for a node that reads the result of a matrix product and for
// the same node alone.
struct FloatUseRow {
  const char* node;   // text of a node that computes y from m
  const char* after;  // operators when m is the result of a product
  const char* by_itself;
};

TEST(RunInFloat, AKernelsRegistrationSaysWhetherItsNodeRunsInFloat) {
  const FloatUseRow rows[] = {
      // Sums over a large part of the input: conversion to float pays off wherever the node stands (kAlways).
      {"y = MaxPool@22<kernel_shape=[2,2]>(m)", "MaxPool Cast", "Cast MaxPool Cast"},
      {"y = GlobalAveragePool@22(m)", "GlobalAveragePool Cast", "Cast GlobalAveragePool Cast"},
      {"y = LRN@13<size=1>(m)", "LRN Cast", "Cast LRN Cast"},
      {"y = LpNormalization@22(m)", "LpNormalization Cast", "Cast LpNormalization Cast"},
      {"y = MeanVarianceNormalization@13(m)", "MeanVarianceNormalization Cast", "Cast MeanVarianceNormalization Cast"},
      {"y = MatMul@13(m, m)", "MatMul Cast", "Cast MatMul Cast"},
      {"y = Einsum@12<equation=\"abij,abjk->abik\">(m, m)", "Einsum Cast", "Cast Einsum Cast"},
      {"const s: float[4] = 1 1 2 2\ny = Resize@19<mode=\"linear\">(m, _, s)", "Resize Cast", "Cast Resize Cast"},
      // Moves elements: the node takes the type in which its input is available (kFollowInputs).
      {"const s: float[4] = 1 1 2 2\ny = Resize@19<mode=\"nearest\">(m, _, s)", "Resize Cast", "Resize"},
      {"y = Transpose(m)", "Transpose Cast", "Transpose"},
      // Depends on the bits of its own type, so it never runs in float (kNever).
      {"y = Equal@19(m, m)", "Cast Equal", "Equal"},
      {"y = GreaterOrEqual@16(m, m)", "Cast GreaterOrEqual", "GreaterOrEqual"},
      {"y = IsNaN@20(m)", "Cast IsNaN", "IsNaN"},
      {"y = IsInf@20(m)", "Cast IsInf", "IsInf"},
      {"y = NonZero@13(m)", "Cast NonZero", "NonZero"},
      {"y = Unique@11(m)", "Cast Unique", "Unique"},
      {"y = Bernoulli@22(m)", "Cast Bernoulli", "Bernoulli"},
      {"const s: float16[] = 0.5\ny = QuantizeLinear@21(m, s)", "Cast QuantizeLinear", "QuantizeLinear"},
  };
  for (const FloatUseRow& row : rows) {
    SCOPED_TRACE(row.node);
    Imported behind(std::string("in x: float16[1,1,4,4]\nm = MatMul@13(x, x)\n") + row.node + "\nout y\n");
    cpu::RunInFloat(behind.def, AllKernels());
    EXPECT_EQ(Operators(behind.def), std::string("Cast MatMul ") + row.after);
    Imported alone(std::string("in m: float16[1,1,4,4]\n") + row.node + "\nout y\n");
    cpu::RunInFloat(alone.def, AllKernels());
    EXPECT_EQ(Operators(alone.def), row.by_itself);
  }
}

TEST(MultipliesOnly, OneTypeWhenAllProductsAreOfIt) {
  const auto multiplies = [](const std::string& second) {
    Imported model("in x: bfloat16[1,1,4,4]\nin f: float[1,1,4,4]\nm = MatMul@13(x, x)\n" + second + "\nout m, y\n");
    EXPECT_FALSE(cpu::MultipliesOnly(EP_TYPE_FLOAT16, model.def, AllKernels()));
    return cpu::MultipliesOnly(EP_TYPE_BFLOAT16, model.def, AllKernels());
  };
  EXPECT_TRUE(multiplies("y = Relu(f)"));
  EXPECT_TRUE(multiplies("y = Conv@22(x, x)"));
  EXPECT_FALSE(multiplies("y = Conv@22(f, f)"));
  EXPECT_FALSE(multiplies("y = MatMul@13(f, f)"));
  EXPECT_FALSE(multiplies("y = ConvTranspose@22(f, f)")) << "it would be rounded with the others";
  Imported none("in x: bfloat16[1,1,4,4]\ny = Relu(x)\nout y\n");
  EXPECT_FALSE(cpu::MultipliesOnly(EP_TYPE_BFLOAT16, none.def, AllKernels()));
  Imported halves("in x: float16[4,4]\ny = MatMul@13(x, x)\nout y\n");
  EXPECT_TRUE(cpu::MultipliesOnly(EP_TYPE_FLOAT16, halves.def, AllKernels()));
}

}  // namespace
}  // namespace epiphyte::test
