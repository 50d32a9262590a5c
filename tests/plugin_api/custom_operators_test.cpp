// The example plugin with its own operators (plugin_api/examples/custom_operators). Nodes that read the operators'
// results run on the CPU plugin, with the correct types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CustomOperators : public testing::Test {
 protected:
  CustomOperators() {
    core::CatalogOptions options;
    options.use_environment = false;
    options.use_user_folder = false;
    options.paths = {EPIPHYTE_EXAMPLE_PLUGIN_DIR};
    environment_ = std::make_unique<core::Environment>(std::move(options));
  }
  Session Open(const std::string& text, const core::SessionOptions& options = OptionsFor({"custom_operators", "cpu"})) {
    const std::string bytes = OnnxFromText(text);
    return Session(*environment_, bytes.data(), bytes.size(), options);
  }
  static std::vector<double> DoublesOf(const core::Value& value) {
    return {value.data_as<double>(), value.data_as<double>() + value.element_count()};
  }
  static std::string TypeOf(const Session& session, size_t output) {
    return session.outputs()[output].type->ToString();
  }

  std::unique_ptr<core::Environment> environment_;
};

TEST_F(CustomOperators, Int64BehindOneIsAddedOnTheCpu) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "example.ops" : 1]>
    g (float[4] x, float[2] edges) => (y) {
      b = example.ops.Bucketize(x, edges)
      y = Add(b, b)
    })";
  const std::string bytes = OnnxFromText(text);
  Session session(*environment_, bytes.data(), bytes.size(), OptionsFor({"custom_operators", "cpu"}));
  EXPECT_EQ(TypeOf(session, 0), "tensor(int64)[4]");
  EXPECT_EQ(session.placement().Summary(), "2 nodes: custom_operators 1 in 1 partition, cpu 1 in 1 partition");
  const auto outputs = session.Run(std::vector<ValuePtr>{Floats({4}, {-1, 0, 1.5F, 9}), Floats({2}, {0, 2})});
  EXPECT_THAT(Int64sOf(*outputs[0]), ElementsAre(0, 2, 2, 4));
}

TEST_F(CustomOperators, DoubleBehindOneIsCastAndMultipliedOnTheCpu) {
  const std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "example.ops" : 1]>
    g (float[2,3] x) => (y, f) {
      s = example.ops.PreciseSum(x)
      y = Mul(s, s)
      f = Cast<to = 1>(y)
    })");
  Session session(*environment_, bytes.data(), bytes.size(), OptionsFor({"custom_operators", "cpu"}));
  EXPECT_EQ(TypeOf(session, 0), "tensor(double)[2]");
  EXPECT_EQ(TypeOf(session, 1), "tensor(float)[2]");
  const auto outputs = session.Run(std::vector<ValuePtr>{Floats({2, 3}, {1, 2, 3, 0.5F, 0.25F, 0.25F})});
  EXPECT_THAT(DoublesOf(*outputs[0]), ElementsAre(36, 1));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(36, 1));
}

TEST_F(CustomOperators, AShapeThatTheHostWorksOutIsTheOutputs) {
  const std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "example.ops" : 1]>
    g (float[2,3] x) => (y, i) {
      s = Shape(x)
      y = example.ops.Blank<value = 7>(s)
      i = Cast<to = 7>(y)
    })");
  Session session(*environment_, bytes.data(), bytes.size(), OptionsFor({"custom_operators", "cpu"}));
  EXPECT_EQ(TypeOf(session, 0), "tensor(uint8)[2,3]");
  EXPECT_EQ(TypeOf(session, 1), "tensor(int64)[2,3]");
  const auto outputs = session.Run(std::vector<ValuePtr>{Floats({2, 3}, std::vector<float>(6))});
  EXPECT_THAT(Int64sOf(*outputs[1]), testing::Each(7));
}

TEST_F(CustomOperators, SeveralMakeOnePartition) {
  const std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "example.ops" : 1]>
    g (float[2,2] x) => (a, b, c)
    <float[1] edges = {1.5}>
    {
      a = example.ops.Bucketize(x, edges)
      b = example.ops.PreciseSum(x)
      c = example.ops.Blank<value = 1>(a_shape)
      a_shape = Identity(shape)
      shape = Constant<value = int64[1] {3}>()
    })");
  Session session(*environment_, bytes.data(), bytes.size(), OptionsFor({"custom_operators", "cpu"}));
  EXPECT_EQ(session.placement().Summary(), "3 nodes: custom_operators 3 in 1 partition");
  const auto outputs = session.Run(std::vector<ValuePtr>{Floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(Int64sOf(*outputs[0]), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(DoublesOf(*outputs[1]), ElementsAre(3, 7));
  EXPECT_EQ(outputs[2]->element_count(), 3u);
}

TEST_F(CustomOperators, AModelThatBreaksARuleOfTheOperatorsIsRefusedBeforeItRuns) {
  const auto failure = [&](const std::string& body) {
    return FailureOf([&] {
      Open("<ir_version: 8, opset_import: [\"\" : 17, \"example.ops\" : 1]> g (float[2,2] x) => (y) { " + body + " }");
    });
  };
  EXPECT_EQ(failure("y = example.ops.PreciseSum(x)"), "OK");
  EXPECT_THAT(failure("q = ReduceMax<keepdims = 0>(x) y = example.ops.PreciseSum(q)"),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("x is a scalar")));
  EXPECT_THAT(failure("y = example.ops.Bucketize(x, x)"), HasSubstr("edges have 2 dimensions, 1 expected"));
  EXPECT_THAT(failure("y = example.ops.Bucketize(x)"), HasSubstr("has 1 inputs, 2 expected"));
  EXPECT_THAT(failure("s = Shape(x) y = example.ops.Blank(s)"), HasSubstr("lacks the attribute 'value'"));
}

TEST_F(CustomOperators, OperatorKnownToAPluginButNotRunIsReportedWithThatPlugin) {
  const auto failure = [&](const std::string& domain, const std::string& op, const core::SessionOptions& options) {
    return FailureOf([&] {
      Open("<ir_version: 8, opset_import: [\"\" : 17, \"" + domain + "\" : 1]> g (float[2] x) => (y) { y = " + domain +
               "." + op + "(x) }",
           options);
    });
  };
  const core::SessionOptions everybody = OptionsFor({});
  EXPECT_THAT(failure("acme", "Count", everybody),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("no installed plugin knows the domain 'acme'")));
  EXPECT_THAT(failure("acme", "Count", OptionsFor({"cpu"})),
              HasSubstr("none of the session's plugins knows the domain 'acme'"));
  EXPECT_THAT(failure("example.ops", "Bucketise", everybody),
              AllOf(HasSubstr("plugin 'custom_operators' brings the domain 'example.ops'"),
                    HasSubstr("did you mean Bucketize?")));
  EXPECT_THAT(failure("example.ops", "Bucketize", OptionsFor({"cpu"})),
              HasSubstr("none of the session's plugins knows the domain 'example.ops'"));
}

}  // namespace
}  // namespace epiphyte::test
