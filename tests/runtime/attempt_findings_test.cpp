// Findings of attempts to make a session, and their use in the next attempt.
#include "core/runtime/attempt_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph.h"

namespace epiphyte::test {
namespace {

using core::AttemptFindings;
using core::UnclaimedCall;
using testing::ElementsAre;

class Findings : public testing::Test {
 protected:
  core::Node* Call(const std::string& domain, const std::string& op_type, const std::string& output) {
    return graph_.AddNode(op_type, domain, 1, {}, {graph_.AddValue(output)});
  }
  bool Contains(const core::Node* call) const { return findings_.unclaimed_calls().Contains(*call); }

  core::Graph graph_{"g"};
  AttemptFindings findings_;
};

TEST_F(Findings, AProviderThatFailedIsLeftOut) {
  findings_.AddProviderError("npu: no answer");
  EXPECT_FALSE(findings_.HasFailed("npu")) << "the attempt went on with it";
  findings_.Add(core::OptionalProviderError{"npu", "npu: out of tiles"});
  EXPECT_TRUE(findings_.HasFailed("npu"));
  EXPECT_FALSE(findings_.HasFailed("cpu"));
  EXPECT_THAT(findings_.provider_errors(), ElementsAre("npu: no answer", "npu: out of tiles"));
}

TEST_F(Findings, AnUnclaimedCallIsKnownByItsOutput) {
  findings_.Add(std::vector<UnclaimedCall>{{"custom", "Twice", "y", core::UnclaimedBody{"y/", "node 'y'", {}}}});
  EXPECT_TRUE(Contains(Call("custom", "Twice", "y")));
  EXPECT_FALSE(Contains(Call("custom", "Twice", "z")));
  EXPECT_FALSE(Contains(Call("custom", "Thrice", "y2")));
  ASSERT_EQ(findings_.unclaimed_calls().bodies().size(), 1u);
  EXPECT_EQ(findings_.unclaimed_calls().bodies()[0].prefix, "y/");
}

TEST_F(Findings, AnUnclaimedFunctionStandsForAllItsCalls) {
  findings_.Add(std::vector<UnclaimedCall>{{"custom", "Twice", "", std::nullopt}});
  EXPECT_TRUE(Contains(Call("custom", "Twice", "y")));
  EXPECT_TRUE(Contains(Call("custom", "Twice", "z")));
  EXPECT_FALSE(Contains(Call("", "Twice", "x")));
  EXPECT_TRUE(findings_.unclaimed_calls().bodies().empty());
}

}  // namespace
}  // namespace epiphyte::test
