// Convolution and pooling on quantized images with channels first or last.
#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// Moves the channels from the last axis to axis 1, and back.
Name ChannelsFirst(Body& body, const Name& x, size_t rank) {
  std::vector<int64_t> perm = {0, static_cast<int64_t>(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  return body.Transpose(x, perm);
}
Name ChannelsLast(Body& body, const Name& x, size_t rank) {
  std::vector<int64_t> perm = {0};
  for (size_t i = 2; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  perm.push_back(1);
  return body.Transpose(x, perm);
}

size_t ImageRank(const Body& body) {
  const size_t rank = body.RankOf(0);
  if (rank < 3) body.Reject("the image has {} dimensions, 3 or more expected", rank);
  return rank;
}

Quantization At(const Body& body, size_t scale, size_t like) {
  if (IsVector(body, scale))
    body.Unsupported("the scale at input {} has more than one element; one is supported", scale);
  return {body.Need(scale, "a scale"), body.In(scale + 1), body.TypeOf(body.Has(scale + 1) ? scale + 1 : like)};
}

void BuildPool(Body& body, const char* op_type, Attributes attributes) {
  const bool last = body.Int("channels_last", 0) != 0;
  const size_t rank = last ? ImageRank(body) : 0;
  const Name x = last ? ChannelsFirst(body, body.Need(0, "X"), rank) : body.Need(0, "X");
  const Name pooled = body.Op(op_type, {Dequantize(body, x, At(body, 1, 0))}, std::move(attributes));
  const Name y = Quantize(body, pooled, At(body, 3, 0));
  body.Return(0, last ? ChannelsLast(body, y, rank) : y);
}

void BuildAveragePool(Body& body) {
  BuildPool(body, "AveragePool",
            body.Copy({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
}

void BuildGlobalAveragePool(Body& body) { BuildPool(body, "GlobalAveragePool", {}); }

void BuildMaxPool(Body& body) {
  const size_t rank = ImageRank(body);
  const Name pooled = body.Op("MaxPool", {ChannelsFirst(body, body.Need(0, "x"), rank)},
                              body.Copy({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"}));
  body.Return(0, ChannelsLast(body, pooled, rank));
}

void BuildConv(Body& body) {
  const bool last = body.Int("channels_last", 0) != 0;
  const size_t rank = last ? ImageRank(body) : 0;
  const Name x = last ? ChannelsFirst(body, body.Need(0, "x"), rank) : body.Need(0, "x");
  Names inputs = {x};
  for (size_t i = 1; i < body.input_count(); ++i) inputs.push_back(body.In(i));
  const Name y = body.Op("QLinearConv", std::move(inputs),
                         body.Copy({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  body.Return(0, last ? ChannelsLast(body, y, rank) : y);
}

constexpr Operator kQuantizedLayoutOperators[] = {
    {"NhwcMaxPool", 1, 1, 1, "auto_pad:s ceil_mode:i dilations:I kernel_shape:I pads:I strides:I", BuildMaxPool},
    {"QLinearAveragePool", 4, 5, 1,
     "auto_pad:s ceil_mode:i channels_last:i count_include_pad:i kernel_shape:I pads:I strides:I", BuildAveragePool},
    {"QLinearConv", 8, 9, 1, "auto_pad:s channels_last:i dilations:I group:i kernel_shape:I pads:I strides:I",
     BuildConv},
    {"QLinearGlobalAveragePool", 4, 5, 1, "channels_last:i", BuildGlobalAveragePool},
};

}  // namespace

std::span<const Operator> QuantizedLayoutOperators() { return kQuantizedLayoutOperators; }

}  // namespace epiphyte::core::microsoft
