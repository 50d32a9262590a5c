// The order of all passes: every requirement of the table holds, an example graph shows the need for each, and a
// provider gets every pass that it does not decline.
#include "epiphyte/kit/fuse/pipeline.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::AllPasses;
using kit::fuse::FindBrokenNeed;
using kit::fuse::InfoOf;
using kit::fuse::Pass;
using kit::fuse::PassInfo;
using kit::fuse::PassNeed;
using kit::fuse::PassOptions;
using kit::fuse::Pipeline;
using kit::fuse::PipelineOptions;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Pass> Order() {
  std::vector<Pass> order;
  for (const PassInfo& info : AllPasses()) order.push_back(info.pass);
  return order;
}

// Two passes, and a graph that shows why the first must run before the second.
struct Example {
  Pass earlier;
  Pass later;
  std::string text;
};

std::string Quantized(const std::string& nodes) {
  return "in x: uint8[1,2]\nconst s: float[] = [0.5]\nconst z: uint8[] = [128]\n"
         "d = DequantizeLinear@13(x, s, z) : float[1,2]\n" +
         nodes;
}
std::string Dense(const std::string& nodes) {
  return "in x: float[3,2]\nin r: float[3,2]\nconst w: float[2,2] = [1,2,3,4]\nconst b: float[2] = [1,2]\n"
         "const low: float[] = [-1]\nconst zero: float[] = [0]\nconst half: float[] = [0.5]\nconst one: float[] = [1]\n"
         "const root2: float[] = [1.4142135]\nconst three: float[] = [3]\nconst six: float[] = [6]\n"
         "m = MatMul@13(x, w) : float[3,2]\n" +
         nodes;
}
std::string Image(const std::string& nodes) {
  return "in x: float[1,2,4,4]\nin r: float[1,2,4,4]\nconst w: float[2,2,1,1] = [1,2,3,4]\n"
         "const k: float[2,1,1] = [2,3]\nconst c: float[2] = [1,2]\nconst low: float[] = [-1]\n"
         "const zero: float[] = [0]\nconst half: float[] = [0.5]\nconst one: float[] = [1]\n"
         "const root2: float[] = [1.4142135]\nconst three: float[] = [3]\nconst six: float[] = [6]\n"
         "const pads: int64[8] = [0,0,1,1,0,0,1,1]\n" +
         nodes;
}
// A graph with a convolution or BatchNormalization m, and nodes that make y from it.
std::string ConvThen(const std::string& nodes) { return Image("m = Conv@11(x, w) : float[1,2,4,4]\n" + nodes); }
std::string NormThen(const std::string& nodes) {
  return Image("m = BatchNormalization@15(x, c, c, c, c) : float[1,2,4,4]\n" + nodes);
}
// The weights have 64 rows, the shortest sums that QuantizeProducts takes.
std::string Long(const std::string& head, const std::string& nodes) {
  std::string numbers = "1";
  for (int i = 1; i < 128; ++i) numbers += "," + std::to_string(i % 7 + 1);
  std::string text = head + nodes;
  for (size_t at = 0; (at = text.find("NUMBERS", at)) != std::string::npos;) text.replace(at, 7, numbers);
  return text;
}

// Activations on m as the operators that exporters write; T is the type of m.
const std::string kBoundsParts = "a = Max@13(m, low) : T\ny = Min@13(a, six) : T\nout y";
const std::string kReluClipParts = "a = Relu@14(m) : T\ny = Clip@13(a, low, six) : T\nout y";
const std::string kGeluParts =
    "a = Div@14(m, root2) : T\ne = Erf@13(a) : T\ng = Add@14(e, one) : T\np = Mul@14(m, g) : T\n"
    "y = Mul@14(p, half) : T\nout y";
const std::string kHardSwishParts =
    "a = Add@14(m, three) : T\nc6 = Clip@13(a, zero, six) : T\np = Mul@14(m, c6) : T\ny = Div@14(p, six) : T\nout y";

std::string WithType(std::string nodes, const std::string& type) {
  for (size_t at = 0; (at = nodes.find(": T\n", at)) != std::string::npos;) nodes.replace(at + 2, 1, type);
  return nodes;
}

