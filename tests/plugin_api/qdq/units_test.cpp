// QDQ units beyond the rows of the table: nodes shared between units, nodes between an operator and its QuantizeLinear,
// possible scales and types, and reasons for nodes without a unit.
#include "epiphyte/kit/qdq/units.hpp"

#include <gmock/gmock.h>

#include "epiphyte/kit/qdq/rules.hpp"
#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

using kit::qdq::Options;
using testing::HasSubstr;
using testing::StartsWith;

TEST(QdqUnits, AreMadeOfAllOperatorsOfTheTable) {
  for (const char* op_type : {"Gather",
                              "Reshape",
                              "Expand",
                              "Flatten",
                              "Transpose",
                              "MaxPool",
                              "Resize",
                              "Squeeze",
                              "Unsqueeze",
                              "Tile",
                              "ArgMax",
                              "ArgMin",
                              "AveragePool",
                              "GlobalAveragePool",
                              "GlobalMaxPool",
                              "LeakyRelu",
                              "ReduceMean",
                              "ReduceMin",
                              "ReduceMax",
                              "ReduceProd",
                              "ReduceSum",
                              "Relu",
                              "Gelu",
                              "Elu",
                              "HardSigmoid",
                              "HardSwish",
                              "Sigmoid",
                              "Slice",
                              "LogSoftmax",
                              "Softmax",
                              "Sqrt",
                              "Atan",
                              "Asin",
                              "Sin",
                              "Cos",
                              "Sign",
                              "Tanh",
                              "Exp",
                              "Log",
                              "LRN",
                              "Ceil",
                              "Floor",
                              "Round",
                              "Abs",
                              "Neg",
                              "DepthToSpace",
                              "SpaceToDepth",
                              "LpNormalization",
                              "Clip",
                              "Add",
                              "Sub",
                              "Mul",
                              "Div",
                              "Pow",
                              "PRelu",
                              "GridSample",
                              "Concat",
                              "Max",
                              "Min",
                              "Split",
                              "Conv",
                              "ConvTranspose",
                              "MatMul",
                              "Gemm",
                              "InstanceNormalization",
                              "LayerNormalization",
                              "BatchNormalization",
                              "RMSNormalization",
                              "Where",
                              "Pad",
                              "TopK",
                              "CumSum",
                              "ScatterElements",
                              "Einsum",
                              "Reciprocal",
                              "Equal",
                              "Greater",
                              "GreaterOrEqual",
                              "Less",
                              "LessOrEqual"}) {
    kit::ir::Node node;
    node.op_type = op_type;
    EXPECT_NE(kit::qdq::FindRule(node), nullptr) << op_type;
    node.domain = "com.microsoft";
    EXPECT_EQ(kit::qdq::FindRule(node), nullptr) << "of another domain: " << op_type;
  }
}

// --- the end of a unit

constexpr const char* kConv = R"(
in q: uint8[1,4,4,4]
const qw: int8[3,4,1,1] = …
x = DequantizeLinear@13(q, s, z) : float[1,4,4,4]
w = DequantizeLinear@13<axis=0>(qw, s3) : float[3,4,1,1]
y = Conv@11(x, w) : float[1,3,4,4]
)";

TEST(QdqUnits, AQuantizedResultMayHaveAnyNumberOfReadersAndBeAnOutput) {
  EXPECT_EQ(Units(std::string(kConv) + R"(
    r = QuantizeLinear@13(y, s, z) : uint8[1,3,4,4]
    a = Foo(r)
    b = Foo(r)
    out r, a, b)",
                  "y"),
            "Conv(x, w) -> r");
}

TEST(QdqUnits, AReluThatChangesNothingIsNoClampToCompute) {
  const std::string relu = std::string(kConv) +
                           "k = Relu@14(y) : float[1,3,4,4]\n"
                           "r = QuantizeLinear@13(k, s, zero) : uint8[1,3,4,4]\nout r";
  EXPECT_EQ(Units(relu, "y"), "Conv(x, w) | Relu [0, 255] -> r");
  EXPECT_EQ(Units(relu, "y", {.working_clamps = false}), "Conv(x, w) | Relu [0, 255] -> r");
}

