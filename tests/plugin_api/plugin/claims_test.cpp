// Claims of a provider made with the kit reach the host unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugin_api/plugin/scripted.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;

constexpr std::string_view kChain = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { a = Abs(x) b = Neg(a) c = Sqrt(b) y = Exp(c) })";

std::vector<const EpNode*> Handles(const kit::GraphView& graph, std::initializer_list<size_t> places) {
  std::vector<const EpNode*> handles;
  for (const size_t place : places) handles.push_back(graph.node(place).handle());
  return handles;
}

class KitClaims : public testing::Test {
 protected:
  core::Capability Claim(std::function<void(const kit::GraphView& graph, kit::Claims& claims)> script) {
    scripted_.script.claim = std::move(script);
    provider_ = scripted_.Make();
    return scripted_.Claim(*provider_, kChain);
  }
  static std::vector<std::vector<std::string>> UnitsOf(const core::Capability& capability) {
    std::vector<std::vector<std::string>> units;
    for (const auto& unit : capability.units) units.push_back(Scripted::NamesOf(unit));
    return units;
  }

  Scripted scripted_;
  std::shared_ptr<core::Provider> provider_;
};

TEST_F(KitClaims, SingleNodesStayUnitsOfTheirOwn) {
  const core::Capability capability = Claim([](const kit::GraphView& graph, kit::Claims& claims) {
    claims.Support(graph.node(1));
    claims.Support(graph.node(0).handle());
  });
  EXPECT_THAT(UnitsOf(capability), testing::UnorderedElementsAre(ElementsAre("a"), ElementsAre("b")));
  EXPECT_TRUE(capability.notes.empty());
  EXPECT_FALSE(capability.only_connected);
}

TEST_F(KitClaims, ASingleNodeCanHaveANameAndASize) {
  const core::Capability capability = Claim(
      [](const kit::GraphView& graph, kit::Claims& claims) { claims.Support(graph.node(2), "as a table", 4096); });
  ASSERT_EQ(UnitsOf(capability), (std::vector<std::vector<std::string>>{{"c"}}));
  ASSERT_EQ(capability.notes.count(0), 1u);
  EXPECT_EQ(capability.notes.at(0).name, "as a table");
  EXPECT_EQ(capability.notes.at(0).memory_bytes, 4096u);
  EXPECT_FALSE(capability.notes.at(0).exact);
}

TEST_F(KitClaims, AGroupIsOneUnitThatMayGrow) {
  const core::Capability capability = Claim([](const kit::GraphView& graph, kit::Claims& claims) {
    claims.Together(Handles(graph, {1, 2}), "a pair");
  });
  EXPECT_EQ(UnitsOf(capability), (std::vector<std::vector<std::string>>{{"b", "c"}}));
  EXPECT_EQ(capability.notes.at(0).name, "a pair");
  EXPECT_FALSE(capability.notes.at(0).exact);
}

TEST_F(KitClaims, AnExactGroupIsOneUnitThatMayNot) {
  const core::Capability capability = Claim([](const kit::GraphView& graph, kit::Claims& claims) {
    claims.Exactly(Handles(graph, {0, 1}));
  });
  EXPECT_EQ(UnitsOf(capability), (std::vector<std::vector<std::string>>{{"a", "b"}}));
  EXPECT_TRUE(capability.notes.at(0).exact);
}

TEST_F(KitClaims, ReasonsAndKeepConnectedReachTheHost) {
  const core::Capability capability = Claim([](const kit::GraphView& graph, kit::Claims& claims) {
    claims.KeepConnected();
    claims.Decline(graph.node(3), "no exponentials");
    claims.Decline(graph.node(2), "");
  });
  EXPECT_TRUE(capability.units.empty());
  EXPECT_TRUE(capability.only_connected);
  ASSERT_EQ(capability.declined.size(), 2u);
  EXPECT_EQ(capability.declined[0].second, "no exponentials");
  EXPECT_EQ(capability.declined[1].second, "not supported") << "a reason there is";
}

TEST_F(KitClaims, WhatAProviderThrowsIsItsFailure) {
  EXPECT_EQ(FailureOf([&] {
              Claim([](const kit::GraphView& graph, kit::Claims& claims) {
                claims.Support(graph.node(0));
                throw kit::Error(EP_STATUS_ENGINE_ERROR, "the compiler is gone");
              });
            }).substr(0, 12),
            "ENGINE_ERROR");
}

TEST_F(KitClaims, TheShortWayAsksNodeByNode) {
  class Short final : public kit::Provider {
   public:
    bool Supports(const kit::NodeView& node, std::string* why_not) override {
      asked.emplace_back(node.op_type());
      EXPECT_EQ(*why_not, "") << "of the node before";
      *why_not = "only Neg";
      return node.Is("Neg");
    }
    std::vector<std::string> asked;
  } provider;
  const core::Capability capability =
      Claim([&](const kit::GraphView& graph, kit::Claims& claims) { provider.GetCapability(graph, claims); });
  EXPECT_THAT(provider.asked, ElementsAre("Abs", "Neg", "Sqrt", "Exp"));
  EXPECT_EQ(UnitsOf(capability), (std::vector<std::vector<std::string>>{{"b"}}));
  EXPECT_EQ(capability.declined.size(), 3u);
  EXPECT_EQ(capability.declined[0].second, "only Neg");
}

}  // namespace
}  // namespace epiphyte::test
