#include "epiphyte/kit/fuse/integer_products.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"

namespace epiphyte::kit::fuse {
namespace {

bool IsOneFloat(const ir::Editor& editor, int32_t value) {
  const ir::Value& info = editor.info(value);
  return editor.IsFloat(value) && info.rank >= 0 &&
         std::all_of(info.dims.begin(), info.dims.end(), [](int64_t dim) { return dim == 1; });
}

// True for a float value with one number for each column, or for each channel, of the result `y` that broadcasts along
// no other dimension.
bool IsByColumn(const ir::Editor& editor, int32_t value, int32_t y, bool channels) {
  const ir::Value& info = editor.info(value);
  const ir::Value& product = editor.info(y);
  if (!editor.IsFloat(value) || product.rank < 2 || info.rank < 1 || info.rank > product.rank) return false;
  const int32_t axis = channels ? 1 : product.rank - 1, first = product.rank - info.rank;
  if (axis < first || product.dims[static_cast<size_t>(axis)] < 1) return false;
  for (int32_t i = first; i < product.rank; ++i)
    if (info.dims[static_cast<size_t>(i - first)] != (i == axis ? product.dims[static_cast<size_t>(i)] : 1))
      return false;
  return true;
}

// The scales in a factor of the sums: one single number, and one with a number for each column, or -1.
struct Scales {
  int32_t one = -1;
  int32_t each = -1;
};
std::optional<Scales> ScalesOf(const ir::Editor& editor, int32_t value, int32_t y, bool channels) {
  if (const int32_t n = ArithmeticMaker(editor, value, "Mul"); n >= 0) {
    const int32_t a = editor.node(n).inputs[0], b = editor.node(n).inputs[1];
    for (const auto& [one, each] : {std::pair(a, b), std::pair(b, a)})
      if (IsOneFloat(editor, one) && (IsOneFloat(editor, each) || IsByColumn(editor, each, y, channels)))
        return Scales{one, each};
  }
  if (IsOneFloat(editor, value)) return Scales{value, -1};
  return {};
}

void FuseOne(ir::Editor& editor, const IntegerProductOptions& options, int32_t n, bool channels) {
  ir::Node fused = editor.node(n);
  const int32_t y = fused.outputs[0];
  const int32_t cast = editor.OnlyReader(y);
  if (!IsNode(editor, cast, "Cast") || editor.node(cast).Int("to", 0) != EP_TYPE_FLOAT) return;
  const int32_t sums = editor.node(cast).outputs[0];
  int32_t last = editor.OnlyReader(sums);
  if (!IsArithmetic(editor, last, "Mul")) return;
  const int32_t scale = Other(editor.node(last), sums);
  const std::optional<Scales> scales = scale == sums ? std::nullopt : ScalesOf(editor, scale, y, channels);
  if (!scales) return;
  // The leading ones of a scale with a higher rank would add dimensions to the result.
  if (editor.info(scale).rank > editor.info(y).rank) return;
  int32_t value = editor.node(last).outputs[0], bias = -1;
  if (const int32_t add = editor.OnlyReader(value); IsArithmetic(editor, add, "Add")) {
    const int32_t other = Other(editor.node(add), value);
    if (other != value && IsByColumn(editor, other, y, channels)) {
      bias = other;
      last = add;
      value = editor.node(add).outputs[0];
    }
  }
  fused.inputs.resize(7, -1);
  fused.inputs[4] = scales->one;
  fused.inputs[5] = scales->each;
  fused.inputs[6] = bias;
  fused.op_type = channels ? kConvIntegerToFloat : kMatMulIntegerToFloat;
  fused.domain = kDomain;
  fused.since_version = 1;
  fused.outputs = {value};
  if (options.takes && !options.takes(editor, fused)) return;
  editor.Replace(last, std::move(fused));
}

}  // namespace

void FuseIntegerProducts(ir::Editor& editor, const IntegerProductOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    const bool channels = IsNode(editor, n, "ConvInteger", 2);
    if ((channels || IsNode(editor, n, "MatMulInteger", 2)) && editor.node(n).inputs.size() <= 4)
      FuseOne(editor, options, n, channels);
  }
}

}  // namespace epiphyte::kit::fuse