TEST(QdqUnits, ARangeThatIsCutIsPartOfTheUnitUnlessTheProviderHasNoClamp) {
  const std::string clip = std::string(kConv) + R"(
    const six: float[] = [6]
    const nil: float[] = [0]
    k = Clip@13(y, nil, six) : float[1,3,4,4]
    r = QuantizeLinear@13(k, si, z) : uint8[1,3,4,4]
    out r)";
  EXPECT_EQ(Units(clip, "y"), "Conv(x, w) | Clip [128, 152] -> r");
  EXPECT_THAT(Units(clip, "y", {.working_clamps = false}),
              StartsWith("none: Clip 'k', which reads its output, changes numbers: 128 to 152"));
  EXPECT_EQ(ReasonOf(clip, "k", {.working_clamps = false}), "its input 0 'y' isn't dequantised");
}

TEST(QdqUnits, BoundsOfOldClipsAreAttributes) {
  EXPECT_EQ(Units(std::string(kConv) + R"(
    k = Clip@6<min=-1.5, max=3.0>(y) : float[1,3,4,4]
    r = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]
    out r)",
                  "y"),
            "Conv(x, w) | Clip [125, 134] -> r");
}

TEST(QdqUnits, BoundsMayBeDequantisedConstantsWhichBelongToTheUnit) {
  EXPECT_EQ(Units(std::string(kConv) + R"(
    const ql: uint8[] = [120]
    l = DequantizeLinear@13(ql, s, z) : float[]
    k = Clip@13(y, l, _) : float[1,3,4,4]
    r = QuantizeLinear@13(k, si, z) : uint8[1,3,4,4]
    out r)",
                  "y"),
            "Conv(x, w) | Clip [112, 255] of l -> r");
}

TEST(QdqUnits, BoundsThatAreKnownOnlyInTheRunAreNotPossible) {
  EXPECT_EQ(Units(std::string(kConv) + R"(
    in l: float[]
    k = Clip@13(y, l) : float[1,3,4,4]
    r = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]
    out r)",
                  "y"),
            "none: Clip 'k', which reads its output, can't be part of the unit: its bounds aren't constant numbers");
}

TEST(QdqUnits, BoundsThatAreNoNumbersAreNotPossible) {
  EXPECT_THAT(Units(std::string(kConv) + R"(
    const l: float[] = [nan]
    k = Clip@13(y, l) : float[1,3,4,4]
    r = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]
    out r)",
                    "y"),
              HasSubstr("its bounds aren't constant numbers"));
}

TEST(QdqUnits, OfALowerBoundAboveTheUpperOneTheUpperRemains) {
  EXPECT_EQ(Units(std::string(kConv) + R"(
    const l: float[] = [4]
    const h: float[] = [2]
    k = Clip@13(y, l, h) : float[1,3,4,4]
    r = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]
    out r)",
                  "y"),
            "Conv(x, w) | Clip [136, 132] -> r")
      << "min(max(q, 136), 132) is 132, as ONNX has it";
}

TEST(QdqUnits, AnActivationWithAnotherReaderIsNotPartOfOne) {
  const std::string text = std::string(kConv) + R"(
    k = Relu@14(y) : float[1,3,4,4]
    r = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]
    out r, k)";
  EXPECT_EQ(Units(text, "y"), "none: what Relu 'k' makes of its output is an output of the graph, in float");
}

TEST(QdqUnits, ScalesOfAResultAreOne) {
  EXPECT_EQ(Units(std::string(kConv) + "r = QuantizeLinear@13<axis=1>(y, s3) : uint8[1,3,4,4]\nout r", "y"),
            "none: its output 0 'y' has several scales, along axis 1; one expected");
}

TEST(QdqUnits, ProductsMayEndInFloatOnRequest) {
  const std::string text = R"(
    in q: uint8[2,3]
    const qw: uint8[3,4] = …
    x = DequantizeLinear@13(q, s, z) : float[2,3]
    w = DequantizeLinear@13(qw, s, z) : float[3,4]
    y = MatMul@13(x, w) : float[2,4]
    out y)";
  EXPECT_EQ(Units(text, "y"), "none: its output 0 'y' is an output of the graph, in float");
  EXPECT_EQ(Units(text, "y", {.float_products = true}), "MatMul(x, w) -> _");
}

