// Joins products and convolutions with the bias, the residual and the activation that follow.
#include <algorithm>

#include "plugins/cpu/exec/plan_editor.h"
#include "plugins/cpu/onednn/window_limits.h"

namespace epiphyte::cpu {
namespace {

struct Activation {
  int32_t node = -1;  // the last one that becomes part of the fused node
  std::string name;
  float alpha = 0;
  float beta = 0;
  explicit operator bool() const { return node >= 0; }
};

// Limits of a Clip, from inputs or attributes; false unless both are constant.
bool ClipLimits(const PlanEditor& editor, const NodeDef& clip, float* low, float* high) {
  *low = clip.Float("min", -3.4028234e38f);
  *high = clip.Float("max", 3.4028234e38f);
  if (clip.inputs.size() > 1 && clip.inputs[1] >= 0 && !editor.Scalar(clip.inputs[1], low)) return false;
  if (clip.inputs.size() > 2 && clip.inputs[2] >= 0 && !editor.Scalar(clip.inputs[2], high)) return false;
  return *low <= *high;
}

// The activation that alone reads `value`.
Activation FindActivation(const PlanEditor& editor, int32_t value) {
  const std::vector<int32_t>& readers = editor.Readers(value);
  if (editor.IsOutput(value)) return {};
  if (readers.size() == 2) {  // x * sigmoid(x)
    for (size_t i = 0; i < 2; ++i) {
      const int32_t sigmoid = readers[i];
      const int32_t mul = readers[1 - i];
      if (!editor.Is(sigmoid, "Sigmoid") || !editor.Is(mul, "Mul")) continue;
      const int32_t gate = editor.node(sigmoid).outputs[0];
      const std::vector<int32_t>& factors = editor.node(mul).inputs;
      if (editor.OnlyReader(gate) == mul && std::count(factors.begin(), factors.end(), gate) == 1 &&
          std::count(factors.begin(), factors.end(), value) == 1)
        return {mul, "Swish"};
    }
    return {};
  }
  if (readers.size() != 1) return {};
  const int32_t reader = readers[0];
  const NodeDef& node = editor.node(reader);
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] != value) return {};
  if (node.op_type == "Relu" || node.op_type == "Sigmoid" || node.op_type == "Tanh" || node.op_type == "HardSwish")
    return {reader, node.op_type};
  if (node.op_type == "LeakyRelu") return {reader, "LeakyRelu", node.Float("alpha", 0.01f)};
  if (node.op_type == "Gelu") return {reader, node.String("approximate", "none") == "tanh" ? "GeluTanh" : "GeluErf"};
  Activation clip{reader, "Clip"};
  if (node.op_type == "Clip" && ClipLimits(editor, node, &clip.alpha, &clip.beta)) return clip;
  return {};
}

// The node that a fused one is made of. What only fused operators obey may be in the model too, where it means nothing.
NodeDef StartOf(const NodeDef& node) {
  NodeDef fused = node;
  std::erase_if(fused.attributes, [](const AttributeValue& attribute) {
    return attribute.name == "activation" || attribute.name == "activation_alpha" ||
           attribute.name == "activation_beta";
  });
  return fused;
}

void AddActivation(NodeDef& node, const Activation& activation) {
  node.attributes.push_back(StringAttribute("activation", activation.name));
  node.attributes.push_back(FloatAttribute("activation_alpha", activation.alpha));
  node.attributes.push_back(FloatAttribute("activation_beta", activation.beta));
}

// The Add that alone reads `value`, if its other operand has the same shape: that operand, or -1.
int32_t FindResidual(const PlanEditor& editor, int32_t value, int32_t* add) {
  *add = editor.OnlyReader(value);
  if (!editor.Is(*add, "Add")) return -1;
  const NodeDef& node = editor.node(*add);
  const int32_t other = node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
  return other != value && editor.IsFloat(other) && editor.SameStaticShape(value, other) ? other : -1;
}

