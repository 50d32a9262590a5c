#include "plugins/vulkan/ops/quantized/quantization.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::vulkan {

ScaleIndex::ScaleIndex(const Dims& x, const Dims& scale, int64_t axis, int64_t block) {
  if (block < 0) kit::FailArgument("block_size is ", block, ", expected a positive number");
  parameters = {Word(x.Count()), 1, 1, 1, 1};
  if (scale.size() == 0 || (scale.Count() == 1 && block == 0)) return;
  const size_t at = kit::NormalizeAxis(axis, x.size());
  const kit::AxisView view(x, at);
  if (block == 0) {
    if (scale.size() != 1 || scale[0] != view.size)
      kit::FailArgument("scale has shape ", kit::ShapeText(scale), ", expected one or ", view.size,
                        " elements for input ", kit::ShapeText(x));
    mode = 1;
    parameters = {Word(x.Count()), Word(view.inner), Word(view.size), 1, 1};
    return;
  }
  const int64_t blocks = view.size / block + (view.size % block != 0 ? 1 : 0);
  Dims expected = x;
  expected[at] = blocks;
  if (scale != expected)
    kit::FailArgument("scale has shape ", kit::ShapeText(scale), ", expected ", kit::ShapeText(expected),
                      " for blocks of ", block);
  mode = 2;
  parameters = {Word(x.Count()), Word(view.inner), Word(view.size), Word(std::min(block, view.size)), Word(blocks)};
}

ResultBounds::ResultBounds(const ir::Node& node, EpElementType type)
    : low(node.Int("low", kit::qdq::LowestOf(type))), high(node.Int("high", kit::qdq::HighestOf(type))) {}

QuantizedEnds::QuantizedEnds(const ir::Node& node, EpElementType type) : bounds(node, type) {
  const std::vector<float> scales = node.Floats("scales");
  const std::vector<int64_t> zeros = node.Ints("zero_points");
  for (size_t i = 0; i < scales.size(); ++i) quantizations.push_back({scales[i], static_cast<float>(zeros[i])});
}

std::string CheckQuantizedEnds(const ir::Node& node, size_t operands) {
  const size_t scales = node.Floats("scales").size(), zeros = node.Ints("zero_points").size();
  if (scales == operands + 1 && zeros == operands + 1) return {};
  return kit::TextOf("it has ", scales, " scales and ", zeros, " zero points, ", operands + 1, " of each expected");
}

std::string ExpectType(const NodeCheck& check, size_t i, EpElementType type, std::string_view name) {
  if (!check.HasInput(i) || check.InputType(i) == type) return {};
  return kit::TextOf(name, " is ", kit::TypeName(check.InputType(i)), "; a kernel is there for ", kit::TypeName(type));
}

int64_t ParameterStride(const Recording& r, size_t i, int64_t items, std::string_view name, std::string_view item) {
  const Dims& dims = r.InputDims(i);
  const int64_t count = dims.Count();
  if (count == 1) return 0;
  if (count != items)
    kit::FailArgument(name, " has shape ", kit::ShapeText(dims), ", expected one element or one for each ", item, " (",
                      items, ")");
  return 1;
}

}  // namespace epiphyte::vulkan