std::vector<Example> Examples() {
  const std::string matrix = "float[3,2]", image = "float[1,2,4,4]";
  const std::string softmax =
      "in q: float[1,2,6,8]\nin k: float[1,2,8,7]\nin v: float[1,2,7,8]\ns = MatMul@13(q, k) : float[1,2,6,7]\n";
  const std::string attend = "y = MatMul@13(p, v) : float[1,2,6,8]\nout y";
  const std::string rows =
      "in x: float[-1,4,2]\nconst w: float[2,3] = [1,2,3,4,5,6]\nconst b: float[3] = [1,2,3]\n"
      "const flat: int64[2] = [-1,2]\nconst back: int64[3] = [-1,4,3]\n"
      "f = Reshape@13(x, flat) : float[-1,2]\nm = MatMul@13(f, w) : float[-1,3]\n";
  const std::string skip =
      "in a: float[2,4]\nin r: float[2,4]\nconst w: float[4] = [1,2,3,4]\nconst b: float[4] = [1,2,3,4]\n"
      "const v: float[4,4] = [1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4]\nconst epsilon: float[] = [0.001]\n";
  const std::string layer = "y = LayerNormalization@17(s, w, b) : float[2,4]\nout y";
  const std::string blocks =
      "in x: float[3,64]\nconst w: int8[64,2] = [NUMBERS]\n"
      "const ws: float[4,2] = [1,2,3,4,5,6,7,8]\n"
      "d = DequantizeLinear@21<axis=0, block_size=16>(w, ws) : float[64,2]\n"
      "m = MatMul@13(x, d) : float[3,2]\n";
  const std::string conv64 =
      "in x: float[1,64,4,4]\nconst w: float[2,64,1,1] = [NUMBERS]\nconst k: float[2,1,1] = [2,3]\n"
      "const pads: int64[8] = [0,0,1,1,0,0,1,1]\n";
  return {
      {Pass::kFuseQuantized, Pass::kFuseElementwise,
       Quantized("a = Tanh@13(d) : float[1,2]\nb = Relu@14(a) : float[1,2]\n"
                 "y = QuantizeLinear@13(b, s, z) : uint8[1,2]\nout y")},
      {Pass::kFuseQuantized, Pass::kFuseByteTables,
       Quantized("a = Sigmoid@13(d) : float[1,2]\nb = QuantizeLinear@13(a, s, z) : uint8[1,2]\n"
                 "e = DequantizeLinear@13(b, s, z) : float[1,2]\nf = Tanh@13(e) : float[1,2]\n"
                 "y = QuantizeLinear@13(f, s, z) : uint8[1,2]\nout y")},
      {Pass::kFuseBlockedWeights, Pass::kFoldDequantized, Long(blocks, "y = Relu@14(m) : float[3,2]\nout y")},
      {Pass::kFuseBlockedWeights, Pass::kFuseProducts, Long(blocks, "y = Relu@14(m) : float[3,2]\nout y")},
      {Pass::kFoldDequantized, Pass::kFoldIntoConvolutions,
       Image("const w8: int8[2,2,1,1] = [1,2,3,4]\nd = DequantizeLinear@13(w8, half) : float[2,2,1,1]\n"
             "m = Conv@11(x, d) : float[1,2,4,4]\ny = Mul@14(m, k) : float[1,2,4,4]\nout y")},
      {Pass::kFoldDequantized, Pass::kQuantizeProducts,
       Long("in x: float[3,64]\nconst w: int8[64,2] = [NUMBERS]\nconst s: float[] = [0.5]\n",
            "d = DequantizeLinear@13(w, s) : float[64,2]\ny = MatMul@13(x, d) : float[3,2]\nout y")},
      {Pass::kSumsToAdditions, Pass::kUnflattenProducts,
       rows + "s = Sum@13(m, b) : float[-1,3]\ny = Reshape@13(s, back) : float[-1,4,3]\nout y"},
      {Pass::kSumsToAdditions, Pass::kFoldIntoConvolutions, ConvThen("y = Sum@13(m, k) : float[1,2,4,4]\nout y")},
      {Pass::kSumsToAdditions, Pass::kFuseGemms, Dense("y = Sum@13(m, b) : float[3,2]\nout y")},
      {Pass::kSumsToAdditions, Pass::kFuseProducts, Dense("y = Sum@13(m, r) : float[3,2]\nout y")},
      {Pass::kSumsToAdditions, Pass::kFuseConvolutions, ConvThen("y = Sum@13(m, r) : float[1,2,4,4]\nout y")},
      {Pass::kSumsToAdditions, Pass::kFuseSkipNormalizations, skip + "s = Sum@13(a, r) : float[2,4]\n" + layer},
      {Pass::kFuseBounds, Pass::kMergeReluIntoClip,
       Image("a = Relu@14(x) : float[1,2,4,4]\nb = Max@13(a, low) : float[1,2,4,4]\n"
             "y = Min@13(b, six) : float[1,2,4,4]\nout y")},
      {Pass::kFuseBounds, Pass::kFoldPads,
       Image("a = Max@13(x, zero) : float[1,2,4,4]\np = Pad@13(a, pads) : float[1,2,6,6]\n"
             "y = MaxPool@11<kernel_shape=[3,3]>(p) : float[1,2,4,4]\nout y")},
      {Pass::kFuseBounds, Pass::kFuseHardSwish,
       Image("a = Add@14(x, three) : float[1,2,4,4]\nb = Max@13(a, zero) : float[1,2,4,4]\n"
             "d = Min@13(b, six) : float[1,2,4,4]\np = Mul@14(x, d) : float[1,2,4,4]\n"
             "y = Div@14(p, six) : float[1,2,4,4]\nout y")},
      {Pass::kFuseBounds, Pass::kFuseProducts, Dense(WithType(kBoundsParts, matrix))},
      {Pass::kFuseBounds, Pass::kFuseConvolutions, ConvThen(WithType(kBoundsParts, image))},
      {Pass::kFuseBounds, Pass::kFuseBatchNormalizations, NormThen(WithType(kBoundsParts, image))},
      {Pass::kMergeReluIntoClip, Pass::kFuseProducts, Dense(WithType(kReluClipParts, matrix))},
      {Pass::kMergeReluIntoClip, Pass::kFuseConvolutions, ConvThen(WithType(kReluClipParts, image))},
      {Pass::kMergeReluIntoClip, Pass::kFuseBatchNormalizations, NormThen(WithType(kReluClipParts, image))},
      {Pass::kFoldPads, Pass::kQuantizeProducts,
       Long(conv64, "p = Pad@13(x, pads) : float[1,64,6,6]\ny = Conv@11(p, w) : float[1,2,6,6]\nout y")},
      {Pass::kFoldPads, Pass::kFuseConvolutions,
       Image("p = Pad@13(x, pads) : float[1,2,6,6]\nm = Conv@11(p, w) : float[1,2,6,6]\n"
             "y = Relu@14(m) : float[1,2,6,6]\nout y")},
      {Pass::kUnflattenProducts, Pass::kQuantizeProducts,
       Long("in x: float[-1,4,64]\nconst w: float[64,2] = [NUMBERS]\nconst flat: int64[2] = [-1,64]\n"
            "const back: int64[3] = [-1,4,2]\n",
            "f = Reshape@13(x, flat) : float[-1,64]\nm = MatMul@13(f, w) : float[-1,2]\n"
            "y = Reshape@13(m, back) : float[-1,4,2]\nout y")},
      {Pass::kUnflattenProducts, Pass::kFuseGemms,
       rows + "s = Add@14(m, b) : float[-1,3]\ny = Reshape@13(s, back) : float[-1,4,3]\nout y"},
      {Pass::kUnflattenProducts, Pass::kFuseProducts,
       rows + "h = Reshape@13(m, back) : float[-1,4,3]\ny = Relu@14(h) : float[-1,4,3]\nout y"},
      {Pass::kFoldIntoConvolutions, Pass::kQuantizeProducts,
       Long(conv64, "m = Conv@11(x, w) : float[1,2,4,4]\ny = Mul@14(m, k) : float[1,2,4,4]\nout y")},
      {Pass::kFoldIntoConvolutions, Pass::kFuseConvolutions,
       ConvThen("n = Mul@14(m, k) : float[1,2,4,4]\na = Add@14(n, r) : float[1,2,4,4]\n"
                "y = Relu@14(a) : float[1,2,4,4]\nout y")},
      {Pass::kFoldIntoConvolutions, Pass::kFuseBatchNormalizations,
       ConvThen("n = BatchNormalization@15(m, c, c, c, c) : float[1,2,4,4]\ny = Relu@14(n) : float[1,2,4,4]\nout y")},
      {Pass::kQuantizeProducts, Pass::kFuseProducts,
       Long("in x: float[3,64]\nconst w: float[64,2] = [NUMBERS]\n",
            "m = MatMul@13(x, w) : float[3,2]\ny = Relu@14(m) : float[3,2]\nout y")},
      {Pass::kQuantizeProducts, Pass::kFuseConvolutions,
       Long(conv64, "m = Conv@11(x, w) : float[1,2,4,4]\ny = Relu@14(m) : float[1,2,4,4]\nout y")},
      {Pass::kFuseGemms, Pass::kFuseProducts, Dense("y = Add@14(m, b) : float[3,2]\nout y")},
      {Pass::kFuseGelu, Pass::kFuseProducts, Dense(WithType(kGeluParts, matrix))},
      {Pass::kFuseGelu, Pass::kFuseConvolutions, ConvThen(WithType(kGeluParts, image))},
      {Pass::kFuseGelu, Pass::kFuseBatchNormalizations, NormThen(WithType(kGeluParts, image))},
      {Pass::kFuseHardSwish, Pass::kFuseProducts, Dense(WithType(kHardSwishParts, matrix))},
      {Pass::kFuseHardSwish, Pass::kFuseConvolutions, ConvThen(WithType(kHardSwishParts, image))},
      {Pass::kFuseHardSwish, Pass::kFuseBatchNormalizations, NormThen(WithType(kHardSwishParts, image))},
      {Pass::kFuseSoftmax, Pass::kFuseAttention,
       softmax +
           "e = Exp@13(s) : float[1,2,6,7]\nt = ReduceSum@11<axes=[-1]>(e) : float[1,2,6,1]\n"
           "p = Div@14(e, t) : float[1,2,6,7]\n" +
           attend},
      {Pass::kFuseAttention, Pass::kFuseProducts,
       "in mask: float[1,2,6,7]\n" + softmax +
           "a = Add@14(s, mask) : float[1,2,6,7]\np = Softmax@13<axis=-1>(a) : float[1,2,6,7]\n" + attend},
      {Pass::kFuseProducts, Pass::kFuseSkipNormalizations,
       skip + "m = MatMul@13(a, v) : float[2,4]\ns = Add@14(m, r) : float[2,4]\n" + layer},
      {Pass::kFuseNormalizations, Pass::kFuseSkipNormalizations,
       skip + "s = Add@14(a, r) : float[2,4]\nq = Mul@14(s, s) : float[2,4]\n"
              "n = ReduceMean@13<axes=[-1]>(q) : float[2,1]\ne = Add@14(n, epsilon) : float[2,1]\n"
              "o = Sqrt@13(e) : float[2,1]\nd = Div@14(s, o) : float[2,4]\ny = Mul@14(d, w) : float[2,4]\nout y"},
      {Pass::kFuseGelu, Pass::kFuseElementwise,
       Image("m = Relu@14(x) : float[1,2,4,4]\n" + WithType(kGeluParts, image))},
  };
}