// Adds to `fused`, made of node `n`, the residual and the activation that follow `value`, the result of node `last`,
// and puts it in the place of all of them; does nothing when that is node `n` alone.
void FuseTail(PlanEditor& editor, int32_t n, int32_t last, int32_t value, NodeDef fused) {
  int32_t add = -1;
  if (const int32_t residual = FindResidual(editor, value, &add); residual >= 0) {
    fused.inputs[3] = residual;
    last = add;
    value = editor.node(add).outputs[0];
  }
  if (const Activation activation = FindActivation(editor, value)) {
    AddActivation(fused, activation);
    last = activation.node;
    value = editor.node(last).outputs[0];
  }
  if (last == n) return;
  fused.domain = kFusedDomain;
  fused.since_version = 1;
  fused.outputs = {value};
  editor.Replace(last, std::move(fused));
}

bool HasStaticLast(const ValueInfo& info) { return info.rank >= 1 && info.dims.back() > 0; }

void FuseMatMul(PlanEditor& editor, int32_t n) {
  NodeDef fused = StartOf(editor.node(n));
  int32_t value = fused.outputs[0];
  const ir::Tensor* b = editor.ConstantOf(fused.inputs[1]);
  if (!editor.IsFloat(fused.inputs[0]) || b == nullptr || b->rank() != 2 || editor.info(fused.inputs[0]).rank < 2)
    return;
  int32_t last = n;
  fused.inputs.resize(4, -1);

  if (const int32_t add = editor.OnlyReader(value); editor.Is(add, "Add")) {
    const NodeDef& node = editor.node(add);
    const int32_t bias = node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
    const ValueInfo& info = editor.info(bias);
    if (bias != value && editor.IsFloat(bias) && HasStaticLast(info) && info.dims.back() == b->dims[1] &&
        info.rank <= editor.info(value).rank &&
        std::all_of(info.dims.begin(), info.dims.end() - 1, [](int64_t dim) { return dim == 1; })) {
      fused.inputs[2] = bias;
      last = add;
      value = node.outputs[0];
    }
  }
  FuseTail(editor, n, last, value, std::move(fused));
}

void FuseGemm(PlanEditor& editor, int32_t n) {
  NodeDef fused = StartOf(editor.node(n));
  if (!editor.IsFloat(fused.inputs[0]) || fused.Float("alpha", 1) != 1.0f || fused.Float("beta", 1) != 1.0f) return;
  if (fused.inputs.size() > 2 && fused.inputs[2] >= 0) {
    // Only a row can be added before an activation.
    const ValueInfo& c = editor.info(fused.inputs[2]);
    const ValueInfo& y = editor.info(fused.outputs[0]);
    if (c.rank != 1 || !HasStaticLast(c) || !HasStaticLast(y) || c.dims[0] != y.dims.back()) return;
  }
  const Activation activation = FindActivation(editor, fused.outputs[0]);
  if (!activation) return;
  AddActivation(fused, activation);
  fused.domain = kFusedDomain;
  fused.since_version = 1;
  fused.outputs = {editor.node(activation.node).outputs[0]};
  editor.Replace(activation.node, std::move(fused));
}

// Whether oneDNN can run the convolution, which the fused form needs. Attributes that make no sense are told of by the
// kernel.
bool SuitsOneDnn(const NodeDef& conv) {
  try {
    return cpu::SuitsOneDnn(kit::WindowAttributes::Read(conv));
  } catch (const OpError&) {
    return false;
  }
}

void FuseConv(PlanEditor& editor, int32_t n) {
  NodeDef fused = StartOf(editor.node(n));
  if (!editor.IsFloat(fused.inputs[0]) || editor.info(fused.inputs[0]).rank > 5 || !SuitsOneDnn(fused)) return;
  fused.inputs.resize(4, -1);
  const int32_t value = fused.outputs[0];
  FuseTail(editor, n, n, value, std::move(fused));
}

}  // namespace

void FuseProducts(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (editor.Is(n, "MatMul")) FuseMatMul(editor, n);
    if (editor.Is(n, "Gemm")) FuseGemm(editor, n);
  }
}

void FuseConvolutions(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n)
    if (editor.Is(n, "Conv")) FuseConv(editor, n);
}

}  // namespace epiphyte::cpu