TEST(QdqUnits, OutputsThatARuleDoesNotKnowAreNotPossible) {
  EXPECT_EQ(Units(R"(
    in q: uint8[2,3]
    const qw: uint8[3] = …
    x = DequantizeLinear@13(q, s, z) : float[2,3]
    w = DequantizeLinear@13(qw, s, z) : float[3]
    y, mean = LayerNormalization@17(x, w) : float[2,3], float[2,1]
    r = QuantizeLinear@13(y, s, z) : uint8[2,3]
    out r, mean)",
                  "y"),
            "none: its output 1 'mean' can't be in a QDQ unit");
}

// --- nodes that units share

constexpr const char* kTwoReaders = R"(
in q: uint8[4]
x = DequantizeLinear@13(q, s, z) : float[4]
a = Sigmoid@13(x) : float[4]
ra = QuantizeLinear@13(a, s, z) : uint8[4]
b = Tanh@13(x) : float[4]
rb = QuantizeLinear@13(b, s, z) : uint8[4]
out ra, rb
)";

TEST(QdqUnits, ASharedDequantizeBelongsToItsFirstReader) {
  EXPECT_EQ(Units(kTwoReaders, "a"), "Sigmoid(x) -> ra\nTanh(x) -> rb, shares x");
}

TEST(QdqUnits, AnOperatorMayReadOneDequantizeTwice) {
  EXPECT_EQ(Units(R"(
    in q: uint8[4]
    x = DequantizeLinear@13(q, s, z) : float[4]
    y = Mul@14(x, x) : float[4]
    r = QuantizeLinear@13(y, s, z) : uint8[4]
    out r)",
                  "y"),
            "Mul(x, x) -> r");
}

TEST(QdqUnits, WhatAnotherUnitCannotShareMakesNone) {
  const Options no_tanh = {.refuse = [](const kit::ir::Editor& editor, const kit::qdq::Unit& unit) -> std::string {
    return editor.node(unit.target).Is("Tanh") ? "there is no table of tanh" : "";
  }};
  EXPECT_EQ(ReasonOf(kTwoReaders, "b", no_tanh), "there is no table of tanh");
  EXPECT_EQ(ReasonOf(kTwoReaders, "a", no_tanh),
            "DequantizeLinear 'x', which it reads, is read by Tanh 'b', too, which is in no QDQ unit");
  Options with_floats = no_tanh;
  with_floats.dequantized_outputs = true;
  EXPECT_EQ(Units(kTwoReaders, "a", with_floats), "Sigmoid(x) -> ra");
}

TEST(QdqUnits, AReaderWithoutAUnitTakesTheUnitsOfAllThatShareWithIt) {
  // f reads x, a shares x with m, m shares w with b; c shares nothing.
  const std::string text = R"(
    in q: uint8[4]
    in p: uint8[4]
    in o: uint8[4]
    x = DequantizeLinear@13(q, s, z) : float[4]
    w = DequantizeLinear@13(p, s, z) : float[4]
    v = DequantizeLinear@13(o, s, z) : float[4]
    f = Foo(x)
    a = Sigmoid@13(x) : float[4]
    ra = QuantizeLinear@13(a, s, z) : uint8[4]
    m = Mul@14(x, w) : float[4]
    rm = QuantizeLinear@13(m, s, z) : uint8[4]
    b = Sigmoid@13(w) : float[4]
    rb = QuantizeLinear@13(b, s, z) : uint8[4]
    c = Sigmoid@13(v) : float[4]
    rc = QuantizeLinear@13(c, s, z) : uint8[4]
    out f, ra, rm, rb, rc)";
  EXPECT_EQ(Units(text, "a"), "Sigmoid(v) -> rc");
  EXPECT_THAT(ReasonOf(text, "m"), HasSubstr("'x', which it reads, is read by Foo 'f'"));
  EXPECT_THAT(ReasonOf(text, "b"), HasSubstr("'w', which it reads, is read by Mul 'm'"));
}

