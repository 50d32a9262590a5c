// Transforms of an application: the resulting graph is always checked, and types that were inferred before are not
// trusted.
#include "core/transform/application_transforms.h"

#include <gmock/gmock.h>

#include <functional>
#include <stdexcept>

#include "core/base/error.h"
#include "core/onnx/infer/inference.h"
#include "tests/framework/graph_text.h"

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Lambda final : public ApplicationTransform {
 public:
  using Body = std::function<GraphChanges(Graph&)>;
  explicit Lambda(Body body, std::string name = "acme.Test")
      : ApplicationTransform("transform", std::move(name), "1"), body_(std::move(body)) {}
  GraphChanges Apply(Graph& graph, const ProgressCallback&) override { return body_(graph); }

 private:
  Body body_;
};

constexpr std::string_view kChain = R"(
  opset 17
  in    x: float[2,3]
  a:float[2,3] = Relu(x)
  b:float[2,3] = Neg(a)
  y:float[2,3] = Abs(b)
  out   y
)";

Model Read(std::string_view text) {
  Model model;
  model.graph = ParseGraph(text);
  InferTypes(*model.graph);
  return model;
}

std::vector<std::string> Transform(Model& model, Lambda::Body body) {
  const ApplicationTransforms transforms = {std::make_shared<Lambda>(std::move(body))};
  return RunApplicationTransforms(model, transforms, {});
}

Error ErrorOf(std::string_view text, Lambda::Body body) {
  Model model = Read(text);
  try {
    Transform(model, std::move(body));
  } catch (const Error& error) {
    return error;
  }
  return Error(StatusCode::kOk, "nothing was thrown");
}

// The changes of a transform that does not list the changed nodes.
GraphChanges Changed() { return {true, {}}; }

TEST(ApplicationTransforms, RunInTheirOrderOnGraphsAndWhatIsNestedInThem) {
  Model model = Read(kChain);
  std::vector<std::string> seen;
  ApplicationTransforms transforms;
  for (const char* name : {"first", "second"}) {
    transforms.push_back(std::make_shared<Lambda>(
        [&seen, name](Graph&) {
          seen.emplace_back(name);
          return GraphChanges{};
        },
        name));
  }
  EXPECT_THAT(RunApplicationTransforms(model, transforms, {}), IsEmpty());
  EXPECT_THAT(seen, ElementsAre("first", "second"));
}

TEST(ApplicationTransforms, UnusedNodesAreRemovedAfterwards) {
  Model model = Read(kChain);
  const auto changed = Transform(model, [](Graph& graph) {
    graph.ReplaceAllUses(graph.FindValue("b"), graph.FindValue("x"));
    return Changed();
  });
  EXPECT_THAT(changed, ElementsAre("acme.Test"));
  EXPECT_EQ(Print(*model.graph), "y = Abs(x)\n");
}

TEST(ApplicationTransforms, ACycleIsFoundAndTheTransformIsNamed) {
  const Error error = ErrorOf(kChain, [](Graph& graph) {
    graph.ReplaceInput(graph.FindValue("a")->producer(), 0, graph.FindValue("b"));
    return Changed();
  });
  EXPECT_EQ(error.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("transform 'acme.Test'"), HasSubstr("cycle"), Not(HasSubstr("\n"))));
}

TEST(ApplicationTransforms, ValueWithoutProducerIsRefused) {
  const Error read = ErrorOf(kChain, [](Graph& graph) {
    graph.RemoveNode(graph.FindValue("a")->producer());
    return Changed();
  });
  EXPECT_EQ(read.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(read.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("'a'"), HasSubstr("Neg")));
  const Error returned = ErrorOf(kChain, [](Graph& graph) {
    graph.RemoveNode(graph.FindValue("y")->producer());
    return Changed();
  });
  EXPECT_EQ(returned.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(returned.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("output 'y' of graph")));
}

TEST(ApplicationTransforms, InputsAndOutputsStay) {
  const Error error = ErrorOf(kChain, [](Graph& graph) {
    graph.SetOutputs({graph.FindValue("b")});
    return Changed();
  });
  EXPECT_EQ(error.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("outputs (b)"), HasSubstr("(y)")));
}

