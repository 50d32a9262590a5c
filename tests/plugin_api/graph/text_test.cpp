// Graphs as text: a written graph is read back unchanged. An error names the line that can't be read.
#include "epiphyte/kit/graph/text.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/check.hpp"

namespace epiphyte::test {
namespace {

using kit::ir::FromText;
using kit::ir::Graph;
using kit::ir::ToText;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns the message of the error when the text is read; "" if there is none.
std::string Refusal(std::string_view text) {
  try {
    FromText(text);
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    return error.what();
  }
  return "";
}

constexpr const char* kSmall = R"(graph "part_0"
in x: float[1,3,-1,-1]
const w: float[8,3,3,3] = …
const b: float[8] = [0, 0.5, -1, 1e-20, inf, -inf, nan, 1234567]
c = Conv@11<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) : float[1,8,-1,-1]
[last] y, _ = epiphyte.kit::Elementwise<code=[6,0,-1], parameters=[0.0,6.5]>(c, _) : float[1,8,-1,-1], ?
out y
)";

TEST(GraphText, IsWhatItWasWhenItIsReadAndWrittenAgain) {
  EXPECT_EQ(ToText(FromText(kSmall)), kSmall);
  const std::string quoted = "graph \"\"\n[\"the one\"] y = Relu()\n";
  EXPECT_EQ(ToText(FromText(quoted)), quoted);
}

TEST(GraphText, SaysWhatEachPartOfTheGraphIs) {
  const Graph graph = FromText(kSmall);
  EXPECT_EQ(graph.name, "part_0");
  ASSERT_EQ(graph.nodes.size(), 2u);
  const kit::ir::Node& conv = graph.nodes[0];
  EXPECT_TRUE(conv.Is("Conv"));
  EXPECT_EQ(conv.since_version, 11);
  EXPECT_THAT(conv.Ints("pads"), ElementsAre(1, 1, 1, 1));
  const kit::ir::Node& last = graph.nodes[1];
  EXPECT_EQ(last.domain, "epiphyte.kit");
  EXPECT_EQ(last.name, "last");
  EXPECT_EQ(last.since_version, 1);
  EXPECT_THAT(last.Floats("parameters"), ElementsAre(0.0f, 6.5f));
  EXPECT_THAT(last.inputs, ElementsAre(conv.outputs[0], -1));
  EXPECT_THAT(last.outputs, ElementsAre(graph.outputs[0], -1));
  const kit::ir::Value& y = graph.values[static_cast<size_t>(graph.outputs[0])];
  EXPECT_EQ(y.type, EP_TYPE_FLOAT);
  EXPECT_THAT(y.dims, ElementsAre(1, 8, -1, -1));
  ASSERT_EQ(graph.constants.size(), 2u);
  EXPECT_EQ(graph.constants[0].storage, kit::ir::Constant::Storage::kDropped);
  EXPECT_EQ(graph.constants[1].storage, kit::ir::Constant::Storage::kOwned);
  EXPECT_FLOAT_EQ(graph.constants[1].tensor.as<float>()[1], 0.5f);
  EXPECT_TRUE(std::isnan(graph.constants[1].tensor.as<float>()[6]));
}

TEST(GraphText, HoldsElementsOfEveryType) {
  const std::string text = R"(graph "types"
const a: bool[2] = [0, 1]
const b: int8[2] = [-128, 127]
const c: uint8[2] = [0, 255]
const d: int16[1] = [-32768]
const e: uint16[1] = [65535]
const f: int32[1] = [-2147483648]
const g: uint32[1] = [4294967295]
const h: int64[2] = [-9223372036854775808, 9007199254740993]
const i: uint64[1] = [18446744073709551615]
const j: float16[4] = [0.5, -65504, inf, 0.0001220703125]
const k: bfloat16[2] = [1, 3.3895313892515355e+38]
const l: double[2] = [0.1, 1e+300]
const m: float8e4m3fn[2] = [448, -0.015625]
const n: float8e4m3fnuz[2] = [240, nan]
const o: float8e5m2[3] = [57344, inf, -0.25]
const p: float8e5m2fnuz[1] = [57344]
const q: float8e8m0[3] = [5.877471754111438e-39, 1, 2]
const r: float4e2m1[3] = [-6, 0.5, 3]
const s: int4[3] = [-8, 7, 0]
const t: uint4[3] = [15, 0, 9]
const u: int2[5] = [-2, 1, 0, -1, 1]
const v: uint2[5] = [3, 2, 1, 0, 3]
const w: string[2] = ["a \"b\"\n\\", ""]
const x: complex64[2] = [(1,-2), (0.5,0)]
const y: complex128[1] = [(0.1,1e-300)]
const z: float[] = [7]
const none: float[0,3] = []
)";
  EXPECT_EQ(ToText(FromText(text)), text);
}

