#include "plugins/vulkan/exec/fuse.h"

#include <algorithm>
#include <span>
#include <vector>

#include "epiphyte/kit/fuse/attention.hpp"
#include "epiphyte/kit/fuse/channel_normalization.hpp"
#include "epiphyte/kit/fuse/dequantized.hpp"
#include "epiphyte/kit/fuse/elementwise.hpp"
#include "epiphyte/kit/fuse/fold.hpp"
#include "epiphyte/kit/fuse/gelu.hpp"
#include "epiphyte/kit/fuse/gemm.hpp"
#include "epiphyte/kit/fuse/normalization.hpp"
#include "epiphyte/kit/fuse/products.hpp"
#include "epiphyte/kit/fuse/quantized.hpp"
#include "epiphyte/kit/fuse/rotary.hpp"
#include "epiphyte/kit/fuse/skip_normalization.hpp"
#include "epiphyte/kit/fuse/softmax.hpp"
#include "epiphyte/kit/graph/editor.hpp"
#include "plugins/vulkan/exec/host_values.h"
#include "plugins/vulkan/ops/math/map.h"

namespace epiphyte::vulkan {
namespace {

namespace fuse = kit::fuse;
using Step = std::function<void(ir::Editor& editor)>;

bool TakesType(EpElementType type) { return kit::Contains(kDeviceFloats, type); }

// Whether the table has an operator for a node that takes the place of others, which were the graph's when it was made.
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

std::vector<Step> Steps(const OperatorTable& operators, const Capabilities& capabilities,
                        const std::function<void(uint64_t bytes)>& made) {
  fuse::ProductOptions products;
  products.takes_type = TakesType;
  fuse::ElementwiseOptions elementwise;
  elementwise.takes_type = TakesType;
  elementwise.most_inputs = kMostProgramOperands;
  elementwise.most_instructions = kMostProgramSteps;
  return {
      // QDQ units before all that takes operators away from them.
      [&operators, &capabilities](ir::Editor& editor) {
        fuse::FuseQuantized(editor, {.takes = HasOperator(editor.graph(), operators, capabilities)});
      },
      [&operators, &capabilities](ir::Editor& editor) {
        fuse::FuseBlockedWeights(editor, {.takes = HasOperator(editor.graph(), operators, capabilities)});
      },
      [&capabilities, made](ir::Editor& editor) { fuse::FoldDequantized(editor, capabilities.max_buffer_range, made); },
      fuse::MergeReluIntoClip,
      [made](ir::Editor& editor) { fuse::FoldIntoConvolutions(editor, made); },
      fuse::FuseGemms,
      fuse::FuseNormalizations,
      fuse::FuseChannelNormalizations,
      fuse::FuseSoftmax,
      fuse::FuseGelu,
      fuse::FuseHardSwish,
      fuse::FuseSwish,
      fuse::FuseMish,
      [](ir::Editor& editor) { fuse::FuseRotaryEmbedding(editor, {.takes_type = TakesType}); },
      [](ir::Editor& editor) {
        fuse::AttentionOptions options;
        options.cache = true;
        options.takes_type = TakesType;
        fuse::FuseAttention(editor, options);
      },
      [products](ir::Editor& editor) { fuse::FuseProducts(editor, products); },
      [products](ir::Editor& editor) { fuse::FuseConvolutions(editor, products); },
      [](ir::Editor& editor) { fuse::FuseSkipNormalizations(editor, {.takes_type = TakesType}); },
      [elementwise](ir::Editor& editor) { fuse::FuseElementwise(editor, elementwise); },
  };
}

void Apply(std::span<const Step> steps, ir::Graph& graph) {
  ir::Editor editor(graph);
  for (const Step& step : steps) step(editor);
  editor.Finish();
}

bool AllChosen(const ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities) {
  const HostValues values = FindHostValues(graph, operators);
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
    std::string why;
    return operators.Choose(graph, node, capabilities, values.known, &why) != nullptr;
  });
}

}  // namespace

void Fuse(ir::Graph& graph, const OperatorTable& operators, const Capabilities& capabilities,
          const std::function<void(uint64_t bytes)>& made) {
  const std::vector<Step> steps = Steps(operators, capabilities, made);
  ir::Graph all = graph;
  Apply(steps, all);
  if (AllChosen(all, operators, capabilities)) {
    graph = std::move(all);
    return;
  }
  // Something was made that has no operator here: the steps one by one, each taken back that does so.
  for (const Step& step : steps) {
    ir::Graph tried = graph;
    Apply({&step, 1}, tried);
    if (AllChosen(tried, operators, capabilities)) graph = std::move(tried);
  }
}

}  // namespace epiphyte::vulkan