TEST(ApplicationTransforms, OperatorsAndTheirInputsAreCheckedAsThoseOfAFile) {
  const auto add = [](std::string_view op, std::vector<const char*> names) {
    return [=](Graph& graph) {
      std::vector<ValueDef*> inputs;
      for (const char* name : names) inputs.push_back(graph.FindValue(name));
      Node* node = graph.AddNode(op, "", 13, inputs, {graph.AddValue("new")});
      graph.ReplaceInput(graph.FindValue("y")->producer(), 0, graph.FindValue("new"));
      return GraphChanges{true, {node}};
    };
  };
  const Error unknown = ErrorOf(kChain, add("Rellu", {"b"}));
  EXPECT_EQ(unknown.code(), StatusCode::kNotImplemented);
  EXPECT_THAT(unknown.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("did you mean")));
  const Error arity = ErrorOf(kChain, add("Add", {"b"}));
  EXPECT_EQ(arity.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(arity.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("1 inputs, 2 expected")));
}

TEST(ApplicationTransforms, TypesThatDoNotFitAreFound) {
  constexpr std::string_view kTwoTypes = R"(
    opset 17
    in    x: float[2]
    in    n: int64[2]
    y:float[2] = Relu(x)
    z:int64[2] = Abs(n)
    out   y, z
  )";
  const Error input = ErrorOf(kTwoTypes, [](Graph& graph) {
    Node* relu = graph.FindValue("y")->producer();
    Node* add = graph.AddNode("Add", "", 14, {graph.FindValue("x"), graph.FindValue("n")}, {graph.AddValue("sum")});
    graph.ReplaceInput(relu, 0, graph.FindValue("sum"));
    return GraphChanges{true, {relu, add}};
  });
  EXPECT_EQ(input.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(input.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("float"), HasSubstr("int64")));
  const Error output = ErrorOf(kTwoTypes, [](Graph& graph) {
    Node* abs = graph.FindValue("z")->producer();
    graph.ReplaceInput(abs, 0, graph.FindValue("x"));
    return GraphChanges{true, {abs}};
  });
  EXPECT_EQ(output.code(), StatusCode::kInvalidGraph);
  EXPECT_THAT(output.message(), AllOf(HasSubstr("'acme.Test'"), HasSubstr("'z'"), HasSubstr("declared")));
}

// Merging old and new shape would keep the 3, which was true of the old node only.
TEST(ApplicationTransforms, ShapesBehindAChangedNodeAreInferredAnew) {
  Model model = Read(R"(
    opset 17
    in    x: float[2,?]
    const to: int64[2] = 2 3
    a = Reshape(x, to)
    b = Neg(a)
    c = Shape(b)
    y = Abs(b)
    out   y, c
  )");
  ASSERT_EQ(model.graph->FindValue("b")->type()->ToString(), "tensor(float)[2,3]");
  Transform(model, [](Graph& graph) {
    Node* neg = graph.FindValue("b")->producer();
    graph.ReplaceInput(neg, 0, graph.FindValue("x"));
    return GraphChanges{true, {neg}};
  });
  EXPECT_EQ(model.graph->FindValue("b")->type()->ToString(), "tensor(float)[2,?]");
}

TEST(ApplicationTransforms, WhateverTheyThrowNamesThem) {
  const auto message_of = [](auto&& exception) {
    return ErrorOf(kChain, [&](Graph&) -> GraphChanges { throw exception; }).message();
  };
  EXPECT_EQ(message_of(std::runtime_error("no such table")), "transform 'acme.Test' threw an exception: no such table");
  EXPECT_EQ(message_of(7), "transform 'acme.Test' threw something that is no std::exception");
  EXPECT_EQ(message_of(Error(StatusCode::kNotFound, "no table")), "transform 'acme.Test': no table");
  EXPECT_EQ(ErrorOf(kChain, [](Graph&) -> GraphChanges { throw Error(StatusCode::kNotFound, "no table"); }).code(),
            StatusCode::kNotFound);
}

TEST(ApplicationTransforms, CancellationIsNotReportedAsAnErrorOfTheTransform) {
  Model model = Read(kChain);
  const ApplicationTransforms transforms = {std::make_shared<Lambda>([](Graph&) { return GraphChanges{}; })};
  const ProgressCallback cancel = [](uint64_t, uint64_t, std::string_view) {
    Fail(StatusCode::kModelLoadCanceled, "the application cancelled");
  };
  try {
    RunApplicationTransforms(model, transforms, cancel);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kModelLoadCanceled);
    EXPECT_EQ(error.message(), "the application cancelled");
  }
}

}  // namespace
}  // namespace epiphyte::test
