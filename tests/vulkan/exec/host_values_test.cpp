// Host values: the values that the host will know when it makes a program, and the inputs that it reads to compute
// them.
#include "plugins/vulkan/exec/host_values.h"

#include <gmock/gmock.h>

#include "epiphyte/kit/graph/text.hpp"
#include "plugins/vulkan/exec/claims.h"
#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

int32_t ValueOf(const ir::Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].name == name) return static_cast<int32_t>(i);
  ADD_FAILURE() << "no value " << name;
  return 0;
}

bool Knows(const ir::Graph& graph, const HostValues& values, std::string_view name) {
  return values.known[static_cast<size_t>(ValueOf(graph, name))];
}

TEST(HostValues, ShapesAreKnownAndWhatIsComputedOfThem) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[-1,8]
const zero: int64[1] = [0]
const tail: int64[1] = [-1]
s = Shape@15(x) : int64[2]
n = Gather@13(s, zero) : int64[1]
to = Concat@13<axis=0>(n, tail) : int64[2]
r = Relu@14(x) : float[-1,8]
y = Reshape@13(r, to) : float[-1,-1]
out y
)");
  const HostValues values = FindHostValues(graph, AllOperators());
  EXPECT_TRUE(Knows(graph, values, "to"));
  EXPECT_FALSE(Knows(graph, values, "r"));
  EXPECT_THAT(values.reads_inputs, ElementsAre(false));
}

TEST(HostValues, InputIsReadOnlyIfItsElementsAreNeeded) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[-1]
in shape: int64[2]
in ids: int64[4]
y = Reshape@13(x, shape) : float[-1,-1]
z = Neg@13(ids) : int64[4]
out y
out z
)");
  const HostValues values = FindHostValues(graph, AllOperators());
  EXPECT_THAT(values.reads_inputs, ElementsAre(false, true, false));
  EXPECT_FALSE(Knows(graph, values, "z"));
}

TEST(HostValues, AnInputIsReadThroughWhatIsComputedOfIt) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[-1]
in n: int64[1]
const tail: int64[1] = [-1]
to = Concat@13<axis=0>(n, tail) : int64[2]
y = Reshape@13(x, to) : float[-1,-1]
out y
)");
  EXPECT_THAT(FindHostValues(graph, AllOperators()).reads_inputs, ElementsAre(false, true));
}

TEST(HostValues, LongShapeInputsAreNotReadByTheHost) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[-1]
in shape: int64[5000]
y = Reshape@13(x, shape) : float
out y
)");
  EXPECT_THAT(FindHostValues(graph, AllOperators()).reads_inputs, ElementsAre(false, false));
}

TEST(HostValues, DataOfUnknownSizeIsNotReadForALength) {
  const auto reads = [](const char* ids) {
    const std::string text = std::string("graph \"g\"\nin ids: ") + ids + R"(
const zero: int64[] = [0]
const one: int64[] = [1]
n = ReduceMax@13<keepdims=0>(ids) : int64[]
y = Range@11(zero, n, one) : int64[-1]
out y
)";
    return FindHostValues(kit::ir::FromText(text), AllOperators()).reads_inputs;
  };
  EXPECT_THAT(reads("int64[-1,-1]"), ElementsAre(false));
  EXPECT_THAT(reads("int64[2,8]"), ElementsAre(true));
  EXPECT_THAT(reads("int64[-1]"), ElementsAre(true));
}

TEST(Claims, WhatTheHostWouldNeedOfTheDeviceIsDeclinedWithTheReason) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[4]
in image: float[6]
w = Softmax@13(image) : float[6]
s = Cast@13<to=7>(w) : int64[6]
const begin: int64[1] = [0]
const end: int64[1] = [1]
to = Slice@13(s, begin, end) : int64[1]
y = Reshape@13(x, to) : float[-1]
out y
)");
  const std::vector<NodeClaim> claims = ClaimNodes(graph, std::vector<bool>(graph.nodes.size()), AllOperators(), GoodDevice());
  ASSERT_EQ(claims.size(), 4u);
  EXPECT_TRUE(claims[0].claimed);
  EXPECT_FALSE(claims[3].claimed);
  EXPECT_THAT(claims[3].why_not, HasSubstr("the host needs its elements before"));
}

TEST(Claims, InputsFromOtherProvidersAreReadableByTheHost) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[-1]
in text: string[1]
n = StringSize@1(text) : int64[1]
y = Reshape@13(x, n) : float[-1]
out y
)");
  const std::vector<NodeClaim> claims = ClaimNodes(graph, std::vector<bool>(graph.nodes.size()), AllOperators(), GoodDevice());
  EXPECT_FALSE(claims[0].claimed);
  EXPECT_EQ(claims[0].why_not, "this plugin has no kernel for the operator");
  EXPECT_TRUE(claims[1].claimed);
}

TEST(Claims, WhatBindsMoreBuffersThanTheDeviceIsDeclinedWithTheNumbers) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[4,4]
in c: bool[4,4]
m = MatMul@13(x, x) : float[4,4]
w = Where@16(c, x, m) : float[4,4]
y = Sum@13(x, m, w, x) : float[4,4]
out y
)");
  const auto claims = [&](uint32_t bindings) {
    Capabilities capabilities = GoodDevice();
    capabilities.max_bindings = bindings;
    std::vector<std::string> why_not;
    for (const NodeClaim& claim :
         ClaimNodes(graph, std::vector<bool>(graph.nodes.size()), AllOperators(), capabilities))
      why_not.push_back(claim.claimed ? "" : claim.why_not);
    return why_not;
  };
  EXPECT_THAT(claims(kLeastBindings), ElementsAre("it binds 5 buffers at once, the device at most 3",
                                                  "it binds 4 buffers at once, the device at most 3", ""));
  EXPECT_THAT(claims(4), ElementsAre("it binds 5 buffers at once, the device at most 4", "", ""));
  EXPECT_THAT(claims(5), ElementsAre("", "", ""));
}

}  // namespace
}  // namespace epiphyte::vulkan
