// Control flow that is decided when the session is created, and constants that bodies share with outer graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using namespace core;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsSupersetOf;

class DecidedControlFlow : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Open(std::string_view text) {
    const std::string bytes = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 17]>\n" + std::string(text));
    return std::make_unique<Session>(*environment_, bytes.data(), bytes.size(), OptionsFor({"cpu"}));
  }
  // Returns the remaining operators, nested graphs included.
  static std::vector<std::string> Left(const Session& session) {
    std::vector<std::string> left;
    for (const NodePlacement& node : session.placement().nodes) left.push_back(node.op_type);
    std::sort(left.begin(), left.end());
    return left;
  }
  static std::vector<std::string> Fates(const Session& session) {
    std::vector<std::string> fates;
    for (const RemovedNode& node : session.placement().removed) {
      fates.push_back((node.graph.empty() ? "" : node.graph + "/") + node.op_type + ": " +
                      std::string(RemovalReasonName(node.reason)));
    }
    return fates;
  }

  std::unique_ptr<Environment> environment_ = BuildTreeEnvironment();
};

// Exporters write this pattern for squeeze() without a dimension, and torch.jit.script for any comparison of sizes.
TEST_F(DecidedControlFlow, AConditionOnShapesIsKnown) {
  const auto session = Open(R"(
    g (float[N, 1, 3] x) => (float[N, 3] y) <int64 one = {1}, int64 two = {2}, int64[1] axis = {1}> {
      shape = Shape(x)
      size = Gather(shape, one)
      is_one = Equal(size, one)
      a = If (is_one) <then_branch = t () => (p) { p = Squeeze(x, axis) },
                       else_branch = e () => (q) { q = Identity(x) }>
      b = Relu(a)
      inner = Shape(b)
      rank = Shape(inner)
      flat = Squeeze(rank)
      is_flat = Equal(flat, two)
      y = If (is_flat) <then_branch = t2 () => (r) { r = Neg(b) }, else_branch = e2 () => (s) { s = Abs(b) }>
    })");
  EXPECT_THAT(Left(*session), ElementsAre("Neg", "Relu", "Squeeze"));
  EXPECT_THAT(Fates(*session), IsSupersetOf({"If: decided", "If: decided", "if_0/else_branch/Identity: untaken",
                                             "if_2/else_branch/Abs: untaken"}));
  const ValuePtr x = Floats({2, 1, 3}, {-1, 2, -3, 4, -5, 6});
  const auto outputs = session->Run(std::vector<ValuePtr>{x});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(0, -2, 0, -4, 0, -6));
}

TEST_F(DecidedControlFlow, ConstantsOfOuterGraphsFoldInBodies) {
  const auto session = Open(R"(
    g (bool c, float[1, 2] x) => (float[1, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2, 2] v = {1, 1, 1, 1}> {
      y = If (c) <
        then_branch = t () => (float[1, 2] p) { turned = Transpose<perm = [1, 0]>(w) sum = Add(turned, v) p = MatMul(x, sum) },
        else_branch = e () => (float[1, 2] q) { q = Relu(x) }>
    })");
  EXPECT_THAT(Left(*session), ElementsAre("If", "MatMul", "Relu"));
  const ValuePtr x = Floats({1, 2}, {1, 10});
  EXPECT_THAT(FloatsOf(*session->Run(std::vector<ValuePtr>{Bools({}, {true}), x})[0]), ElementsAre(2 + 30, 4 + 50));
}

TEST_F(DecidedControlFlow, ALoopOfOneRoundIsNoLoop) {
  const auto session = Open(R"(
    g (float[2] x) => (float[2] final, float[M, 2] rows) <int64 trips = {1}> {
      final, rows = Loop (trips, absent, x) <
        body = b (int64 i, bool on, float[2] s) => (bool go_on, float[2] next, float[2] row) {
          f = Cast<to = 1>(i) next = Add(s, f) row = Neg(next) go_on = Identity(on)
        }>
    })");
  EXPECT_EQ(std::ranges::count(Left(*session), "Loop"), 0);
  const auto outputs = session->Run(std::vector<ValuePtr>{Floats({2}, {3, 4})});
  EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(3, 4));
  EXPECT_THAT(FloatsOf(*outputs[1]), ElementsAre(-3, -4));
  EXPECT_THAT(outputs[1]->dims(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace epiphyte::test
