// Operators between quantized tensors: DequantizeLinear, the operator, QuantizeLinear. Providers that compute on
// integers recognize this as a unit.
#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// Per-tensor quantization with inputs `scale` and `scale` + 1; the quantized type is that of input `x`.
Quantization WholeTensor(const Body& body, size_t x, size_t scale) {
  Quantization quantization;
  quantization.scale = body.Need(scale, "a scale");
  quantization.zero_point = body.In(scale + 1);
  quantization.type = body.TypeOf(x);
  if (IsVector(body, scale))
    body.Unsupported("the scale at input {} has more than one element; one is supported", scale);
  return quantization;
}

// Quantization of the result. Its type is that of its zero point, else that of input `like`.
Quantization ResultAt(const Body& body, size_t scale, size_t like) {
  return WholeTensor(body, body.Has(scale + 1) ? scale + 1 : like, scale);
}

template <const char* kOperator>
void BuildBinary(Body& body) {
  const Name a = Dequantize(body, body.Need(0, "A"), WholeTensor(body, 0, 1));
  const Name b = Dequantize(body, body.Need(3, "B"), WholeTensor(body, 3, 4));
  body.Return(0, Quantize(body, body.Op(kOperator, {a, b}), ResultAt(body, 6, 0)));
}

constexpr char kAdd[] = "Add";
constexpr char kMul[] = "Mul";

Name DequantizedInput(Body& body) { return Dequantize(body, body.Need(0, "X"), WholeTensor(body, 0, 1)); }
void ReturnQuantized(Body& body, const Name& y) { body.Return(0, Quantize(body, y, ResultAt(body, 3, 0))); }

void BuildSigmoid(Body& body) { ReturnQuantized(body, body.Op("Sigmoid", {DequantizedInput(body)})); }

void BuildLeakyRelu(Body& body) {
  ReturnQuantized(body, body.Op("LeakyRelu", {DequantizedInput(body)}, {A("alpha", body.Float("alpha", 0.01f))}));
}

// Before opset 13 all axes from `axis` on are treated as one.
void BuildSoftmax(Body& body) {
  const Name x = DequantizedInput(body);
  const int64_t opset = body.Int("opset", 13);
  const int64_t axis = body.Int("axis", opset < 13 ? 1 : -1);
  const auto rank = static_cast<int64_t>(body.RankOf(0));
  if (axis < -rank || axis >= rank) body.Reject("attribute 'axis' is {}, {} to {} expected", axis, -rank, rank - 1);
  const int64_t from = axis < 0 ? axis + rank : axis;
  if (from == rank - 1) return ReturnQuantized(body, body.Softmax(x));
  if (opset >= 13) {
    if (body.opset() >= 13) return ReturnQuantized(body, body.Op("Softmax", {x}, {A("axis", axis)}));
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
    std::swap(perm[static_cast<size_t>(from)], perm.back());
    return ReturnQuantized(body, body.Transpose(body.Softmax(body.Transpose(x, perm)), perm));
  }
  const Name rows = body.Op("Flatten", {x}, {A("axis", from)});
  ReturnQuantized(body, body.Op("Reshape", {body.Softmax(rows), body.Op("Shape", {x})}));
}

void BuildWhere(Body& body) {
  const Name x = Dequantize(body, body.Need(1, "X"), WholeTensor(body, 1, 2));
  const Name y = Dequantize(body, body.Need(4, "Y"), WholeTensor(body, 4, 5));
  const Name z = body.Where(body.Need(0, "condition"), x, y);
  body.Return(0, Quantize(body, z, ResultAt(body, 7, 1)));
}

void BuildConcat(Body& body) {
  if ((body.input_count() - 2) % 3 != 0 || body.input_count() < 5)
    body.Reject("it has {} inputs, scale and zero point and then three for each part expected", body.input_count());
  Names parts;
  for (size_t i = 2; i < body.input_count(); i += 3)
    parts.push_back(Dequantize(body, body.Need(i, "X"), WholeTensor(body, i, i + 1)));
  if (!body.HasAttribute("axis")) body.Reject("attribute 'axis' is missing");
  body.Return(0, Quantize(body, body.Concat(parts, body.Int("axis", 0)), ResultAt(body, 0, 2)));
}

