// Compiled graphs: each combination of shapes gets a program, the programs used last are kept, and constants are
// uploaded once.
#include "plugins/vulkan/exec/compiled_graph.h"

#include <algorithm>

#include "epiphyte/kit/graph/text.hpp"
#include "plugins/vulkan/exec/fuse.h"
#include "plugins/vulkan/exec/replay.h"
#include "tests/vulkan/exec/device_graph.h"
#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class Compiled : public DeviceGraphTest {
 protected:
  std::shared_ptr<const LoadedProgram> ProgramOfRows(CompiledGraph& graph, int64_t rows) {
    const int64_t dims[] = {rows, 3};
    const std::vector<ArrivedInput> inputs = {{EP_TYPE_FLOAT, dims, nullptr}};
    std::string signature;
    graph.SignatureOf(inputs, &signature);
    return graph.ProgramFor(signature, inputs);
  }
};

constexpr const char* kRows = R"(graph "rows"
in x: float[-1,3]
y = Relu@14(x) : float[-1,3]
out y
)";

TEST_F(Compiled, AProgramIsMadeForEachShapeOnce) {
  const auto graph = Compile(kRows);
  EXPECT_EQ(graph->programs_made(), 0u);
  const auto two = ProgramOfRows(*graph, 2);
  const auto five = ProgramOfRows(*graph, 5);
  EXPECT_NE(two, five);
  EXPECT_EQ(ProgramOfRows(*graph, 2), two);
  EXPECT_EQ(graph->programs_made(), 2u);
}

TEST_F(Compiled, ProgramsThatWereNotAskedForLatelyAreMadeAgain) {
  const auto graph = Compile(kRows);
  ProgramOfRows(*graph, 1);
  for (int64_t rows = 2; rows <= 17; ++rows) {
    ProgramOfRows(*graph, rows);
    ProgramOfRows(*graph, 2);  // used in each turn, so its program is kept
  }
  const uint64_t made = graph->programs_made();
  ProgramOfRows(*graph, 2);
  EXPECT_EQ(graph->programs_made(), made);
  ProgramOfRows(*graph, 1);
  EXPECT_EQ(graph->programs_made(), made + 1);
}

TEST_F(Compiled, WhereShapesAreKnownTheProgramIsMadeWhenCompiling) {
  const auto graph = Compile(R"(graph "static"
in x: float[2,3]
y = Relu@14(x) : float[2,3]
out y
)");
  EXPECT_EQ(graph->programs_made(), 1u);
  ProgramOfRows(*graph, 2);
  EXPECT_EQ(graph->programs_made(), 1u);
}

TEST_F(Compiled, ElementsThatTheHostReadsArePartOfTheSignature) {
  const auto graph = Compile(R"(graph "reshape"
in x: float[6]
in shape: int64[2]
y = Reshape@13(x, shape) : float[-1,-1]
out y
)");
  EXPECT_THAT(graph->reads_inputs(), ElementsAre(false, true));
  const int64_t six[] = {6}, two[] = {2}, a[] = {2, 3}, b[] = {3, 2};
  const auto signature = [&](const int64_t* shape) {
    std::string text;
    graph->SignatureOf(std::vector<ArrivedInput>{{EP_TYPE_FLOAT, six, nullptr}, {EP_TYPE_INT64, two, shape}}, &text);
    return text;
  };
  EXPECT_EQ(signature(a), signature(a));
  EXPECT_NE(signature(a), signature(b));
}

TEST_F(Compiled, MoreInputsThanTheGraphHasAreRefused) {
  const auto graph = Compile(kRows);
  std::string signature;
  EXPECT_THAT(MessageOf([&] { graph->SignatureOf({}, &signature); }), HasSubstr("0 inputs given, 1 expected"));
}

TEST_F(Compiled, GraphsOfOneStoreHaveEqualConstantsOnTheDeviceOnce) {
  const char* const text = R"(graph "g"
in x: float[4]
const w: float[4] = [1,2,3,4]
y = Add@14(x, w) : float[4]
out y
)";
  CompileConfig config = Config();
  config.constants = std::make_shared<ConstantStore>();
  const auto a = CompiledGraph::Build(kit::ir::FromText(text), config);
  const uint64_t used = device()->counters().used_bytes;
  const auto b = CompiledGraph::Build(kit::ir::FromText(text), config);
  EXPECT_EQ(device()->counters().used_bytes, used);
  const auto alone = CompiledGraph::Build(kit::ir::FromText(text), Config());
  EXPECT_GT(device()->counters().used_bytes, used);
}

