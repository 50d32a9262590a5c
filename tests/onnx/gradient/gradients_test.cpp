// Gradient nodes as the operator's specification defines them.
#include <gmock/gmock.h>

#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/gradient/differences.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Model(const std::string& graph, int64_t opset = 17) {
  return OnnxFromText(
      fmt::format("<ir_version: 8, opset_import: [\"\" : {}, \"ai.onnx.preview.training\" : 1]> {}", opset, graph));
}

class Gradients : public testing::Test {
 protected:
  std::vector<std::vector<float>> Run(const std::string& bytes, const std::vector<core::ValuePtr>& inputs) {
    core::Session session(*environment_, bytes.data(), bytes.size(), core::SessionConfig(OptionsFor({"cpu"})));
    std::vector<std::vector<float>> found;
    for (const core::ValuePtr& output : session.Run(inputs)) found.push_back(FloatsOf(*output));
    return found;
  }
  std::string Failure(const std::string& graph, int64_t opset = 17) {
    const std::string bytes = Model(graph, opset);
    return FailureOf(
        [&] { core::Session(*environment_, bytes.data(), bytes.size(), core::SessionConfig(OptionsFor({"cpu"}))); });
  }

  std::unique_ptr<core::Environment> environment_ = BuildTreeEnvironment();
};

// If y has more than one element, Gradient differentiates the sum of its elements.
TEST_F(Gradients, OfEachElementOfAnInput) {
  const std::string bytes = Model(R"(g (float[3] a, float[3] b) => (float[3] c, float[3] da, float[3] db) {
    c = Mul(a, b)
    da, db = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "c"> (a, b) })");
  EXPECT_THAT(Run(bytes, {Floats({3}, {1, 2, 3}), Floats({3}, {4, 5, 6})}),
              ElementsAre(ElementsAre(4, 10, 18), ElementsAre(4, 5, 6), ElementsAre(1, 2, 3)));
}

TEST_F(Gradients, NodesMayComeBeforeWhatTheyDifferentiate) {
  const std::string bytes = Model(R"(g (float[1] a) => (float[1] da) {
    da = ai.onnx.preview.training.Gradient <xs = ["a"], y = "c"> (a)
    c = Mul(a, a) })");
  EXPECT_THAT(Run(bytes, {Floats({1}, {3})}), ElementsAre(ElementsAre(6)));
}

TEST_F(Gradients, AgainstIntermediateValues) {
  const std::string bytes = Model(R"(g (float[1] w, float[1] z) => (float[1] dh, float[1] dz) {
    h = Exp(w)
    y = Mul(h, z)
    dh, dz = ai.onnx.preview.training.Gradient <xs = ["h", "z"], y = "y"> (h, z) })");
  EXPECT_THAT(Run(bytes, {Floats({1}, {0}), Floats({1}, {7})}), ElementsAre(ElementsAre(7), ElementsAre(1)));
}

TEST_F(Gradients, OutputsMayBeLeftOut) {
  ProtoModel source;
  source.Opset("ai.onnx.preview.training", 1);
  source.Input("a", kFloat, {"1"}).Input("b", kFloat, {"1"}).Output("db", kFloat, {"1"});
  source.Node("Div", {"a", "b"}, {"c"});
  onnx::NodeProto& node = source.Node("Gradient", {"a", "b"}, {"", "db"}, "ai.onnx.preview.training");
  onnx::AttributeProto& xs = ProtoModel::Attribute(node, "xs", onnx::AttributeProto::STRINGS);
  xs.add_strings("a");
  xs.add_strings("b");
  ProtoModel::Attribute(node, "y", onnx::AttributeProto::STRING).set_s("c");
  EXPECT_THAT(Run(source.Bytes(), {Floats({1}, {6}), Floats({1}, {2})}), ElementsAre(ElementsAre(-1.5f)));
}

// Inputs named in `zs` are constants: the derivative is computed with their values.
TEST_F(Gradients, AtOtherValuesThanThoseOfTheGraph) {
  const std::string bytes = Model(R"(g (float[1] a, float[1] z, float[1] a1, float[1] z1) => (float[1] y, float[1] da) {
    h = Exp(z)
    s = Mul(a, a)
    y = Mul(s, h)
    da = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["z"], y = "y"> (a1, z1) })");
  EXPECT_THAT(Run(bytes, {Floats({1}, {2}), Floats({1}, {0}), Floats({1}, {5}), Floats({1}, {std::log(3.0f)})}),
              ElementsAre(ElementsAre(4), ElementsAre(testing::FloatEq(30))));
}

