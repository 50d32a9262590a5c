#include "epiphyte/kit/fuse/skip_normalization.hpp"

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"

namespace epiphyte::kit::fuse {
namespace {

void FuseAt(ir::Editor& editor, int32_t n, bool rms) {
  const ir::Node& norm = editor.node(n);
  for (size_t i = 1; i < norm.outputs.size(); ++i)
    if (norm.outputs[i] >= 0) return;
  if (norm.inputs.size() > (rms ? 2 : 3) || norm.Int("stash_type", 1) != 1) return;
  const int32_t sum = norm.inputs[0];
  const int32_t add = ArithmeticMaker(editor, sum, "Add");
  if (add < 0) return;
  const int32_t x = editor.node(add).inputs[0];
  const int32_t skip = editor.node(add).inputs[1];
  if (!SameDims(editor, x, skip) || !SameDims(editor, x, sum)) return;
  const bool alone = editor.OnlyReader(sum) == n;
  // Other readers of the sum may run before the normalisation. Then the fused node goes to the sum's place, so scale
  // and bias must exist there.
  for (size_t i = 1; i < norm.inputs.size(); ++i)
    if (!alone && norm.inputs[i] >= 0 && editor.Producer(norm.inputs[i]) >= 0) return;
  ir::Node fused;
  fused.op_type = kSkipNormalization;
  fused.domain = kDomain;
  fused.name = norm.name;
  fused.inputs = {x, skip};
  fused.inputs.insert(fused.inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
  fused.outputs = {norm.outputs[0]};
  if (!alone) fused.outputs.push_back(sum);
  fused.attributes = {ir::Attribute::Int("axis", norm.Int("axis", -1)),
                      ir::Attribute::Float("epsilon", norm.Float("epsilon", 1e-5f)),
                      ir::Attribute::Int("rms", rms ? 1 : 0)};
  editor.Replace(alone ? n : add, std::move(fused));
}

}  // namespace

void FuseSkipNormalizations(ir::Editor& editor, const SkipNormalizationOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    const bool layer = IsNode(editor, n, "LayerNormalization", 2);
    if (!layer && !IsNode(editor, n, "RMSNormalization", 2)) continue;
    const EpElementType type = editor.info(editor.node(n).inputs[0]).type;
    const bool takes = options.takes_type ? options.takes_type(type) : type == EP_TYPE_FLOAT;
    if (takes && editor.info(editor.node(n).inputs[1]).type == type) FuseAt(editor, n, !layer);
  }
}

}  // namespace epiphyte::kit::fuse
