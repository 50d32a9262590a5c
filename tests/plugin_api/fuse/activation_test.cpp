// Activations as attributes, after the node that makes a value, and as several operators that exporters write.
#include "epiphyte/kit/fuse/activation.hpp"

#include <gmock/gmock.h>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "tests/plugin_api/fuse/recognised.h"

namespace epiphyte::test {
namespace {

using kit::fuse::Activation;
using kit::fuse::ElementwiseOp;
using testing::HasSubstr;

kit::ir::Node KitNode() {
  kit::ir::Node node;
  node.op_type = "Conv";
  node.domain = kit::fuse::kDomain;
  return node;
}

TEST(Activation, IsReadAsItWasWritten) {
  for (int32_t op = static_cast<int32_t>(ElementwiseOp::kRelu); op < static_cast<int32_t>(ElementwiseOp::kCount);
       ++op) {
    kit::ir::Node node = KitNode();
    Activation{static_cast<ElementwiseOp>(op), 0.25f, 6}.AddTo(node);
    const Activation read = Activation::Read(node);
    EXPECT_EQ(read.op, static_cast<ElementwiseOp>(op));
    EXPECT_EQ(read.alpha, 0.25f);
    EXPECT_EQ(read.beta, 6.0f);
    kit::fuse::DropActivation(node);
    EXPECT_TRUE(node.attributes.empty());
    EXPECT_FALSE(Activation::Read(node));
  }
}

TEST(Activation, MeansNothingOnAnOperatorOfOnnx) {
  kit::ir::Node node = KitNode();
  Activation{ElementwiseOp::kRelu}.AddTo(node);
  node.domain.clear();
  EXPECT_FALSE(Activation::Read(node));
}

TEST(Activation, OfNoKnownNameIsRefused) {
  for (const char* name : {"Relux", "Add", "Count"}) {
    kit::ir::Node node = KitNode();
    node.attributes.push_back(kit::ir::Attribute::String("activation", name));
    try {
      Activation::Read(node);
      FAIL() << name;
    } catch (const kit::Error& error) {
      EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH);
      EXPECT_THAT(error.what(), HasSubstr(std::string("unknown activation '") + name + "'"));
    }
  }
}

// Returns the activation that is found after x in a graph with output y.
std::string Behind(std::string text, const kit::fuse::TakesActivation& takes = {}) {
  kit::ir::Graph graph = kit::ir::FromText("in v: float[2,3]\nx = Neg(v) : float[2,3]\n" + text + "\nout y");
  kit::ir::Editor editor(graph);
  const kit::fuse::FoundActivation found = FindActivation(editor, editor.node(0).outputs[0], takes);
  return found ? std::string(NameOf(found.activation.op)) : "";
}

TEST(FindActivation, FindsWhatAloneReadsTheValue) {
  EXPECT_EQ(Behind("y = Relu(x) : float[2,3]"), "Relu");
  EXPECT_EQ(Behind("y = LeakyRelu<alpha=0.5>(x) : float[2,3]"), "LeakyRelu");
  EXPECT_EQ(Behind("y = Clip@6<min=0.0, max=6.0>(x) : float[2,3]"), "Clip");
  EXPECT_EQ(Behind("const a: float[] = [0]\nconst b: float[] = [6]\ny = Clip@11(x, a, b) : float[2,3]"), "Clip");
  EXPECT_EQ(Behind("const a: float[] = [nan]\ny = Clip@11(x, a) : float[2,3]"), "");
  EXPECT_EQ(Behind("y = Gelu@20<approximate=\"tanh\">(x) : float[2,3]"), "GeluTanh");
  EXPECT_EQ(Behind("s = Sigmoid(x) : float[2,3]\ny = Mul@7(s, x) : float[2,3]"), "Swish");
  EXPECT_EQ(Behind("y = Swish@24(x) : float[2,3]"), "Swish");
}

TEST(FindActivation, FindsNoneWhereAnotherNodeNeedsTheValue) {
  EXPECT_EQ(Behind("y = Relu(x) : float[2,3]\nz = Abs(x) : float[2,3]"), "");
  EXPECT_EQ(Behind("y = Relu(x) : float[2,3]\nout x"), "");
  EXPECT_EQ(Behind("s = Sigmoid(x) : float[2,3]\ny = Mul@7(s, x) : float[2,3]\nout s"), "");
  EXPECT_EQ(Behind("y = Softmax@13(x) : float[2,3]"), "");
  EXPECT_EQ(Behind("const a: float[] = [7]\nconst b: float[] = [6]\ny = Clip@11(x, a, b) : float[2,3]"), "")
      << "bounds out of order";
  EXPECT_EQ(Behind("in a: float[]\ny = Clip@11(x, a) : float[2,3]"), "") << "a bound that isn't known";
}

TEST(FindActivation, FindsWhatTheProviderTakes) {
  const auto takes = [](const Activation& activation) { return activation.op == ElementwiseOp::kRelu; };
  EXPECT_EQ(Behind("y = Relu(x) : float[2,3]", takes), "Relu");
  EXPECT_EQ(Behind("y = Tanh(x) : float[2,3]", takes), "");
}

TEST(MergeReluIntoClip, RaisesTheLowerBound) {
  const auto merge = [](kit::ir::Editor& editor) { kit::fuse::MergeReluIntoClip(editor); };
  EXPECT_EQ(Recognised("in x: float[2]\na = Relu(x) : float[2]\n[c] y = Clip@6<max=6.0>(a) : float[2]\nout y", merge),
            "y = Clip<max=6.0, min=0.0>(x)\n");
  EXPECT_EQ(Recognised("in x: float[2]\nconst l: float[] = [-1]\nconst h: float[] = [6]\na = Relu(x) : float[2]\n"
                       "[c] y = Clip@13(a, l, h) : float[2]\nout y",
                       merge),
            "y = Clip(x, c_min, h)\n");
  EXPECT_EQ(RecognisedOperators("in x: float[2]\nin l: float[]\na = Relu(x) : float[2]\n"
                                "y = Clip@13(a, l) : float[2]\nout y",
                                merge),
            "Relu Clip");
  EXPECT_EQ(RecognisedOperators("in x: float[2]\nconst l: float[] = [nan]\na = Relu(x) : float[2]\n"
                                "y = Clip@13(a, l) : float[2]\nout y",
                                merge),
            "Relu Clip");
}

std::string Swished(const std::string& body) {
  const std::string head = R"(
    in x: float[2,3]
    const three: float[] = [3]
    const six: float[] = [6]
    const zero: float[] = [0]
    const sixth: float[] = [0.16666667]
    const half: float[] = [0.5]
)";
  return Recognised(head + body + "\nout y", [](kit::ir::Editor& editor) { kit::fuse::FuseHardSwish(editor); });
}