// Returns the operators of a graph after the given passes.
std::string OperatorsAfter(const std::string& text, const std::vector<Pass>& passes) {
  PassOptions options;
  options.quantize_products = true;
  return RecognisedOperators(text, [&](kit::ir::Editor& editor) {
    for (const Pass pass : passes) InfoOf(pass).run(editor, options);
  });
}

TEST(PassTable, KeepsItsOwnDemands) { EXPECT_EQ(FindBrokenNeed(Order()), ""); }

TEST(PassTable, EveryPassHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const PassInfo& info : AllPasses()) {
    EXPECT_FALSE(info.name.empty());
    names.insert(info.name);
  }
  EXPECT_THAT(names, SizeIs(static_cast<size_t>(Pass::kCount)));
}

TEST(PassTable, AWrongOrderIsFound) {
  std::vector<Pass> order = Order();
  std::swap(order.front(), order.back());
  EXPECT_NE(FindBrokenNeed(order), "");
  EXPECT_EQ(FindBrokenNeed(std::vector<Pass>{Pass::kFuseAttention, Pass::kFuseSoftmax}),
            "FuseAttention runs before FuseSoftmax: it looks for Softmax");
  EXPECT_EQ(FindBrokenNeed(std::vector<Pass>{Pass::kFuseProducts, Pass::kFuseGemms}),
            "FuseGemms runs after FuseProducts: it looks for ONNX's MatMul");
  EXPECT_EQ(FindBrokenNeed(std::vector<Pass>{Pass::kFuseElementwise, Pass::kFuseMish}),
            "FuseElementwise runs before FuseMish: other passes look for the operators that it joins");
  for (const Example& example : Examples())
    EXPECT_NE(FindBrokenNeed(std::vector<Pass>{example.later, example.earlier}), "")
        << InfoOf(example.earlier).name << ", " << InfoOf(example.later).name;
}