void BuildReduceMean(Body& body) {
  const Name x = DequantizedInput(body);
  std::vector<int64_t> axes = body.Ints("axes");
  if (axes.empty()) {
    for (size_t i = 0; i < body.RankOf(0); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  const Name mean = body.ReduceMean(x, axes);
  ReturnQuantized(body, body.Int("keepdims", 1) != 0 ? mean : body.Squeeze(mean, axes));
}

// A B + C. C is in units of alpha a_scale b_scale. Without a scale for the result it stays float.
void BuildGemm(Body& body) {
  const bool turned = body.Int("transB", 0) != 0;
  const Quantization a = WholeTensor(body, 0, 1);
  Quantization b{body.Need(4, "b_scale"), body.In(5), body.TypeOf(3), turned ? 0 : 1, IsVector(body, 4), 2};
  const float alpha = body.Float("alpha", 1.0f);
  Name bias;
  if (body.Has(6)) {
    Name step = body.Mul(a.scale, b.scale);
    if (alpha != 1.0f) step = body.Mul(step, body.Number(alpha, DataType::kFloat));
    const size_t rank = body.RankOf(6);
    bias = Dequantize(body, body.In(6),
                      {step, {}, DataType::kInt32, static_cast<int64_t>(rank) - 1, b.per_axis && rank > 0, rank});
  }
  const Name x = Dequantize(body, body.Need(0, "A"), a);
  const Name w = Dequantize(body, body.Need(3, "B"), b);
  Attributes attributes = body.Copy({"transA", "transB"});
  if (alpha != 1.0f) attributes.push_back(A("alpha", alpha));
  const Name y = body.Op("Gemm", {x, w, bias}, std::move(attributes));
  if (!body.Has(7)) return body.Return(0, y);
  body.Return(0, Quantize(body, y, ResultAt(body, 7, 0)));
}

// Quantization for operators like ai.onnx's with more types, and with scales of lower precision.
Quantization OfCall(const Body& body, DataType type) {
  Quantization quantization{body.Need(1, "scale"), body.In(2), type, body.Int("axis", 1), IsVector(body, 1), 0};
  if (quantization.per_axis) quantization.rank = body.RankOf(0);
  body.Only("block_size", 0);
  body.Only("saturate", 1);
  return quantization;
}

void BuildQuantizeLinear(Body& body) {
  const Name x = body.Need(0, "x");
  Quantization quantization = OfCall(body, body.Has(2) ? body.TypeOf(2) : DataType::kUint8);
  const DataType type = body.TypeOf(0);
  if (type == DataType::kFloat) return body.Return(0, Quantize(body, x, quantization));
  quantization.scale = body.Cast(quantization.scale, DataType::kFloat);
  body.Return(0, Quantize(body, body.Cast(x, DataType::kFloat), quantization));
}

void BuildDequantizeLinear(Body& body) {
  Quantization quantization = OfCall(body, body.TypeOf(0));
  const DataType type = body.TypeOf(1);
  if (type == DataType::kFloat) return body.Return(0, Dequantize(body, body.Need(0, "x"), quantization));
  quantization.scale = body.Cast(quantization.scale, DataType::kFloat);
  body.Return(0, body.Cast(Dequantize(body, body.Need(0, "x"), quantization), type));
}

constexpr Operator kQuantizedOperators[] = {
    {"DequantizeLinear", 2, 3, 1, "axis:i block_size:i", BuildDequantizeLinear},
    {"QGemm", 6, 9, 1, "alpha:f transA:i transB:i", BuildGemm},
    {"QLinearAdd", 7, 8, 1, "", BuildBinary<kAdd>},
    {"QLinearConcat", 5, 1 << 16, 1, "axis:i", BuildConcat},
    {"QLinearLeakyRelu", 4, 5, 1, "alpha:f", BuildLeakyRelu},
    {"QLinearMul", 7, 8, 1, "", BuildBinary<kMul>},
    {"QLinearReduceMean", 4, 5, 1, "axes:I keepdims:i", BuildReduceMean},
    {"QLinearSigmoid", 4, 5, 1, "", BuildSigmoid},
    {"QLinearSoftmax", 4, 5, 1, "axis:i opset:i", BuildSoftmax},
    {"QLinearWhere", 8, 9, 1, "", BuildWhere},
    {"QuantizeLinear", 2, 3, 1, "axis:i block_size:i saturate:i", BuildQuantizeLinear},
};

}  // namespace

std::span<const Operator> QuantizedOperators() { return kQuantizedOperators; }

}  // namespace epiphyte::core::microsoft
