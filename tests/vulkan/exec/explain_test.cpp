// Notes of the placement report: the kernel chosen for each node, and the reasons against faster kernels.
#include "plugins/vulkan/exec/explain.h"

#include "epiphyte/kit/graph/text.hpp"
#include "tests/vulkan/exec/device_graph.h"

namespace epiphyte::vulkan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ExplainTest : public DeviceGraphTest {};

TEST_F(ExplainTest, TheKernelAndWhyNotAFasterOne) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[1,4,8,8]
const w: float[4,4,1,1] = [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
y = Conv@11(x, w) : float[1,4,8,8]
out y
)");
  CompileConfig config = Config();
  config.capabilities.Prefer(Capability::kSharedMemory);
  EXPECT_THAT(ExplainNodes(graph, config), ElementsAre(HasSubstr("conv_tiled.f32")));
  config.capabilities.Disable(Capability::kSharedMemory);
  EXPECT_THAT(ExplainNodes(graph, config),
              ElementsAre(AllOf(HasSubstr("conv.f32"), HasSubstr("not conv_tiled: "),
                                HasSubstr("shared_memory is turned off by option 'disable'"))));
}

TEST_F(ExplainTest, NotesNameTheThreadsOfARow) {
  const ir::Graph graph = kit::ir::FromText(R"(graph "g"
in x: float[4,200]
y = Softmax@13(x) : float[4,200]
s = ReduceSum@11<axes=[1]>(y) : float[4,1]
out s
)");
  CompileConfig config = Config();
  EXPECT_THAT(ExplainNodes(graph, config),
              ElementsAre(HasSubstr("softmax.f32: softmax; not softmax_subgroup: the device does better without subgroup; "
                                    "not softmax_shared: the device does better without shared_memory"),
                          HasSubstr("reduce; not reduce_subgroup: the device does better without subgroup")));
  config.capabilities.Prefer(Capability::kSubgroup);
  EXPECT_THAT(ExplainNodes(graph, config), ElementsAre(HasSubstr("softmax_subgroup.f32: softmax_subgroup ("),
                                                       HasSubstr("reduce_subgroup.f32: reduce_subgroup (")));
  config.capabilities.Disable(Capability::kSubgroup);
  EXPECT_THAT(ExplainNodes(graph, config),
              ElementsAre(HasSubstr("not softmax_subgroup: subgroup is turned off by option 'disable'"),
                          HasSubstr("not reduce_subgroup: subgroup is turned off by option 'disable'")));
}

TEST_F(ExplainTest, NodesThatBecomeOneSaySo) {
  const std::vector<std::string> notes = ExplainNodes(kit::ir::FromText(kConvBiasRelu), Config());
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_THAT(notes[0], HasSubstr("part of"));
  EXPECT_THAT(notes[0], HasSubstr("(Relu)"));
  EXPECT_EQ(notes[1], notes[0]);
  EXPECT_THAT(notes[2], HasSubstr("conv"));
}

TEST_F(ExplainTest, WhatTheHostComputesNeedsNoKernel) {
  EXPECT_THAT(ExplainNodes(kit::ir::FromText(R"(graph "g"
in x: float[2,3]
s = Shape@15(x) : int64[2]
out s
)"),
                           Config()),
              ElementsAre(HasSubstr("no kernel: it is computed before the run")));
}

TEST_F(ExplainTest, ShapesThatAreNotKnownLeaveTheChoiceToTheRun) {
  EXPECT_THAT(ExplainNodes(kit::ir::FromText(R"(graph "g"
in x: float[-1,3]
y = Relu@14(x) : float[-1,3]
out y
)"),
                           Config()),
              ElementsAre("its kernel is chosen when a run's shapes are known"));
}

TEST_F(ExplainTest, NothingStaysOnTheDevice) {
  const uint64_t used = device()->counters().used_bytes;
  ExplainNodes(kit::ir::FromText(R"(graph "g"
in x: float[4]
const w: float[4] = [1,2,3,4]
y = Add@14(x, w) : float[4]
out y
)"),
               Config());
  EXPECT_EQ(device()->counters().used_bytes, used);
}

}  // namespace
}  // namespace epiphyte::vulkan