// The specification's example: d(dO/dW)/dX and d²O/dW² of O = (X W)².
TEST_F(Gradients, OfGradients) {
  const std::string bytes =
      Model(R"(g (float[1] X, float[1] W) => (float[1] dX, float[1] dW, float[1] dWdX, float[1] dWdW) {
    Y = Mul(X, W)
    O = Mul(Y, Y)
    dX, dW = ai.onnx.preview.training.Gradient <xs = ["X", "W"], y = "O"> (X, W)
    dWdX, dWdW = ai.onnx.preview.training.Gradient <xs = ["X", "W"], y = "dW"> (X, W) })");
  EXPECT_THAT(Run(bytes, {Floats({1}, {3}), Floats({1}, {5})}),
              ElementsAre(ElementsAre(150), ElementsAre(90), ElementsAre(60), ElementsAre(18)));
}

TEST_F(Gradients, OfWhatDoesNotDependOnAnInputAreZeros) {
  const std::string bytes = Model(R"(g (float[2] a, float[1,3] b) => (float[2] da, float[1,3] db) {
    y = Exp(a)
    da, db = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "y"> (a, b) })");
  EXPECT_THAT(Run(bytes, {Floats({2}, {0, 0}), Floats({1, 3}, {1, 2, 3})}),
              ElementsAre(ElementsAre(1, 1), ElementsAre(0, 0, 0)));
}

TEST_F(Gradients, OfAnInputItselfAreOnes) {
  const std::string bytes = Model(R"(g (float[2] a) => (float[2] da) {
    da = ai.onnx.preview.training.Gradient <xs = ["a"], y = "a"> (a) })");
  EXPECT_THAT(Run(bytes, {Floats({2}, {5, 6})}), ElementsAre(ElementsAre(1, 1)));
}

// Weights are constants, and a training step needs the derivative by them.
TEST_F(Gradients, AgainstInitializers) {
  const std::string bytes = Model(R"(g (float[1,2] x) => (float[2,1] dw) <float[2,1] w = {1, 2}> {
    y = MatMul(x, w)
    l = Mul(y, y)
    dw = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "l"> (w, x) })");
  EXPECT_THAT(Run(bytes, {Floats({1, 2}, {3, 4})}), ElementsAre(ElementsAre(66, 88)));
}

TEST_F(Gradients, InNestedGraphsOfWhatIsInThemAndAroundThem) {
  const std::string bytes = Model(R"(g (float[1] a, bool c) => (float[1] d) {
    s = Mul(a, a)
    d = If (c) <
      then_branch = t () => (float[1] dt) { y = Exp(s) dt = ai.onnx.preview.training.Gradient <xs = ["s"], y = "y"> (s) },
      else_branch = e () => (float[1] de) { de = ai.onnx.preview.training.Gradient <xs = ["a"], y = "s"> (a) }
    > })");
  EXPECT_THAT(Run(bytes, {Floats({1}, {0}), Bools({}, {true})}), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(Run(bytes, {Floats({1}, {4}), Bools({}, {false})}), ElementsAre(ElementsAre(8)));
}

// The names refer to values of the function.
TEST_F(Gradients, InFunctions) {
  ProtoModel source;
  source.Opset("local", 1).Opset("ai.onnx.preview.training", 1);
  source.Input("x", kFloat, {"1"}).Output("y", kFloat, {"1"});
  source.Node("Slope", {"x"}, {"m"}, "local");
  source.Node("Slope", {"m"}, {"y"}, "local");
  onnx::FunctionProto* function = source.proto.add_functions();
  function->set_name("Slope");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  for (const auto& [domain, version] : {std::pair{"", 17}, {"ai.onnx.preview.training", 1}}) {
    onnx::OperatorSetIdProto* import = function->add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  ProtoModel::FillNode(function->add_node(), "Mul", {"a", "a"}, {"square"});
  onnx::NodeProto* node = function->add_node();
  ProtoModel::FillNode(node, "Gradient", {"a"}, {"b"}, "ai.onnx.preview.training");
  ProtoModel::Attribute(*node, "xs", onnx::AttributeProto::STRINGS).add_strings("a");
  ProtoModel::Attribute(*node, "y", onnx::AttributeProto::STRING).set_s("square");
  EXPECT_THAT(Run(source.Bytes(), {Floats({1}, {3})}), ElementsAre(ElementsAre(12)));
}

TEST_F(Gradients, ThroughContexts) {
  const TempDir dir;
  const auto path = dir.Write("model.onnx", Model(R"(g (float[N,3] a) => (float[N,3] da) {
    y = Softmax(a)
    l = Mul(y, y)
    da = ai.onnx.preview.training.Gradient <xs = ["a"], y = "l"> (a) })"));
  core::SessionOptions compile = OptionsFor({"cpu"});
  compile.Set("ep.context_enable", "1");
  core::Session plain(*environment_, path, core::SessionConfig(compile));
  core::Session loaded(*environment_, dir / "model_ctx.onnx", core::SessionConfig(OptionsFor({"cpu"})));
  const std::vector<core::ValuePtr> inputs = {Floats({2, 3}, {1, 2, 3, 0, -1, 1})};
  EXPECT_EQ(FloatsOf(*plain.Run(inputs)[0]), FloatsOf(*loaded.Run(inputs)[0]));
}

// Celu only takes floats.
TEST_F(Gradients, OfCelu) {
  const std::string bytes = Model(R"(g (float[3] a) => (float[3] d) {
    y = Celu <alpha = 2.0> (a)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })");
  EXPECT_THAT(Run(bytes, {Floats({3}, {-2, 1, 200})}),
              ElementsAre(ElementsAre(testing::FloatEq(std::exp(-1.0f)), 1, 1)));
}

