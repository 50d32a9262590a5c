#include "epiphyte/kit/fuse/products.hpp"

#include <algorithm>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"

namespace epiphyte::kit::fuse {
namespace {

bool Takes(const ProductOptions& options, EpElementType type) {
  return options.takes_type ? options.takes_type(type) : type == EP_TYPE_FLOAT;
}
bool Takes(const ProductOptions& options, const ir::Editor& editor, const ir::Node& node) {
  if (!Takes(options, editor.info(node.inputs[0]).type)) return false;
  return !options.takes || options.takes(editor, node);
}

// Requires no more inputs than ONNX defines, because further inputs have a meaning in the fused operator.
bool IsProduct(const ir::Editor& editor, int32_t n, std::string_view op_type, size_t most_inputs) {
  return IsNode(editor, n, op_type, 2) && editor.node(n).inputs.size() <= most_inputs;
}

// The other operand of the Add that is the only reader of `value`, if it has the same shape; else -1.
int32_t FindResidual(const ir::Editor& editor, int32_t value, int32_t* add) {
  *add = editor.OnlyReader(value);
  if (!IsArithmetic(editor, *add, "Add")) return -1;
  const int32_t other = Other(editor.node(*add), value);
  const bool same =
      other != value && editor.info(other).type == editor.info(value).type && editor.SameStaticShape(value, other);
  return same ? other : -1;
}

// Adds the residual and the activation that follow `value` to `fused`, and replaces all these nodes by it. `fused` was
// made from node `n`; `value` is the result of node `last`. Does nothing if nothing was fused.
void FuseTail(ir::Editor& editor, const ProductOptions& options, int32_t n, int32_t last, int32_t value,
              ir::Node fused) {
  int32_t add = -1;
  if (const int32_t residual = options.residual ? FindResidual(editor, value, &add) : -1; residual >= 0) {
    fused.inputs[3] = residual;
    last = add;
    value = editor.node(add).outputs[0];
  }
  if (const FoundActivation found = FindActivation(editor, value, options.takes_activation)) {
    found.activation.AddTo(fused);
    last = found.node;
    value = editor.node(last).outputs[0];
  }
  if (last == n) return;
  fused.domain = kDomain;
  fused.since_version = 1;
  fused.outputs = {value};
  editor.Replace(last, std::move(fused));
}

// The other operand of the Add that is the only reader of `product`, if it is a row with a number for each column; else
// -1.
int32_t FindRow(const ir::Editor& editor, int32_t product, int64_t columns, int32_t add) {
  if (!IsArithmetic(editor, add, "Add")) return -1;
  const int32_t bias = Other(editor.node(add), product);
  const ir::Value& info = editor.info(bias);
  const bool is_row = bias != product && info.type == editor.info(product).type && info.rank >= 1 &&
                      info.rank <= editor.info(product).rank && info.dims.back() == columns && columns > 0 &&
                      std::all_of(info.dims.begin(), info.dims.end() - 1, [](int64_t dim) { return dim == 1; });
  return is_row ? bias : -1;
}

void FuseMatMul(ir::Editor& editor, const ProductOptions& options, int32_t n) {
  ir::Node fused = editor.node(n);
  DropActivation(fused);
  const ir::Value& a = editor.info(fused.inputs[0]);
  const ir::Value& b = editor.info(fused.inputs[1]);
  if (a.rank < 2 || b.rank < 2 || !Takes(options, editor, fused)) return;
  int32_t value = fused.outputs[0];
  int32_t last = n;
  fused.inputs.resize(4, -1);
  const int32_t add = editor.OnlyReader(value);
  if (const int32_t bias = FindRow(editor, value, b.dims.back(), add); bias >= 0) {
    fused.inputs[2] = bias;
    last = add;
    value = editor.node(add).outputs[0];
  }
  FuseTail(editor, options, n, last, value, std::move(fused));
}

// Fuses operators that take an activation only.
void FuseActivation(ir::Editor& editor, const ProductOptions& options, int32_t n) {
  ir::Node fused = editor.node(n);
  DropActivation(fused);
  if (!Takes(options, editor, fused)) return;
  const FoundActivation found = FindActivation(editor, fused.outputs[0], options.takes_activation);
  if (!found) return;
  found.activation.AddTo(fused);
  fused.domain = kDomain;
  fused.since_version = 1;
  fused.outputs = {editor.node(found.node).outputs[0]};
  editor.Replace(found.node, std::move(fused));
}

// True for inference with given statistics of X's type for each channel, and without used outputs for new statistics.
bool IsInference(const ir::Editor& editor, const ir::Node& node) {
  const auto has_type = [&](int32_t input) { return editor.info(input).type == editor.info(node.inputs[0]).type; };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), has_type)) return false;
  if (node.since_version < 7 ? node.Int("is_test", 0) == 0 : node.Int("training_mode", 0) != 0) return false;
  return node.Int("spatial", 1) == 1 && std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](int32_t output) {
           return output < 0 || (!editor.IsOutput(output) && editor.Readers(output).empty());
         });
}

void FuseConv(ir::Editor& editor, const ProductOptions& options, int32_t n) {
  ir::Node fused = editor.node(n);
  DropActivation(fused);
  if (!Takes(options, editor, fused)) return;
  fused.inputs.resize(4, -1);
  const int32_t value = fused.outputs[0];
  FuseTail(editor, options, n, n, value, std::move(fused));
}

}  // namespace

void FuseProducts(ir::Editor& editor, const ProductOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (IsProduct(editor, n, "MatMul", 2)) FuseMatMul(editor, options, n);
    if (IsProduct(editor, n, "Gemm", 3)) FuseActivation(editor, options, n);
  }
}

void FuseBatchNormalizations(ir::Editor& editor, const ProductOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (IsProduct(editor, n, "BatchNormalization", 5) && editor.node(n).inputs.size() == 5 &&
        IsInference(editor, editor.node(n)))
      FuseActivation(editor, options, n);
  }
}

void FuseConvolutions(ir::Editor& editor, const ProductOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n)
    if (IsProduct(editor, n, "Conv", 3)) FuseConv(editor, options, n);
}

}  // namespace epiphyte::kit::fuse