TEST(GraphText, HoldsAttributesOfEveryType) {
  const std::string text =
      "graph \"attributes\"\n"
      "y = Some<a=-3, b=[1,-2], c=0.5, d=[1.0,1e-20,nan], e=\"text\", f=[\"a\",\"\"], g=float[2]{0.5, 1}, "
      "h=[int64[]{3}, string[1]{\"s\"}], i=sparse(float[1]{2}, int64[1]{7}), "
      "j=[sparse(float[1]{2}, int64[1]{7}), sparse(float[0]{}, int64[0]{})], k=ints[], l=floats[], m=strings[], "
      "n=tensors[], o=sparses[], p=?5>()\n";
  const Graph graph = FromText(text);
  EXPECT_EQ(ToText(graph), text);
  const kit::ir::Node& node = graph.nodes[0];
  EXPECT_EQ(node.Int("a", 0), -3);
  EXPECT_EQ(node.Float("c", 0), 0.5f);
  EXPECT_EQ(node.String("e"), "text");
  EXPECT_THAT(node.Strings("f"), ElementsAre("a", ""));
  EXPECT_EQ(node.TensorOf("g")->as<float>()[1], 1.0f);
  EXPECT_EQ(node.Find("i")->type, EP_ATTRIBUTE_SPARSE_TENSOR);
  EXPECT_EQ(node.Find("j")->tensors.size(), 4u);
  EXPECT_THAT(node.Floats("l"), IsEmpty());
  EXPECT_EQ(node.Find("p")->type, EP_ATTRIBUTE_GRAPH);
}

TEST(GraphText, HoldsKindsOfValuesThatAreNoTensors) {
  const std::string text = R"(graph "kinds"
in a: seq(float)
in b: optional(int64[2,-1])
in c: map(string)
in d: sparse(float[4])
in e: ?
in f: float
in g: ?(int32)
)";
  const Graph graph = FromText(text);
  EXPECT_EQ(ToText(graph), text);
  EXPECT_EQ(graph.values[0].kind, EP_KIND_SEQUENCE);
  EXPECT_EQ(graph.values[0].rank, -1);
  EXPECT_EQ(graph.values[4].kind, EP_KIND_UNKNOWN);
  EXPECT_EQ(graph.values[5].kind, EP_KIND_TENSOR);
  EXPECT_EQ(graph.values[5].rank, -1);
}

TEST(GraphText, LeavesOutElementsOfLargeConstants) {
  const std::string text = "graph \"g\"\nconst w: int8[3] = [1, 2, 3]\n";
  EXPECT_EQ(ToText(FromText(text), 3), text);
  EXPECT_EQ(ToText(FromText(text), 2), "graph \"g\"\nconst w: int8[3] = …\n");
}

TEST(GraphText, QuotesNamesThatAreNoWords) {
  const std::string text =
      "graph \"\"\nin \"x:0\": ?\nin \"_\": ?\nin in: ?\nin \"\": ?\n"
      "\"a b\" = \"my domain\"::\"Op!\"<\"k=\"=1>(\"x:0\", \"_\", in, \"\", _)\nout = Relu(\"a b\")\nout out\n";
  EXPECT_EQ(ToText(FromText(text)), text);
}

TEST(GraphText, GivesValuesOfOneNameDifferentNames) {
  Graph graph = FromText("in a: float[1]\nb = Relu(a)\nc = Relu(b)\nout c");
  for (kit::ir::Value& value : graph.values) value.name = "same";
  const std::string text = ToText(graph);
  EXPECT_EQ(kit::ir::NodesToText(graph), "\"same#1\" = Relu(same)\n\"same#2\" = Relu(\"same#1\")\n");
  EXPECT_EQ(ToText(FromText(text)), text);
}

TEST(GraphText, HasWhatTheBodiesOfANodeRead) {
  const std::string text = "graph \"g\"\nin c: bool[]\nin a: float[2]\ny = If@21<then_branch=?5>(c) reads (a)\nout y\n";
  const Graph graph = FromText(text);
  EXPECT_THAT(graph.nodes[0].implicit_inputs, ElementsAre(1));
  EXPECT_EQ(ToText(graph), text);
}

TEST(GraphText, OfNodesAloneHasNeitherVersionsNorTypes) {
  const Graph graph = FromText(kSmall);
  EXPECT_EQ(kit::ir::NodesToText(graph),
            "c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b)\n"
            "y, _ = epiphyte.kit::Elementwise<code=[6,0,-1], parameters=[0.0,6.5]>(c, _)\n");
}