TEST_F(Compiled, OfKnownShapesARunIsPreparedOnceWithItsPipelines) {
  const auto graph = Compile(R"(graph "g"
in x: float[4]
y = Neg@13(x) : float[4]
out y
)");
  const uint64_t pipelines = device()->counters().pipelines;
  PreparedReplay prepared(*graph, {});
  EXPECT_EQ(device()->counters().pipelines, pipelines + 1);
  EXPECT_EQ(graph->programs_made(), 1u);
  EXPECT_EQ(prepared.Take("of other inputs"), nullptr);
  EXPECT_NE(prepared.Take(graph->StaticProgram()->signature), nullptr);
  EXPECT_EQ(prepared.Take(graph->StaticProgram()->signature), nullptr);
}

TEST_F(Compiled, OfUnknownShapesWeightsAreOnTheDeviceBeforeTheFirstRun) {
  constexpr uint64_t kBytes = 128 * 128 * sizeof(float);
  std::string numbers = "1";
  for (int i = 1; i < 128 * 128; ++i) numbers += i % 2 == 0 ? ",1" : ",2";
  const std::string text = "graph \"g\"\nin x: float[-1,128]\nconst w: float[128,128] = [" + numbers +
                           "]\nconst unused: float[128,128] = [" + numbers +
                           "]\ny = MatMul@13(x, w) : float[-1,128]\nout y\n";
  const uint64_t before = device()->counters().used_bytes;
  const auto graph = Compile(text);
  const uint64_t with_weights = device()->counters().used_bytes;
  EXPECT_GE(with_weights, before + kBytes);
  EXPECT_LT(with_weights, before + 2 * kBytes) << "packed, and without what nobody reads";
  EXPECT_EQ(graph->programs_made(), 0u);
  const int64_t dims[] = {2, 128};
  const std::vector<ArrivedInput> inputs = {{EP_TYPE_FLOAT, dims, nullptr}};
  std::string signature;
  graph->SignatureOf(inputs, &signature);
  const auto program = graph->ProgramFor(signature, inputs);
  EXPECT_LT(device()->counters().used_bytes, with_weights + kBytes);
}

TEST_F(Compiled, OfUnknownShapesNothingIsPrepared) {
  const auto graph = Compile(kRows);
  EXPECT_EQ(graph->StaticProgram(), nullptr);
  const uint64_t objects = device()->counters().vulkan_objects;
  PreparedReplay prepared(*graph, {});
  EXPECT_EQ(device()->counters().vulkan_objects, objects);
}

TEST_F(Compiled, AnOutputCanBeWrittenOverAnInputThatOnlyItsNodeReads) {
  const auto in_place = [&](const char* more) {
    return Compile(std::string(R"(graph "cache"
in past: float[4,2]
in at: int64[1,1]
in new: float[1,2]
present = ScatterND@18(past, at, new) : float[4,2]
)") + more)
        ->in_place();
  };
  EXPECT_THAT(in_place("y = Relu@14(present) : float[4,2]\nout present\nout y\n"), ElementsAre(0, -1));
  EXPECT_THAT(in_place("y = Relu@14(past) : float[4,2]\nout present\nout y\n"), ElementsAre(-1, -1))
      << "it is read by another node";
  EXPECT_THAT(in_place("out present\nout past\n"), ElementsAre(-1, -1)) << "it is an output itself";
}

TEST_F(Compiled, WhatTheHostKnowsWithoutRunningIsSaid) {
  const auto graph = Compile(R"(graph "shape"
in x: float[-1,3]
y = Relu@14(x) : float[-1,3]
s = Shape@15(x) : int64[2]
out y
out s
)");
  EXPECT_THAT(graph->known_outputs(), ElementsAre(false, true));
}

TEST_F(Compiled, ConvolutionTakesInBiasAndActivation) {
  const auto graph = Compile(kConvBiasRelu);
  ASSERT_THAT(graph->graph().nodes, SizeIs(1));
  EXPECT_EQ(graph->graph().nodes[0].domain, "epiphyte.kit");
}

// --- quantized

std::vector<std::string> OperatorsOf(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes) names.push_back(node.op_type);
  return names;
}

TEST_F(Compiled, QdqUnitsRunOnIntegersAlone) {
  const auto graph = Compile(kQdq);
  EXPECT_THAT(OperatorsOf(graph->graph()), ElementsAre("QLinearConv", "QLinearElementwise", "MaxPool"));
  EXPECT_THAT(graph->packed(), SizeIs(2));
}