TEST(PassTable, EveryDemandHasAGraphThatShowsIt) {
  const std::vector<Example> examples = Examples();
  for (const PassInfo& info : AllPasses()) {
    for (const PassNeed& need : info.needs) {
      if (need.why.empty()) continue;
      const bool is_later = need.side == PassNeed::Side::kAfter;
      const bool is_shown = std::any_of(examples.begin(), examples.end(), [&](const Example& example) {
        return (is_later ? example.later : example.earlier) == info.pass &&
               (need.other == PassNeed::kEveryOther || need.other == (is_later ? example.earlier : example.later));
      });
      EXPECT_TRUE(is_shown) << info.name << ": " << need.why;
    }
  }
}

TEST(PassTable, AnotherOrderGivesAnotherGraph) {
  for (const Example& example : Examples()) {
    SCOPED_TRACE(std::string(InfoOf(example.earlier).name) + ", " + std::string(InfoOf(example.later).name));
    EXPECT_NE(OperatorsAfter(example.text, {example.earlier, example.later}),
              OperatorsAfter(example.text, {example.later, example.earlier}));
  }
}

TEST(Pipeline, AProviderGetsEveryPassThatItDoesNotDecline) {
  EXPECT_THAT(Pipeline({}).passes(), testing::ElementsAreArray(Order()));
  for (const PassInfo& info : AllPasses()) {
    PipelineOptions options;
    options.declined = {{info.pass, "no kernel"}};
    const Pipeline pipeline(options);
    std::vector<Pass> rest = Order();
    std::erase(rest, info.pass);
    EXPECT_THAT(pipeline.passes(), testing::ElementsAreArray(rest)) << info.name;
    EXPECT_EQ(FindBrokenNeed(pipeline.passes()), "");
  }
}

