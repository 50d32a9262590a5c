#include "plugins/cpu/exec/own_constants.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace epiphyte::cpu {
namespace {

// Operators that only compute with their float and byte constants, by the name that they have in every domain, in
// ascending order. A missing name costs only memory.
constexpr std::array<std::string_view, 40> kComputing = {
    "Add",
    "Attention",
    "BatchNormalization",
    "Concat",
    "Conv",
    "ConvInteger",
    "ConvIntegerToFloat",
    "ConvTranspose",
    "DequantizeLinear",
    "Div",
    "Einsum",
    "Elementwise",
    "Expand",
    "GRU",
    "Gather",
    "Gemm",
    "GroupNormalization",
    "Identity",
    "InstanceNormalization",
    "LSTM",
    "LayerNormalization",
    "MatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "Mul",
    "PRelu",
    "QLinearConv",
    "QLinearElementwise",
    "QLinearLayerNormalization",
    "QLinearMatMul",
    "RMSNormalization",
    "RNN",
    "Reshape",
    "RotaryEmbedding",
    "SkipNormalization",
    "Sub",
    "Transpose",
    "Unsqueeze",
    "Where",
};
static_assert(std::is_sorted(kComputing.begin(), kComputing.end()));

}  // namespace

void OwnConstants(const kit::ContextContainer& context, kit::StoredGraph* stored) {
  const kit::ir::Graph& plan = stored->graph;
  std::vector<bool> steers(plan.constants.size(), false);
  for (const kit::ir::Node& node : plan.nodes) {
    if (std::binary_search(kComputing.begin(), kComputing.end(), std::string_view(node.op_type))) continue;
    for (const int32_t input : node.inputs) {
      // The plan has not been verified yet.
      if (input < 0 || static_cast<size_t>(input) >= plan.constant_of_value.size()) continue;
      const int32_t constant = plan.constant_of_value[static_cast<size_t>(input)];
      if (constant >= 0) steers[static_cast<size_t>(constant)] = true;
    }
  }
  for (size_t i = 0; i < steers.size(); ++i) {
    if (steers[i]) kit::OwnConstant(context, i, stored);
  }
}

}  // namespace epiphyte::cpu