TEST(GraphText, OfGraphsThatMakeNoSenseIsWrittenAllTheSame) {
  Graph graph = FromText("in a: float[1]\nb = Relu<k=1, t=float[1]{0}>(a)\nout b");
  graph.nodes[0].inputs = {77, -5};
  graph.nodes[0].attributes[0].ints.clear();
  graph.nodes[0].attributes[1].tensors[0].data = nullptr;
  graph.outputs.push_back(1000);
  EXPECT_EQ(ToText(graph), "graph \"\"\nin a: float[1]\nb = Relu<k=?2, t=float[1]{…}>(_, _)\nout b, _\n");
}

TEST(GraphText, IsReadWithCommentsAndEmptyLines) {
  const Graph graph = FromText("# a graph\n\n  in x: ?   # the input\r\n\ty = Relu ( x )\nout y");
  EXPECT_EQ(kit::ir::NodesToText(graph), "y = Relu(x)\n");
}

TEST(GraphText, ErrorNamesTheLine) {
  EXPECT_EQ(Refusal("in x: float[2]\ny = Relu(z)"),
            "line 2: 'z' is not known here; an input, a constant or an output of a node above expected");
  EXPECT_EQ(Refusal("in x: float[2]\nin x: float"), "line 2: 'x' is made twice");
  EXPECT_EQ(Refusal("in x"), "line 1: the end of the line found; ':' expected");
  EXPECT_EQ(Refusal("in x: flaot"), "line 1: 'flaot' found; an element type of ONNX expected");
  EXPECT_EQ(Refusal("in x: float[2"), "line 1: the end of the line found; ']' expected");
  EXPECT_EQ(Refusal("in x: float[a]"), "line 1: 'a' found; a dimension expected");
  EXPECT_EQ(Refusal("\n\nx y"), "line 3: 'y' found; '=' expected");
  EXPECT_EQ(Refusal("in x: ?\ny = Relu(x"), "line 2: the end of the line found; ')' expected");
  EXPECT_EQ(Refusal("y = Relu() : float[1], float"), "line 1: ',' found; the end of the line expected");
  EXPECT_EQ(Refusal("y = Relu<a=>()"), "line 1: '>' found; an attribute's value expected");
  EXPECT_THAT(Refusal("y = Relu<a=1.x>()"), HasSubstr("line 1: '1.x' found; an attribute's value (a number"));
  EXPECT_THAT(Refusal("y = Relu<a=[1,99999999999999999999]>()"), HasSubstr("'99999999999999999999' found"));
  EXPECT_EQ(Refusal("const w: float[2] = [1]"), "line 1: 1 elements found for the shape [2]");
  EXPECT_EQ(Refusal("const w: float[100000000000] = [1]"), "line 1: 1 elements found for the shape [100000000000]");
  EXPECT_EQ(Refusal("const w: float[1] = [x]"), "line 1: 'x' found; an element of type float expected");
  EXPECT_EQ(Refusal("const w: int8[1] = [128]"), "line 1: '128' found; an element of type int8 expected");
  EXPECT_EQ(Refusal("const w: bool[1] = [2]"), "line 1: '2' found; an element of type bool expected");
  EXPECT_EQ(Refusal("const w: int4[1] = [8]"), "line 1: '8' found; an element of type int4 expected");
  EXPECT_THAT(Refusal("const w: float[-1] = …"), HasSubstr("a type without a known shape found"));
  EXPECT_THAT(Refusal("const w: float = [1]"), HasSubstr("a type without a known shape found"));
  EXPECT_THAT(Refusal("in \"x: ?"), HasSubstr("line 1: a quoted text without an end"));
  EXPECT_THAT(Refusal("in \"\\q\": ?"), HasSubstr("a backslash found"));
  EXPECT_THAT(Refusal("in x!: ?"), HasSubstr("line 1: byte 33 found"));
}

TEST(GraphText, IsCheckedAsAGraph) {
  EXPECT_THAT(Refusal("in x: float[-7]"), HasSubstr("the dimensions of value 'x' make no sense"));
  EXPECT_THAT(Refusal("y = Relu<a=1, a=2>()"), HasSubstr("attribute 'a' is there twice"));
  EXPECT_THAT(Refusal("y = Relu<a=?2>()"), HasSubstr("attribute 'a' doesn't hold an integer"));
  EXPECT_THAT(Refusal("in x: float[17592186044417]"), HasSubstr("make no sense"));
}

TEST(GraphText, KeepsMessagesOnOneLine) {
  EXPECT_EQ(Refusal("y = Relu(\"a\\nb\")"),
            "line 1: 'a?b' is not known here; an input, a constant or an output of a node above expected");
  EXPECT_LT(Refusal("y = Relu(" + std::string(100000, 'a') + ")").size(), 300u);
}

}  // namespace
}  // namespace epiphyte::test
