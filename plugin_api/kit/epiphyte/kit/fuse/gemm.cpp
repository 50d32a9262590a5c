#include "epiphyte/kit/fuse/gemm.hpp"

#include <algorithm>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

// An Add that is the only reader of a GEMM, as the GEMM and the other operand.
struct Sum {
  int32_t product = -1;  // index of a node
  int32_t addend = -1;   // index of a value
};

Sum SumWith(const ir::Editor& editor, int32_t add, std::string_view op_type) {
  const std::vector<int32_t>& operands = editor.node(add).inputs;
  for (const size_t index : {size_t{0}, size_t{1}}) {
    const int32_t product = Maker(editor, operands[index], op_type, 2);
    if (product >= 0 && editor.OnlyReader(operands[index]) == add) return {product, operands[1 - index]};
  }
  return {};
}

// Gemm's C broadcasts to [rows, columns] and may not be larger.
bool FitsAsBias(const ir::Value& addend, const ir::Value& product) {
  if (!addend.IsStatic() || addend.rank > 2 || product.rank != 2) return false;
  for (int32_t i = 1; i <= addend.rank; ++i) {
    const int64_t dim = addend.dims[static_cast<size_t>(addend.rank - i)];
    if (dim != 1 && dim != product.dims[static_cast<size_t>(2 - i)]) return false;
  }
  return true;
}

void ReplaceSum(ir::Editor& editor, int32_t add, int32_t product, int32_t addend, int64_t version,
                std::vector<ir::Attribute> attributes) {
  ir::Node gemm;
  gemm.op_type = "Gemm";
  gemm.since_version = version;
  gemm.name = editor.node(product).name;
  gemm.inputs = {editor.node(product).inputs[0], editor.node(product).inputs[1], addend};
  gemm.outputs = editor.node(add).outputs;
  gemm.attributes = std::move(attributes);
  editor.Replace(add, std::move(gemm));
}

// Replaces MatMul of matrices plus a bias by Gemm.
bool FuseMatMulAdd(ir::Editor& editor, int32_t add) {
  constexpr int64_t kGemmVersion = 13;
  const Sum sum = SumWith(editor, add, "MatMul");
  if (sum.product < 0) return false;
  const ir::Value& a = editor.info(editor.node(sum.product).inputs[0]);
  const ir::Value& b = editor.info(editor.node(sum.product).inputs[1]);
  const ir::Value& addend = editor.info(sum.addend);
  if (a.type != EP_TYPE_FLOAT && a.type != EP_TYPE_DOUBLE && a.type != EP_TYPE_FLOAT16) return false;
  if (a.rank != 2 || b.rank != 2 || addend.type != a.type) return false;
  if (!FitsAsBias(addend, editor.info(editor.node(sum.product).outputs[0]))) return false;
  ReplaceSum(editor, add, sum.product, sum.addend, kGemmVersion, {});
  return true;
}

// Makes the addend after a Gemm without C the C of that Gemm.
void FuseGemmBias(ir::Editor& editor, int32_t add) {
  const Sum sum = SumWith(editor, add, "Gemm");
  if (sum.product < 0) return;
  const ir::Node& gemm = editor.node(sum.product);
  if (gemm.HasInput(2)) return;
  const EpElementType type = editor.info(gemm.inputs[0]).type;
  if (type == EP_TYPE_UNDEFINED || editor.info(sum.addend).type != type) return;
  if (!FitsAsBias(editor.info(sum.addend), editor.info(gemm.outputs[0]))) return;
  std::vector<ir::Attribute> attributes = gemm.attributes;
  std::erase_if(attributes, [](const ir::Attribute& attribute) { return attribute.name == "beta"; });
  ReplaceSum(editor, add, sum.product, sum.addend, gemm.since_version, std::move(attributes));
}

}  // namespace

void FuseGemms(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    // Before opset 7, Add broadcasts differently and Gemm only on request.
    if (!IsArithmetic(editor, n, "Add") || editor.node(n).since_version < 7) continue;
    if (!FuseMatMulAdd(editor, n)) FuseGemmBias(editor, n);
  }
}

}  // namespace epiphyte::kit::fuse
