#include "plugins/vulkan/exec/fuse.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"
#include "plugins/vulkan/exec/host_values.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {

namespace fuse = kit::fuse;

namespace {

// Whether the operator table supports a node that a fusion wants to make. The values that the host knows are found
// once, in the constructor; a value that is added later is known to the host if it is a constant.
class HasOperator {
 public:
  HasOperator(const ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities)
      : operators_(operators), capabilities_(capabilities), on_host_(FindHostValues(graph, operators).known) {}

  bool operator()(const ir::Editor& editor, const ir::Node& node) {
    for (size_t value = on_host_.size(); value < editor.graph().values.size(); ++value)
      on_host_.push_back(editor.graph().FindConstant(static_cast<int32_t>(value)) != nullptr);
    std::string why;
    return operators_.Choose(editor.graph(), node, capabilities_, on_host_, &why) != nullptr;
  }

 private:
  const OperatorTable& operators_;
  const Capabilities& capabilities_;
  std::vector<bool> on_host_;
};

bool AllChosen(const ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities) {
  const HostValues values = FindHostValues(graph, operators);
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
    std::string why;
    return operators.Choose(graph, node, capabilities, values.known, &why) != nullptr;
  });
}

}  // namespace

fuse::Pipeline MakePipeline(const OperatorTable& operators, const Capabilities& capabilities,
                            const std::function<void(uint64_t bytes)>& made) {
  fuse::PipelineOptions options;
  options.declined = {
      {fuse::Pass::kFuseByteTables, "QLinearElementwise has one instruction here"},
      {fuse::Pass::kFuseIntegerProducts, "there is no operator for MatMulIntegerToFloat and ConvIntegerToFloat"},
      {fuse::Pass::kSumsToAdditions, "Sum has an operator; not measured on a GPU"},
      {fuse::Pass::kFuseBounds, "Elementwise computes Max and Min; not measured on a GPU"},
      {fuse::Pass::kFoldPads, "Pad has an operator; not measured on a GPU"},
      {fuse::Pass::kUnflattenProducts, "Reshape costs nothing here; not measured on a GPU"},
      {fuse::Pass::kFuseBatchNormalizations, "there is no operator for BatchNormalization with an activation"},
  };
  options.accepts = [&operators, &capabilities](const ir::Graph& graph) {
    return AllChosen(graph, operators, capabilities);
  };
  fuse::PassOptions& passes = options.passes;
  passes.make_takes = [&operators, &capabilities](const ir::Graph& graph) -> fuse::TakesNode {
    return HasOperator(graph, operators, capabilities);
  };
  passes.takes_type = [](EpElementType type) { return kit::Contains(kDeviceFloats, type); };
  passes.made = made;
  passes.most_dequantized_bytes = capabilities.max_buffer_range;
  passes.attention_cache = true;
  passes.most_elementwise_inputs = kMostProgramOperands;
  passes.most_elementwise_instructions = kMostProgramSteps;
  return fuse::Pipeline(std::move(options));
}

void Fuse(ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities,
          const std::function<void(uint64_t bytes)>& made) {
  MakePipeline(operators, capabilities, made).Run(graph);
}

}  // namespace epiphyte::vulkan