TEST_F(Compiled, WeightsOfFourBitsStaySmall) {
  std::string numbers;
  for (int i = 0; i < 64; ++i) numbers += (i == 0 ? "" : ",") + std::to_string(i % 16 - 8);
  const std::string weights = "const w: int4[32,2] = [" + numbers + "]\n";
  const auto graph = Compile("graph \"g\"\nin x: float[2,32]\n" + weights +
                             "const s: float[2,2] = [1, 2, 3, 4]\n"
                             "d = DequantizeLinear@21<axis=0, block_size=16>(w, s) : float[32,2]\n"
                             "y = MatMul@13(x, d) : float[2,2]\nout y\n");
  EXPECT_THAT(OperatorsOf(graph->graph()), ElementsAre("MatMulNBits"));
  const auto column = Compile("graph \"g\"\nin x: float[2,32]\n" + weights +
                              "const s: float[2] = [1, 2]\n"
                              "d = DequantizeLinear@21<axis=1>(w, s) : float[32,2]\n"
                              "y = MatMul@13(x, d) : float[2,2]\nout y\n");
  EXPECT_THAT(OperatorsOf(column->graph()), ElementsAre("MatMul"));
}

TEST_F(Compiled, NoRunDequantisesConstants) {
  const auto graph = Compile(R"(graph "g"
in x: float[2,3]
const w: int8[3,2] = [1,2,3,4,5,6]
const s: float[2] = [0.5, 2]
d = DequantizeLinear@13(w, s) : float[3,2]
y = MatMul@13(x, d) : float[2,2]
out y
)");
  EXPECT_THAT(OperatorsOf(graph->graph()), ElementsAre("MatMul"));
}

TEST_F(Compiled, OnADeviceThatBindsFewBuffersWhatCanBeSpeltWithFewerIs) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in a: float[4]
in b: float[4]
in c: float[4]
s = Sum@13(a, b, c) : float[4]
e = Exp@13(s) : float[4]
y = Mul@14(e, c) : float[4]
out y
)");
  const auto most_bindings = [&](uint32_t bindings) {
    CompileConfig config = Config();
    config.capabilities.max_bindings = bindings;
    ir::Graph fused = graph;
    Fuse(fused, AllOperators(), config.capabilities);
    const auto program = CompiledGraph::ProgramOf(std::move(fused), config);
    size_t most = 0;
    for (const Dispatch& dispatch : program->dispatches) most = std::max(most, dispatch.bindings.size());
    return most;
  };
  EXPECT_LE(most_bindings(kLeastBindings), kLeastBindings);
  EXPECT_GT(most_bindings(16), kLeastBindings) << "in one dispatch";
}

// A new pass of the kit must run here. A plugin that can't use a pass declines it in its options with a reason, and the
// test lists it.
TEST_F(Compiled, EveryPassOfTheKitRunsButThoseThatAreDeclined) {
  const kit::fuse::Pipeline pipeline = MakePipeline(AllOperators(), device()->info().capabilities);
  EXPECT_EQ(kit::fuse::FindBrokenNeed(pipeline.passes()), "");
  std::vector<std::string_view> declined;
  for (const kit::fuse::DeclinedPass& pass : pipeline.options().declined) {
    EXPECT_NE(pass.why, "");
    declined.push_back(kit::fuse::InfoOf(pass.pass).name);
  }
  EXPECT_THAT(declined, ElementsAre("FuseByteTables", "FuseIntegerProducts", "SumsToAdditions", "FuseBounds",
                                    "FoldPads", "UnflattenProducts", "FuseBatchNormalizations"));
  EXPECT_EQ(pipeline.passes().size() + declined.size(), kit::fuse::AllPasses().size());
}

TEST_F(Compiled, WhatARecogniserMakesMustHaveAnOperator) {
  ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[4]
a = Relu@14(x) : float[4]
y = Neg@13(a) : float[4]
out y
)");
  OperatorTable few;
  AllOperators().ForEach([&](const Operator& op) {
    if (op.op_type != "Elementwise") few.Add(op);
  });
  Fuse(graph, few, device()->info().capabilities);
  EXPECT_THAT(graph.nodes, SizeIs(2));
  Fuse(graph, AllOperators(), device()->info().capabilities);
  EXPECT_THAT(graph.nodes, SizeIs(1));
}

}  // namespace
}  // namespace epiphyte::vulkan
