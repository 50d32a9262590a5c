#include "plugins/cpu/exec/fuse.h"

#include <algorithm>

#include "epiphyte/kit/fuse/attention.hpp"
#include "epiphyte/kit/fuse/bounds.hpp"
#include "epiphyte/kit/fuse/byte_tables.hpp"
#include "epiphyte/kit/fuse/channel_normalization.hpp"
#include "epiphyte/kit/fuse/dequantized.hpp"
#include "epiphyte/kit/fuse/elementwise.hpp"
#include "epiphyte/kit/fuse/flattened_products.hpp"
#include "epiphyte/kit/fuse/fold.hpp"
#include "epiphyte/kit/fuse/gelu.hpp"
#include "epiphyte/kit/fuse/gemm.hpp"
#include "epiphyte/kit/fuse/integer_products.hpp"
#include "epiphyte/kit/fuse/normalization.hpp"
#include "epiphyte/kit/fuse/pads.hpp"
#include "epiphyte/kit/fuse/products.hpp"
#include "epiphyte/kit/fuse/quantized.hpp"
#include "epiphyte/kit/fuse/rotary.hpp"
#include "epiphyte/kit/fuse/softmax.hpp"
#include "epiphyte/kit/fuse/sum.hpp"
#include "epiphyte/kit/qdq/dynamic_products.hpp"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/window_limits.h"

namespace epiphyte::cpu {
namespace {

namespace fuse = kit::fuse;

// True when the weights can be packed at compile time.
bool TakesMatMul(const ir::Editor& editor, const ir::Node& node) {
  const ir::Tensor* b = editor.ConstantOf(node.inputs[1]);
  return b != nullptr && b->rank() == 2;
}

// The fused form adds only a row before an activation.
bool TakesGemm(const ir::Editor& editor, const ir::Node& node) {
  if (node.Float("alpha", 1) != 1.0f || node.Float("beta", 1) != 1.0f) return false;
  if (!node.HasInput(2)) return true;
  const ir::Value& c = editor.info(node.inputs[2]);
  const ir::Value& y = editor.info(node.outputs[0]);
  return c.rank == 1 && y.rank >= 1 && c.dims[0] > 0 && c.dims[0] == y.dims.back();
}

// The fused form needs oneDNN. The kernel reports invalid attributes.
bool TakesConv(const ir::Editor& editor, const ir::Node& node) {
  try {
    return editor.info(node.inputs[0]).rank <= 5 && SuitsOneDnn(kit::WindowAttributes::Read(node));
  } catch (const kit::Error&) {
    return false;
  }
}

// Values that a kernel may write in its own layout.
std::vector<bool> FindLaidOut(const ir::Editor& editor, const KernelRegistry& registry) {
  std::vector<bool> laid_out(editor.graph().values.size(), false);
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (editor.removed(n)) continue;
    const ir::Node& node = editor.node(n);
    const KernelRegistry::Entry* floats = registry.FloatEntry(node.domain, node.op_type);
    const LayoutUse use = floats != nullptr ? floats->layouts : LayoutUse::kRowMajor;
    bool is_laid_out = use == LayoutUse::kMakes;
    // A single element-wise operator becomes a program where that keeps the layout.
    if (use == LayoutUse::kPassesOn || fuse::ElementwiseStepOf(editor, n))
      for (int32_t input : node.inputs)
        is_laid_out = is_laid_out || (input >= 0 && laid_out[static_cast<size_t>(input)]);
    for (int32_t output : node.outputs)
      if (output >= 0) laid_out[static_cast<size_t>(output)] = is_laid_out;
  }
  return laid_out;
}

// True when a kernel exists for a node that replaces others.
bool HasKernel(const ir::Editor& editor, const KernelRegistry& registry, const ir::Node& node) {
  std::vector<ArgumentType> inputs, outputs;
  DescribeArguments(node.inputs, editor.graph().values, &inputs);
  DescribeArguments(node.outputs, editor.graph().values, &outputs);
  std::string why;
  return registry.Find(node.domain, node.op_type, node.since_version, inputs, outputs, &why).entry != nullptr;
}

void FuseElementwise(ir::Editor& editor, const KernelRegistry& registry) {
  const std::vector<bool> laid_out = FindLaidOut(editor, registry);
  fuse::ElementwiseOptions options;
  // A single operator keeps its own kernel, which is as fast on row-major data.
  options.alone = [&](const ir::Editor& edited, int32_t node) {
    const std::vector<int32_t>& inputs = edited.node(node).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](int32_t input) { return input >= 0 && laid_out[static_cast<size_t>(input)]; });
  };
  fuse::FuseElementwise(editor, options);
}

}  // namespace

void Fuse(ir::Graph& plan, const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made,
          bool int8_products) {
  ir::Editor editor(plan);
  // QDQ units come first: the other fusions would take operators away from them.
  const auto has_kernel = [&](const ir::Editor& edited, const ir::Node& node) {
    return HasKernel(edited, registry, node);
  };
  fuse::FuseQuantized(editor, {.takes = has_kernel, .computed_products = true});
  fuse::FuseByteTables(editor, {.takes = has_kernel});
  fuse::FuseIntegerProducts(editor, {.takes = has_kernel});
  fuse::FuseBlockedWeights(editor, {.takes = has_kernel});
  fuse::FoldDequantized(editor, UINT64_MAX, made);
  fuse::SumsToAdditions(editor);
  fuse::FuseBounds(editor);
  fuse::MergeReluIntoClip(editor);
  fuse::FoldPads(editor);
  fuse::UnflattenProducts(editor);
  fuse::FoldIntoConvolutions(editor, made);
  if (int8_products) {
    kit::qdq::QuantizeProducts(editor, made);
    fuse::FuseIntegerProducts(editor, {.takes = has_kernel});
  }
  fuse::FuseGemms(editor);
  fuse::FuseNormalizations(editor);
  fuse::FuseChannelNormalizations(editor);
  fuse::FuseSoftmax(editor);
  fuse::FuseGelu(editor);
  fuse::FuseHardSwish(editor);
  fuse::FuseRotaryEmbedding(editor, {.takes_type = {}, .takes_positions = true});
  fuse::FuseAttention(editor);
  fuse::ProductOptions products;
  products.takes_activation = IsOneDnnActivation;
  products.takes = [](const ir::Editor& edited, const ir::Node& node) {
    return node.op_type == "Gemm" ? TakesGemm(edited, node) : TakesMatMul(edited, node);
  };
  fuse::FuseProducts(editor, products);
  products.takes = TakesConv;
  fuse::FuseConvolutions(editor, products);
  fuse::FuseBatchNormalizations(editor);
  FuseElementwise(editor, registry);
  editor.Finish();
}

}  // namespace epiphyte::cpu