TEST(QdqUnits, WhatABodyOrTheGraphReadsIsRead) {
  const std::string unit = R"(
    in q: uint8[4]
    in c: bool[]
    x = DequantizeLinear@13(q, s, z) : float[4]
    y = Sigmoid@13(x) : float[4]
    r = QuantizeLinear@13(y, s, z) : uint8[4]
    )";
  EXPECT_THAT(Units(unit + "t = If@16(c) reads (x)\nout r, t", "y"),
              HasSubstr("'x', which it reads, is read by If 't'"));
  EXPECT_THAT(Units(unit + "t = If@16(c) reads (y)\nout r, t", "y"), HasSubstr("has 2 readers"));
  EXPECT_THAT(Units(unit + "out r, x", "y"), HasSubstr("'x', which it reads, makes an output of the graph"));
}

TEST(QdqUnits, HugeFanOutsTakeLinearTime) {
  std::string text = "in q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]\n";
  constexpr int kReaders = 20000;
  for (int i = 0; i < kReaders; ++i) {
    const std::string n = std::to_string(i);
    text += "y" + n + " = Sigmoid@13(x) : float[4]\nr" + n + " = QuantizeLinear@13(y" + n + ", s, z) : uint8[4]\n";
  }
  kit::ir::Graph graph = kit::ir::FromText(Text(text));
  const kit::ir::Editor editor(graph);
  EXPECT_EQ(kit::qdq::FindUnits(editor).units.size(), static_cast<size_t>(kReaders));
  kit::ir::Graph leaking = kit::ir::FromText(Text(text + "f = Foo(x)\nout f"));
  const kit::ir::Editor of_leaking(leaking);
  EXPECT_EQ(UnitsText(of_leaking, kit::qdq::FindUnits(of_leaking)), "");
}

// --- operators with rules of their own

TEST(QdqUnits, PoolsTakeIntegersSinceVersionTwelve) {
  EXPECT_EQ(Units("in q: uint8[4]\nx = DequantizeLinear@10(q, s, z)\ny = MaxPool@10(x)\nr = QuantizeLinear@10(y, s, "
                  "z)\nout r",
                  "y"),
            "none: version 10 of it takes no integers, 12 does");
}

std::string GemmWithBias(const std::string& attributes, const std::string& bias) {
  return "in q: uint8[4,4]\nconst qw: int8[4,4] = …\nx = DequantizeLinear@13(q, s, z) : float[4,4]\n"
         "w = DequantizeLinear@13(qw, s) : float[4,4]\n" +
         bias + "\ny = Gemm@13" + attributes +
         "(x, w, b) : float[4,4]\nr = QuantizeLinear@13(y, s, z) : uint8[4,4]\nout r";
}

TEST(QdqUnits, ABiasIsInt32WithoutAZeroPointOrAConstant) {
  const std::string int32_bias = "const qb: int32[4] = [1, 2, 3, 4]\nb = DequantizeLinear@13(qb, si) : float[4]";
  EXPECT_EQ(Units(GemmWithBias("", int32_bias), "y"), "Gemm(x, w, b) -> r");
  EXPECT_EQ(Units(GemmWithBias("<beta=1.0>", int32_bias), "y"), "Gemm(x, w, b) -> r");
  EXPECT_EQ(Units(GemmWithBias("<beta=0.5>", int32_bias), "y"),
            "none: its bias 'b' is multiplied by beta, which is 0.500000; 1 expected");
  EXPECT_EQ(Units(GemmWithBias("", "const qb: int8[4] = …\nb = DequantizeLinear@13(qb, si) : float[4]"), "y"),
            "none: its bias 'b' is quantised to int8, expected int32");
  EXPECT_EQ(Units(GemmWithBias("",
                               "const qb: int32[4] = …\nconst zb: int32[] = [1]\n"
                               "b = DequantizeLinear@13(qb, si, zb) : float[4]"),
                  "y"),
            "none: its bias 'b' has a zero point other than 0");
  EXPECT_EQ(Units(GemmWithBias("", "in b: float[4]"), "y"), "none: its bias 'b' is neither dequantised nor a constant");
}