TEST_F(Gradients, InHalf) {
  const std::string bytes = Model(R"(g (float[2] a) => (float[2] d) {
    h = Cast <to = 10> (a)
    y = Mul(h, h)
    dh = ai.onnx.preview.training.Gradient <xs = ["h"], y = "y"> (h)
    d = Cast <to = 1> (dh) })");
  EXPECT_THAT(Run(bytes, {Floats({2}, {1.5f, -2})}), ElementsAre(ElementsAre(3, -4)));
}

TEST_F(Gradients, ThatMakeNoSenseAreRefused) {
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] d) { y = Exp(a)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "nowhere"> (a) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("Gradient"), HasSubstr("'nowhere'")));
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] d) { y = Exp(a)
    d = ai.onnx.preview.training.Gradient <xs = ["a", "y"], y = "y"> (a) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("1 inputs"), HasSubstr("name 2")));
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] d) { y = Exp(a)
    d = ai.onnx.preview.training.Gradient <xs = ["a"]> (a) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("'y'")));
  // h depends on a, so it can't be one of `xs` too.
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] d, float[1] e) { h = Exp(a) y = Mul(h, a)
    d, e = ai.onnx.preview.training.Gradient <xs = ["a", "h"], y = "y"> (a, h) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("'h'"), HasSubstr("Exp")));
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] d) { y = Shape(a)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("int64"), HasSubstr("floats expected")));
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] d, float[1] e) { y = Exp(a)
    d, e = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("2 outputs")));
  // The Gradient node would depend on its own result.
  EXPECT_THAT(Failure(R"(g (float[1] a) => (float[1] y) { y = Mul(a, d)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("cycle")));
}

// Each Gradient unfolds to several times as many nodes as the one that it differentiates.
TEST_F(Gradients, ThatUnfoldToMoreAndMoreNodesAreRefused) {
  std::string nodes = "y0 = Tanh(a) ";
  for (int i = 0; i < 40; ++i)
    nodes += fmt::format("y{} = ai.onnx.preview.training.Gradient <xs = [\"a\"], y = \"y{}\"> (a) ", i + 1, i);
  EXPECT_THAT(Failure(fmt::format("g (float[1] a) => (float[1] y40) {{ {} }}", nodes)),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("unfold")));
}

TEST_F(Gradients, OfOperatorsWithoutARuleAreRefusedByName) {
  EXPECT_THAT(Failure(R"(g (float[2,2] a) => (float[2,2] d) { h = Exp(a) y = Det(h)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })"),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("Gradient"), HasSubstr("Det"), HasSubstr("Softmax")));
  EXPECT_THAT(Failure(R"(g (float[2,2] a) => (float[2,2] d) { y = Exp(a)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })",
                      9),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("opset 11")));
  // An operator without a derivative is fine if it is not on the path from `xs` to `y`.
  EXPECT_EQ(Failure(R"(g (float[2,2] a, float[2,2] b) => (float[2,2] d) { h = Det(b) y = Mul(a, h)
    d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a) })"),
            "OK");
}

// Without a shape, no earlier check has seen the attributes.
TEST_F(Gradients, OfNodesThatMakeNoSenseAreRefused) {
  const std::string_view nodes[] = {
      "y = Transpose <perm = [1000000000, 0]> (x)",
      "y = Transpose <perm = [0, 0]> (x)",
      "y = BatchNormalization(w, w, w, w, w)",
      "y = Conv(x, w)",
      "y = ConvTranspose(x, w)",
      "y = MatMul(x, n)",
      "y = AveragePool <kernel_shape = [2], strides = [1, 1, 1]> (x)",
      "y = AveragePool <kernel_shape = [2], strides = [1, 1, 1], auto_pad = \"SAME_UPPER\"> (x)",
      "y = LayerNormalization <axis = -9223372036854775808> (w, w)",
      "y = LogSoftmax <axis = -9223372036854775808> (w)",
      "y = ReduceL1 <axes = [-9223372036854775808], keepdims = 0> (w)",
  };
  for (const std::string_view node : nodes) {
    EXPECT_THAT(Failure(fmt::format(R"(g (float[] x, float[1] w, float n) => (float[] dx, float[1] dw) {{
      {}
      dx, dw = ai.onnx.preview.training.Gradient <xs = ["x", "w"], y = "y"> (x, w) }})",
                                    node)),
                testing::Not("OK"))
        << node;
  }
}

}  // namespace
}  // namespace epiphyte::test
