#include "epiphyte/kit/qdq/quantization.hpp"

#include <cmath>
#include <utility>

#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::kit::qdq {
namespace {

bool IsOfKnownDomain(const ir::Node& node) { return node.domain.empty() || node.domain == "com.microsoft"; }

// The elements of one of a node's parameters. Null, with `why`, if they are not available.
const ir::Tensor* Parameter(const ir::Graph& graph, int32_t value, const char* what, std::string* why) {
  if (graph.FindConstant(value) == nullptr) {
    *why = std::string("its ") + what + " isn't a constant";
    return nullptr;
  }
  const ir::Tensor* elements = ir::ElementsOf(graph, value);
  if (elements == nullptr) *why = std::string("the bytes of its ") + what + " are gone";
  return elements;
}

EpElementType TypeOf(const ir::Graph& graph, const ir::Node& node, const ir::Value& quantised) {
  if (quantised.type != EP_TYPE_UNDEFINED) return quantised.type;
  if (node.HasInput(2)) return graph.values[static_cast<size_t>(node.inputs[2])].type;
  if (!IsQuantize(node)) return EP_TYPE_UNDEFINED;
  const int64_t asked = node.Int("output_dtype", 0);
  if (asked == 0) return EP_TYPE_UINT8;
  return asked > 0 && asked <= EP_TYPE_INT2 ? static_cast<EpElementType>(asked) : EP_TYPE_UNDEFINED;
}

bool HoldsPositiveNumbers(const ir::Tensor& scale) {
  for (size_t i = 0; i < static_cast<size_t>(scale.Count()); ++i) {
    double number = 0;
    if (!ir::NumberAt(scale, i, &number) || !(number > 0) || std::isinf(number)) return false;
  }
  return true;
}

// True when scales with these dimensions fit `values`: one for each index or for each block of the axis.
bool FitsAlongAxis(const Dims& scales, const ir::Value& values, int64_t axis, int64_t block) {
  const auto at = static_cast<size_t>(axis);
  if (block == 0) return scales.size() == 1 && (values.dims[at] < 0 || values.dims[at] == scales[0]);
  if (scales.size() != values.dims.size()) return false;
  for (size_t d = 0; d < scales.size(); ++d) {
    if (values.dims[d] < 0) continue;
    const int64_t whole = values.dims[d];
    const int64_t expected = d == at ? whole / block + (whole % block != 0 ? 1 : 0) : whole;
    if (scales[d] != expected) return false;
  }
  return true;
}

// Reads axis and block size of a quantisation with several scales.
bool ReadAxis(const ir::Node& node, const ir::Value& values, Quantization* result, std::string* why) {
  if (values.rank < 0) {
    *why = "it has " + std::to_string(result->Count()) + " scales, and the rank of what it quantises isn't known";
    return false;
  }
  const int64_t given = node.Int("axis", 1);
  result->axis = given < 0 ? given + values.rank : given;
  if (result->axis < 0 || result->axis >= values.rank) {
    *why = "its axis is " + std::to_string(given) + ", and what it quantises has " + std::to_string(values.rank) +
           " dimensions";
    return false;
  }
  if (!FitsAlongAxis(result->scale.dims, values, result->axis, result->block)) {
    *why = "its scales have the shape " + ShapeText(result->scale.dims) + ", which doesn't fit axis " +
           std::to_string(result->axis) + " of " + ShapeText(values.dims) +
           (result->block == 0 ? "" : " in blocks of " + std::to_string(result->block));
    return false;
  }
  return true;
}

bool ReadZeroPoint(const ir::Graph& graph, const ir::Node& node, Quantization* result, std::string* why) {
  if (!node.HasInput(2)) return true;
  const ir::Tensor* zero_point = Parameter(graph, node.inputs[2], "zero point", why);
  if (zero_point == nullptr) return false;
  if (zero_point->type != result->type) {
    *why = "its zero point is " + TypeName(zero_point->type) + ", expected " + TypeName(result->type);
    return false;
  }
  const bool is_one = zero_point->Count() == 1 && result->scale.Count() == 1;
  if (!is_one && !(zero_point->dims == result->scale.dims)) {
    *why = "its zero points have the shape " + ShapeText(zero_point->dims) + ", expected that of its scales, " +
           ShapeText(result->scale.dims);
    return false;
  }
  result->zero_point = *zero_point;
  return true;
}

}  // namespace

