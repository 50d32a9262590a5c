#include "plugins/cpu/exec/fuse.h"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/fuse/elementwise.hpp"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/window_limits.h"

namespace epiphyte::cpu {

namespace fuse = kit::fuse;

namespace {

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

}  // namespace

fuse::Pipeline MakePipeline(const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made,
                            bool int8_products) {
  fuse::PipelineOptions options;
  options.declined = {
      {fuse::Pass::kFuseSwish, "Elementwise computes it, and GEMMs and convolutions find it in its parts"},
      {fuse::Pass::kFuseMish, "Elementwise computes its parts in one loop"},
      {fuse::Pass::kFuseSkipNormalizations, "there is no kernel for SkipNormalization; GEMMs add most residuals"},
  };
  fuse::PassOptions& passes = options.passes;
  passes.make_takes = [&registry](const ir::Graph&) -> fuse::TakesNode {
    return [&registry](const ir::Editor& editor, const ir::Node& node) { return HasKernel(editor, registry, node); };
  };
  passes.made = made;
  passes.computed_products = true;
  passes.quantize_products = int8_products;
  passes.takes_positions = true;
  passes.takes_product = [](const ir::Editor& editor, const ir::Node& node) {
    return node.op_type == "Gemm" ? TakesGemm(editor, node) : TakesMatMul(editor, node);
  };
  passes.takes_convolution = TakesConv;
  passes.takes_activation = IsOneDnnActivation;
  // A single operator keeps its own kernel, which is as fast on row-major data.
  passes.make_alone = [&registry](const ir::Editor& editor) {
    return [laid_out = FindLaidOut(editor, registry)](const ir::Editor& edited, int32_t node) {
      const std::vector<int32_t>& inputs = edited.node(node).inputs;
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](int32_t input) { return input >= 0 && laid_out[static_cast<size_t>(input)]; });
    };
  };
  return fuse::Pipeline(std::move(options));
}

void Fuse(ir::Graph& plan, const KernelRegistry& registry, const std::function<void(uint64_t bytes)>& made,
          bool int8_products) {
  MakePipeline(registry, made, int8_products).Run(plan);
}

}  // namespace epiphyte::cpu