// A GEMM, an Add of a row to it, and a Relu.
const std::string kGraph = Dense("a = Add@14(m, b) : float[3,2]\ny = Relu@14(a) : float[3,2]\nout y");

std::string RunOnGemm(const PipelineOptions& options, std::vector<Pass>* taken_back) {
  kit::ir::Graph graph = kit::ir::FromText(kGraph);
  *taken_back = Pipeline(options).Run(graph);
  return NodesToText(graph);
}

TEST(Pipeline, KeepsEverythingWhenTheProviderAcceptsTheResult) {
  std::vector<Pass> taken_back;
  PipelineOptions options;
  const std::string all = RunOnGemm(options, &taken_back);
  EXPECT_EQ(all.substr(0, 22), "y = epiphyte.kit::Gemm") << all;
  int asked = 0;
  options.accepts = [&](const kit::ir::Graph&) { return ++asked > 0; };
  EXPECT_EQ(RunOnGemm(options, &taken_back), all);
  EXPECT_THAT(taken_back, IsEmpty());
  EXPECT_EQ(asked, 1);
}

TEST(Pipeline, TakesBackThePassesWhoseResultHasNoOperator) {
  std::vector<Pass> taken_back;
  PipelineOptions options;
  options.accepts = [](const kit::ir::Graph& graph) {
    return std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const kit::ir::Node& node) {
      return node.domain == "epiphyte.kit" && node.op_type == "Gemm";
    });
  };
  EXPECT_EQ(RunOnGemm(options, &taken_back), "a = Gemm(x, w, b)\ny = Relu(a)\n");
  EXPECT_THAT(taken_back, ElementsAre(Pass::kFuseProducts));
}

TEST(Pipeline, LeavesAGraphAloneWhoseResultsAreNeverAccepted) {
  std::vector<Pass> taken_back;
  PipelineOptions options;
  options.accepts = [](const kit::ir::Graph&) { return false; };
  EXPECT_EQ(RunOnGemm(options, &taken_back), "m = MatMul(x, w)\na = Add(m, b)\ny = Relu(a)\n");
  EXPECT_THAT(taken_back, testing::ElementsAreArray(Order()));
}

TEST(Pipeline, MakesPredicatesFromTheGraphThatAPassStartsWith) {
  std::vector<size_t> nodes_then;
  PipelineOptions options;
  options.passes.make_takes = [&](const kit::ir::Graph& graph) -> kit::fuse::TakesNode {
    nodes_then.push_back(graph.nodes.size());
    return [](const kit::ir::Editor&, const kit::ir::Node&) { return true; };
  };
  options.passes.make_alone = [&](const kit::ir::Editor&) {
    return [](const kit::ir::Editor&, int32_t) { return true; };
  };
  options.declined = {{Pass::kFuseProducts, "to have a Relu that is alone"}};
  std::vector<Pass> taken_back;
  EXPECT_THAT(RunOnGemm(options, &taken_back), testing::EndsWith("y = epiphyte.kit::Elementwise<code=[6,0,-1], "
                                                                 "parameters=[0.0,0.0]>(a)\n"));
  EXPECT_THAT(nodes_then, ElementsAre(3, 3, 3, 3)) << "once for each pass that asks";
}

}  // namespace
}  // namespace epiphyte::test
