#include "core/onnx/infer/shape_origin.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace epiphyte::core {
namespace {

constexpr uint32_t kAll = UINT32_MAX;

struct ShapeInputs {
  std::string_view op_type;
  uint32_t inputs;  // bit n: the data of input n determines the shape of an output
};

constexpr uint32_t Inputs(auto... indices) { return ((1u << indices) | ...); }

// Sorted.
constexpr auto kShapeInputs = std::to_array<ShapeInputs>({
    {"AffineGrid", Inputs(1)},
    {"BlackmanWindow", Inputs(0)},
    {"CenterCropPad", Inputs(1)},
    {"Col2Im", Inputs(1, 2)},
    {"Compress", kAll},
    {"ConcatFromSequence", kAll},
    {"ConstantOfShape", Inputs(0)},
    {"DFT", Inputs(1, 2)},
    {"Expand", Inputs(1)},
    {"HammingWindow", Inputs(0)},
    {"HannWindow", Inputs(0)},
    {"If", kAll},
    {"ImageDecoder", kAll},
    {"Loop", kAll},
    {"MaxUnpool", Inputs(2)},
    {"MelWeightMatrix", Inputs(0, 1)},
    {"NonMaxSuppression", kAll},
    {"NonZero", kAll},
    {"OneHot", Inputs(1)},
    {"OptionalGetElement", kAll},
    {"Pad", Inputs(1, 3)},
    {"Range", Inputs(0, 1, 2)},
    {"ReduceL1", Inputs(1)},
    {"ReduceL2", Inputs(1)},
    {"ReduceLogSum", Inputs(1)},
    {"ReduceLogSumExp", Inputs(1)},
    {"ReduceMax", Inputs(1)},
    {"ReduceMean", Inputs(1)},
    {"ReduceMin", Inputs(1)},
    {"ReduceProd", Inputs(1)},
    {"ReduceSum", Inputs(1)},
    {"ReduceSumSquare", Inputs(1)},
    {"Reshape", Inputs(1)},
    {"Resize", Inputs(1, 2, 3)},
    {"STFT", Inputs(1, 3)},
    {"SequenceAt", kAll},
    {"SequenceErase", kAll},
    {"SequenceInsert", kAll},
    {"SequenceMap", kAll},
    {"Slice", Inputs(1, 2, 3, 4)},
    {"Split", Inputs(1)},
    {"SplitToSequence", kAll},
    {"Squeeze", Inputs(1)},
    {"StringSplit", kAll},
    {"Tile", Inputs(1, 2)},
    {"TopK", Inputs(1)},
    {"Unique", kAll},
    {"Unsqueeze", Inputs(1)},
    {"Upsample", Inputs(1)},
});
static_assert(std::ranges::is_sorted(kShapeInputs, {}, &ShapeInputs::op_type));

const ValueDef* ThroughScopes(const ValueDef* value) {
  while (value->outer() != nullptr) value = value->outer();
  return value;
}

}  // namespace

void ShapeOrigin::EnterBody(const Graph& body) {
  for (const ValueDef* input : body.inputs()) of_data_.insert(input);
}

bool ShapeOrigin::DependsOnData(const ValueDef& value) const { return of_data_.contains(ThroughScopes(&value)); }

// An omitted value has no data that could vary.
bool ShapeOrigin::HasFixedData(const ValueDef* value) const {
  if (value == nullptr) return true;
  value = ThroughScopes(value);
  return value->IsConstant() || fixed_.contains(value);
}

bool ShapeOrigin::HasFixedInputs(const Node& node) const {
  const auto all_fixed = [this](const std::vector<ValueDef*>& values) {
    return std::all_of(values.begin(), values.end(), [this](const ValueDef* value) { return HasFixedData(value); });
  };
  return all_fixed(node.inputs()) && all_fixed(node.implicit_inputs());
}

bool ShapeOrigin::MakesShapesOfData(const Node& node) const {
  const auto any_of_data = [this](const std::vector<ValueDef*>& values) {
    return std::any_of(values.begin(), values.end(),
                       [this](const ValueDef* value) { return value != nullptr && DependsOnData(*value); });
  };
  if (any_of_data(node.inputs()) || any_of_data(node.implicit_inputs())) return true;
  if (!node.domain().empty()) return false;
  const auto row = std::ranges::lower_bound(kShapeInputs, std::string_view(node.op_type()), {}, &ShapeInputs::op_type);
  if (row == kShapeInputs.end() || row->op_type != node.op_type()) return false;
  if (row->inputs == kAll) return true;
  for (size_t i = 0; i < node.inputs().size() && i < 32; ++i) {
    if ((row->inputs >> i & 1) != 0 && !HasFixedData(node.inputs()[i])) return true;
  }
  return false;
}

void ShapeOrigin::Visit(const Node& node) {
  const bool reads_shape = node.Is("Shape") || node.Is("Size");
  if (reads_shape) {
    const ValueDef* input = node.input(0);
    const ValueDef* output = node.output(0);
    if (input != nullptr && output != nullptr && !DependsOnData(*input)) fixed_.insert(output);
    return;
  }
  const bool fixed = HasFixedInputs(node);
  const bool of_data = !fixed && MakesShapesOfData(node);
  if (!fixed && !of_data) return;
  for (const ValueDef* output : node.outputs()) {
    if (output == nullptr) continue;
    if (fixed) fixed_.insert(output);
    if (of_data) of_data_.insert(output);
  }
}

}  // namespace epiphyte::core