bool IsQuantize(const ir::Node& node) { return node.op_type == "QuantizeLinear" && IsOfKnownDomain(node); }
bool IsDequantize(const ir::Node& node) { return node.op_type == "DequantizeLinear" && IsOfKnownDomain(node); }

int BitsOf(EpElementType type) {
  switch (type) {
    case EP_TYPE_INT2:
    case EP_TYPE_UINT2: return 2;
    case EP_TYPE_INT4:
    case EP_TYPE_UINT4: return 4;
    case EP_TYPE_INT8:
    case EP_TYPE_UINT8: return 8;
    case EP_TYPE_INT16:
    case EP_TYPE_UINT16: return 16;
    case EP_TYPE_INT32: return 32;
    default: return 0;
  }
}

bool IsSigned(EpElementType type) {
  return type == EP_TYPE_INT2 || type == EP_TYPE_INT4 || type == EP_TYPE_INT8 || type == EP_TYPE_INT16 ||
         type == EP_TYPE_INT32;
}

int64_t LowestOf(EpElementType type) { return IsSigned(type) ? -(int64_t{1} << (BitsOf(type) - 1)) : 0; }

int64_t HighestOf(EpElementType type) { return LowestOf(type) + (int64_t{1} << BitsOf(type)) - 1; }

double Quantization::Scale(size_t index) const {
  double number = 0;
  return ir::NumberAt(scale, index, &number) ? number : 0;
}

int64_t Quantization::ZeroPoint(size_t index) const {
  double number = 0;
  return ir::NumberAt(zero_point, index, &number) ? static_cast<int64_t>(number) : 0;
}

std::optional<Quantization> ReadQuantization(const ir::Graph& graph, const ir::Node& node, std::string* why) {
  const bool quantises = IsQuantize(node);
  if ((!quantises && !IsDequantize(node)) || !node.HasInput(0) || !node.HasInput(1) || !node.HasOutput(0)) {
    *why = "it is no QuantizeLinear or DequantizeLinear with an input and a scale";
    return {};
  }
  // Input and output have the same shape, and either of the two may be known.
  const ir::Value& in = graph.values[static_cast<size_t>(node.inputs[0])];
  const ir::Value& out = graph.values[static_cast<size_t>(node.outputs[0])];
  Quantization result;
  result.type = TypeOf(graph, node, quantises ? out : in);
  if (BitsOf(result.type) == 0) {
    *why = "its quantised type is " + TypeName(result.type) + ", expected an integer of 2 to 32 bits";
    return {};
  }
  const ir::Tensor* scale = Parameter(graph, node.inputs[1], "scale", why);
  if (scale == nullptr) return {};
  result.scale = *scale;
  result.block = node.Int("block_size", 0);
  const bool is_float =
      scale->type == EP_TYPE_FLOAT || scale->type == EP_TYPE_FLOAT16 || scale->type == EP_TYPE_BFLOAT16;
  if (!is_float || scale->Count() == 0 || result.block < 0) {
    *why = "its scale is " + TypeName(scale->type) + ShapeText(scale->dims) + " with block_size " +
           std::to_string(result.block) + ", expected floats and blocks that aren't negative";
    return {};
  }
  if (result.block == 0 && !HoldsPositiveNumbers(*scale)) {
    *why = "its scale holds a number that isn't positive and finite";
    return {};
  }
  const bool has_axis = scale->Count() != 1 || result.block != 0;
  if (has_axis && !ReadAxis(node, in.rank >= 0 ? in : out, &result, why)) return {};
  if (!ReadZeroPoint(graph, node, &result, why)) return {};
  return result;
}

bool SameQuantization(const Quantization& a, const Quantization& b) {
  if (a.type != b.type || a.axis != b.axis || a.block != b.block || a.Count() != b.Count()) return false;
  for (size_t i = 0; i < a.Count(); ++i) {
    if (a.Scale(i) != b.Scale(i) || a.ZeroPoint(i) != b.ZeroPoint(i)) return false;
  }
  return true;
}

}  // namespace epiphyte::kit::qdq