TEST(FuseHardSwish, InEveryOrder) {
  const std::string hard_swish = "y = HardSwish(x)\n";

  // Clip's result is declared, because an instruction needs known types.
  const std::string typed = "a = Add@14(x, three) : float[2,3]\nc = Clip@13(a, zero, six) : float[2,3]\n";
  EXPECT_EQ(Swished("h = HardSigmoid<alpha=0.16666667, beta=0.5>(x)\ny = Mul@14(x, h) : float[2,3]"), hard_swish);
  EXPECT_EQ(Swished(typed + "m = Mul@14(x, c)\ny = Div@14(m, six) : float[2,3]"), hard_swish);
  EXPECT_EQ(Swished(typed + "d = Div@14(c, six)\ny = Mul@14(x, d) : float[2,3]"), hard_swish);
  EXPECT_EQ(Swished(typed + "m = Mul@14(c, sixth)\ny = Mul@14(m, x) : float[2,3]"), hard_swish);
  EXPECT_EQ(Swished(typed + "m = Mul@14(c, x)\ny = Mul@14(m, sixth) : float[2,3]"), hard_swish);
}

TEST(FuseHardSwish, StaysForOtherFormulas) {
  const auto stays = [](const std::string& body) { return Swished(body).find("HardSwish") == std::string::npos; };
  EXPECT_TRUE(stays("h = HardSigmoid<alpha=0.2, beta=0.5>(x)\ny = Mul@14(x, h) : float[2,3]"));
  EXPECT_TRUE(
      stays("a = Add@14(x, three) : float[2,3]\nc = Clip@13(a, zero, six) : float[2,3]\n"
            "y = Mul@14(x, c) : float[2,3]"));
  EXPECT_TRUE(
      stays("a = Add@14(x, half) : float[2,3]\nc = Clip@13(a, zero, six) : float[2,3]\nm = Mul@14(x, c)\n"
            "y = Div@14(m, six) : float[2,3]"));
  EXPECT_TRUE(stays("in z: float[2,3]\nh = HardSigmoid<alpha=0.16666667, beta=0.5>(x)\ny = Mul@14(z, h) : float[2,3]"));
}

TEST(FuseSwish, WithItsFactor) {
  const auto fuse = [](kit::ir::Editor& editor) { kit::fuse::FuseSwish(editor); };
  EXPECT_EQ(Recognised("in x: float[2]\ns = Sigmoid(x)\ny = Mul@14(s, x) : float[2]\nout y", fuse), "y = Swish(x)\n");
  EXPECT_EQ(Recognised("in x: float[2]\nconst k: float[] = [1.702]\na = Mul@14(k, x) : float[2]\ns = Sigmoid(a)\n"
                       "y = Mul@14(x, s) : float[2]\nout y",
                       fuse),
            "y = Swish<alpha=1.702>(x)\n");
  EXPECT_EQ(
      RecognisedOperators("in x: float[2]\nin z: float[2]\ns = Sigmoid(z)\ny = Mul@14(s, x) : float[2]\nout y", fuse),
      "Sigmoid Mul");
}

TEST(FuseMish, OfSoftplusWrittenOutOrNot) {
  const auto fuse = [](kit::ir::Editor& editor) { kit::fuse::FuseMish(editor); };
  EXPECT_EQ(Recognised("in x: float[2]\na = Softplus(x)\nt = Tanh(a)\ny = Mul@14(x, t) : float[2]\nout y", fuse),
            "y = Mish(x)\n");
  EXPECT_EQ(Recognised("in x: float[2]\nconst one: float[] = [1]\ne = Exp(x)\na = Add@14(e, one)\nl = Log(a)\n"
                       "t = Tanh(l)\ny = Mul@14(t, x) : float[2]\nout y",
                       fuse),
            "y = Mish(x)\n");
}

}  // namespace
}  // namespace epiphyte::test
