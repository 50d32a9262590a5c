#include "core/onnx/microsoft/forms.h"

#include <cmath>
#include <numbers>

namespace epiphyte::core::microsoft {
namespace {

bool IsShort(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

Name ToWide(Body& body, const Name& x, DataType type) { return IsShort(type) ? body.Cast(x, DataType::kFloat) : x; }
Name FromWide(Body& body, const Name& x, DataType type) { return IsShort(type) ? body.Cast(x, type) : x; }
DataType WideOf(DataType type) { return IsShort(type) ? DataType::kFloat : type; }

Name GeluOf(Body& body, const Name& x, const char* approximate) {
  return body.Op("Gelu", {x}, {A("approximate", std::string(approximate))});
}

float ParameterOf(const std::vector<float>& parameters, size_t index, float fallback) {
  return index < parameters.size() ? parameters[index] : fallback;
}

}  // namespace

Name Gelu(Body& body, const Name& x, DataType type) {
  constexpr int64_t kHasGelu = 20;
  if (body.opset() >= kHasGelu) return GeluOf(body, x, "none");
  const Name inner = body.Op("Erf", {body.Div(x, body.Number(std::numbers::sqrt2, type))});
  const Name sum = body.Add(inner, body.Number(1, type));
  return body.Mul(body.Mul(x, sum), body.Number(0.5, type));
}

Name GeluTanh(Body& body, const Name& x, DataType type) {
  constexpr int64_t kHasGelu = 20;
  if (body.opset() >= kHasGelu) return GeluOf(body, x, "tanh");
  const Name cube = body.Mul(body.Mul(x, x), x);
  const Name sum = body.Add(x, body.Mul(cube, body.Number(0.044715, type)));
  const Name tanh = body.Op("Tanh", {body.Mul(sum, body.Number(std::sqrt(2 / std::numbers::pi), type))});
  return body.Mul(body.Mul(x, body.Add(tanh, body.Number(1, type))), body.Number(0.5, type));
}

Name Activation(Body& body, const Name& x, DataType type, const std::string& name,
                const std::vector<float>& parameters) {
  if (name.empty() || name == "Identity") return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softsign" || name == "Softplus")
    return body.Op(name, {x});
  const auto parameter = [&](size_t index, float fallback) { return ParameterOf(parameters, index, fallback); };
  if (name == "LeakyRelu") return body.Op(name, {x}, {A("alpha", parameter(0, 0.01f))});
  if (name == "Elu") return body.Op(name, {x}, {A("alpha", parameter(0, 1.0f))});
  if (name == "ThresholdedRelu") return body.Op(name, {x}, {A("alpha", parameter(0, 1.0f))});
  if (name == "HardSigmoid") return body.Op(name, {x}, {A("alpha", parameter(0, 0.2f)), A("beta", parameter(1, 0.5f))});
  if (name == "Clip") {
    if (parameters.size() != 2) body.Reject("Clip has {} parameters, least and most expected", parameters.size());
    return body.Op(name, {x, body.Number(parameters[0], type), body.Number(parameters[1], type)});
  }
  body.Unsupported(
      "attribute 'activation' is '{}'; supported are Relu, Tanh, Sigmoid, LeakyRelu, Elu, ThresholdedRelu, "
      "HardSigmoid, Clip, Softsign and Softplus",
      name);
}

Normalized LayerNormalization(Body& body, const Name& x, const Name& scale, const Name& bias, float epsilon,
                              DataType type, bool statistics) {
  constexpr int64_t kHasLayerNormalization = 17;
  if (body.opset() >= kHasLayerNormalization) {
    const Names made =
        body.Ops("LayerNormalization", statistics ? 3 : 1, {x, scale, bias}, {A("axis", -1), A("epsilon", epsilon)});
    return statistics ? Normalized{made[0], made[1], made[2]} : Normalized{made[0], {}, {}};
  }
  const DataType wide = WideOf(type);
  const Name from = ToWide(body, x, type);
  Normalized result;
  result.mean = body.ReduceMean(from, {-1});
  const Name centred = body.Sub(from, result.mean);
  const Name variance = body.ReduceMean(body.Mul(centred, centred), {-1});
  const Name deviation = body.Op("Sqrt", {body.Add(variance, body.Number(epsilon, wide))});
  const Name normal = FromWide(body, body.Div(centred, deviation), type);
  result.y = body.AddIf(body.Mul(normal, scale), bias);
  if (statistics) result.inverse_deviation = body.Op("Reciprocal", {deviation});
  return result;
}

Normalized RmsNormalization(Body& body, const Name& x, const Name& scale, float epsilon, int64_t axis, DataType type,
                            bool statistics) {
  constexpr int64_t kHasRmsNormalization = 23;
  if (body.opset() >= kHasRmsNormalization && !statistics)
    return {body.Op("RMSNormalization", {x, scale}, {A("axis", axis), A("epsilon", epsilon)}), {}, {}};
  if (axis != -1) body.Unsupported("attribute 'axis' is {}, only the last one is supported before opset 23", axis);
  const DataType wide = WideOf(type);
  const Name from = ToWide(body, x, type);
  const Name squares = body.ReduceMean(body.Mul(from, from), {-1});
  const Name root = body.Op("Sqrt", {body.Add(squares, body.Number(epsilon, wide))});
  const Name normal = FromWide(body, body.Div(from, root), type);
  Normalized result{body.Mul(normal, scale), {}, {}};
  if (statistics) result.inverse_deviation = body.Op("Reciprocal", {root});
  return result;
}

bool IsVector(const Body& body, size_t input) {
  if (!body.Has(input)) return false;
  const auto rank = body.RankIfKnown(input);
  if (!rank) throw NotKnownYet{fmt::format("the number of dimensions of input {}", input)};
  return *rank >= 1 && body.DimIfKnown(input, 0) != 1;
}

namespace {

// Whether an operator of the graph's opset supports the type, with scales along an axis or not.
bool HasOperator(const Body& body, const Quantization& quantization, bool dequantize) {
  constexpr int64_t kHasAxis = 13;
  constexpr int64_t kHasShortTypes = 21;
  if (quantization.per_axis && body.opset() < kHasAxis) return false;
  switch (quantization.type) {
    case DataType::kInt8:
    case DataType::kUint8: return true;
    case DataType::kInt32: return dequantize;
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kInt4:
    case DataType::kUint4: return body.opset() >= kHasShortTypes;
    default: body.Unsupported("quantised values are of type {}", DataTypeName(quantization.type));
  }
}

Attributes AxisOf(const Body& body, const Quantization& quantization) {
  constexpr int64_t kHasAxis = 13;
  if (!quantization.per_axis || body.opset() < kHasAxis) return {};
  return {A("axis", quantization.axis)};
}

// Reshapes a vector along the axis to broadcast with the tensor. A single number in any shape becomes a vector of one
// element.
Name Spread(Body& body, const Name& vector, const Quantization& quantization) {
  if (!quantization.per_axis) return body.Reshape(vector, {1});
  const auto rank = static_cast<int64_t>(quantization.rank);
  const int64_t axis = quantization.axis < 0 ? quantization.axis + rank : quantization.axis;
  if (axis < 0 || axis >= rank) body.Reject("axis {} found, {} to {} expected", quantization.axis, -rank, rank - 1);
  std::vector<int64_t> shape(quantization.rank, 1);
  shape[static_cast<size_t>(axis)] = -1;
  return body.Reshape(vector, std::move(shape));
}

std::pair<double, double> RangeOf(DataType type) {
  switch (type) {
    case DataType::kInt8: return {-128, 127};
    case DataType::kUint8: return {0, 255};
    case DataType::kInt16: return {-32768, 32767};
    default: return {0, 65535};
  }
}

}  // namespace

Name Dequantize(Body& body, const Name& x, const Quantization& quantization) {
  if (HasOperator(body, quantization, true)) {
    // DequantizeLinear doesn't allow a zero point for int32.
    const Name zero = quantization.type == DataType::kInt32 ? Name() : quantization.zero_point;
    return body.Op("DequantizeLinear", {x, quantization.scale, zero}, AxisOf(body, quantization));
  }
  Name number = body.Cast(x, DataType::kFloat);
  if (!quantization.zero_point.empty() && quantization.type != DataType::kInt32) {
    const Name zero = body.Cast(quantization.zero_point, DataType::kFloat);
    number = body.Sub(number, Spread(body, zero, quantization));
  }
  return body.Mul(number, Spread(body, quantization.scale, quantization));
}

Name Quantize(Body& body, const Name& x, const Quantization& quantization) {
  const DataType type = quantization.type;
  if (HasOperator(body, quantization, false)) {
    // Without a zero point QuantizeLinear returns uint8, so other types need one.
    Name zero = quantization.zero_point;
    if (zero.empty() && type != DataType::kUint8) zero = body.Number(0, type);
    return body.Op("QuantizeLinear", {x, quantization.scale, zero}, AxisOf(body, quantization));
  }
  const auto [least, most] = RangeOf(type);
  Name number = body.Op("Round", {body.Div(x, Spread(body, quantization.scale, quantization))});
  if (!quantization.zero_point.empty()) {
    const Name zero = body.Cast(quantization.zero_point, DataType::kFloat);
    number = body.Add(number, Spread(body, zero, quantization));
  }
  const Name low = body.Number(least, DataType::kFloat);
  const Name high = body.Number(most, DataType::kFloat);
  return body.Cast(body.Op("Clip", {number, low, high}), type);
}

Name Rotate(Body& body, const Name& x, const Rotary& rotary) {
  const bool partial = rotary.rotary > 0 && rotary.rotary != rotary.size;
  if (rotary.rotary < 0 || rotary.rotary % 2 != 0 || (rotary.size > 0 && rotary.rotary > rotary.size)) {
    body.Reject("{} elements of {} in a head are to be rotated; an even number that a head has expected", rotary.rotary,
                rotary.size);
  }
  constexpr int64_t kHasRotaryEmbedding = 23;
  if (body.opset() >= kHasRotaryEmbedding && rotary.batched) {
    Attributes attributes = {A("interleaved", rotary.interleaved ? 1 : 0)};
    if (partial) attributes.push_back(A("rotary_embedding_dim", rotary.rotary));
    return body.Op("RotaryEmbedding", {x, rotary.cos, rotary.sin}, std::move(attributes));
  }
  const Name cos = body.Unsqueeze(rotary.cos, {1});
  const Name sin = body.Unsqueeze(rotary.sin, {1});
  const Name turning = partial ? body.Slice(x, 0, rotary.rotary, 3) : x;
  Name first, second;
  if (rotary.interleaved) {
    constexpr int64_t kEnd = std::numeric_limits<int32_t>::max();
    const auto alternate = [&](int64_t begin) {
      return body.Op("Slice",
                     {turning, body.Integers({begin}), body.Integers({kEnd}), body.Integers({3}), body.Integers({2})});
    };
    first = alternate(0);
    second = alternate(1);
  } else {
    const Names halves = body.Split(turning, 2, 3);
    first = halves[0];
    second = halves[1];
  }
  const Name a = body.Sub(body.Mul(first, cos), body.Mul(second, sin));
  const Name b = body.Add(body.Mul(second, cos), body.Mul(first, sin));
  Name turned;
  if (rotary.interleaved) {
    const Name pairs = body.Concat({body.Unsqueeze(a, {4}), body.Unsqueeze(b, {4})}, 4);
    turned = body.Op("Reshape", {pairs, body.Op("Shape", {turning})});
  } else {
    turned = body.Concat({a, b}, 3);
  }
  if (!partial) return turned;
  const Name rest = body.Slice(x, rotary.rotary, std::numeric_limits<int32_t>::max(), 3);
  return body.Concat({turned, rest}, 3);
}

}  // namespace epiphyte::core::microsoft