TEST(QdqUnits, OnlyABiasInStepsOfTheSumsIsExact) {
  const auto bias = [](const char* scale) {
    return GemmWithBias("",
                        std::string("const qb: int32[4] = …\nb = DequantizeLinear@13(qb, ") + scale + ") : float[4]");
  };
  EXPECT_EQ(Units(bias("si"), "y", {.exact_bias_scale = true}), "Gemm(x, w, b) -> r");
  EXPECT_EQ(Units(bias("s"), "y", {.exact_bias_scale = true}),
            "none: its bias 'b' has another scale than its input's times its weights'");
  EXPECT_EQ(Units(bias("s"), "y"), "Gemm(x, w, b) -> r");
}

TEST(QdqUnits, TrainingIsNotForIntegers) {
  EXPECT_EQ(Units("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z)\ny = BatchNormalization@15<training_mode=1>(x, x, "
                  "x, x, x)\nr = QuantizeLinear@13(y, s, z)\nout r",
                  "y"),
            "none: it is for training");
}

TEST(QdqUnits, InputsThatARuleNeedsAreThere) {
  EXPECT_EQ(
      Units("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z)\ny = Add@14(x)\nr = QuantizeLinear@13(y, s, z)\nout r",
            "y"),
      "none: its input 1 is left out");
  EXPECT_EQ(Units("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z)\ny = Relu@14(x, x)\nr = QuantizeLinear@13(y, s, "
                  "z)\nout r",
                  "y"),
            "none: its input 1 'x' can't be in a QDQ unit");
  EXPECT_EQ(Units("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z)\ny = Reshape@14(x, x)\nr = QuantizeLinear@13(y, s, "
                  "z)\nout r",
                  "y"),
            "none: its input 1 'x' is dequantised, which its kind of input can't be");
}

// --- reasons for nodes without a unit

TEST(QdqUnits, EveryNodeWithoutAUnitHasAReason) {
  const std::string text = R"(
    in q: uint8[4]
    in a: float[4]
    x = DequantizeLinear@13(q, s, z) : float[4]
    y = mine::Foo(x) : float[4]
    r = QuantizeLinear@13(y, s, z) : uint8[4]
    ra = QuantizeLinear@13(a, s, z) : uint8[4]
    unused = DequantizeLinear@13(q, s, z) : float[4]
    pair = QuantizeLinear@13(unused, si, z) : uint8[4]
    out r, ra, pair)";
  EXPECT_EQ(ReasonOf(text, "y"), "no QDQ unit is made of mine::Foo");
  EXPECT_EQ(ReasonOf(text, "x"), "Foo 'y' behind it is in no QDQ unit with it: no QDQ unit is made of mine::Foo");
  EXPECT_EQ(ReasonOf(text, "r"), "Foo 'y' in front of it is in no QDQ unit with it: no QDQ unit is made of mine::Foo");
  EXPECT_EQ(ReasonOf(text, "ra"), "no operator makes what it quantises");
  EXPECT_EQ(ReasonOf(text, "unused"), "QuantizeLinear 'pair' behind it is in no QDQ unit with it");
}

TEST(QdqUnits, NodesOfOtherProvidersAreInNoUnit) {
  kit::ir::Graph graph = kit::ir::FromText(Text(kTwoReaders));
  const kit::ir::Editor editor(graph);
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    kit::qdq::Surroundings surroundings;
    surroundings.taken.resize(static_cast<size_t>(n) + 1);
    surroundings.taken.back() = true;
    const kit::qdq::Units found = kit::qdq::FindUnits(editor, {}, surroundings);
    ExpectWhole(editor, found);
    EXPECT_EQ(UnitsText(editor, found), "") << n;
    EXPECT_EQ(found.reasons[static_cast<size_t>(n)], "another provider has it");
  }
}

TEST(QdqUnits, AProviderSeesAWholeCandidateBeforeItRefuses) {
  int asked = 0;
  const Options options = {.refuse = [&](const kit::ir::Editor& editor, const kit::qdq::Unit& unit) -> std::string {
    ++asked;
    EXPECT_EQ(UnitText(editor, unit), "Conv(x, w) | Relu [128, 255] -> r");
    return "not today";
  }};
  EXPECT_EQ(Units(std::string(kConv) + "k = Relu@14(y)\nr = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]\nout r", "y",
                  options),
            "none: not today");
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace epiphyte::test
