// Operators of ai.onnx's first opsets that ONNX removed before 1.5 and ONNX Runtime kept. They apply until opset 9. Two
// are special: the early form of MeanVarianceNormalization (until opset 8), and ThresholdedRelu, which ONNX added in
// opset 10.
#include <limits>

#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// The value of a required attribute.
Name NeedNumber(Body& body, const char* attribute, DataType type) {
  if (!body.HasAttribute(attribute)) body.Reject("attribute '{}' is missing", attribute);
  return body.Number(body.Float(attribute, 0), type);
}

// alpha x + beta
void BuildAffine(Body& body) {
  const DataType type = body.FloatTypeOf(0);
  const Name scaled = body.Mul(body.Need(0, "X"), body.Number(body.Float("alpha", 1), type));
  body.Return(0, body.Add(scaled, body.Number(body.Float("beta", 0), type)));
}

// border: left, top, right, bottom. If scale gives the result's height and width, right and bottom are ignored.
void BuildCrop(Body& body) {
  const std::vector<int64_t> border = body.Ints("border"), size = body.Ints("scale");
  if (border.size() != 4)
    body.Reject("attribute 'border' has {} numbers, left, top, right, bottom expected", border.size());
  if (body.HasAttribute("scale") && size.size() != 2)
    body.Reject("attribute 'scale' has {} numbers, height and width expected", size.size());
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const std::vector<int64_t>* numbers : {&border, &size}) {
    for (const int64_t number : *numbers)
      if (number < 0 || number > kMost) body.Reject("{} to be cropped, 0 to {} expected", number, kMost);
  }
  const size_t rank = body.RankOf(0);
  if (rank != 4) body.Reject("the input has {} dimensions, 4 expected", rank);
  const Name x = body.Need(0, "input");
  const auto crop = [&](const Name& from, int64_t axis, int64_t before, int64_t after, size_t length) {
    const int64_t full = body.DimIfKnown(0, axis);
    const int64_t rest = size.empty() ? before + after : before + size[length];
    if (full >= 0 && rest > full) body.Reject("dimension {} is {}, {} at least expected", axis, full, rest);
    const Name end =
        size.empty() ? body.Sub(body.SizeOf(x, axis), body.Integers({after})) : body.Integers({before + size[length]});
    return body.Slice(from, body.Integers({before}), end, axis);
  };
  body.Return(0, crop(crop(x, 2, border[1], border[3], 0), 3, border[0], border[2], 1));
}

void BuildDynamicSlice(Body& body) {
  body.Return(0, body.Op("Slice", {body.Need(0, "data"), body.Need(1, "starts"), body.Need(2, "ends"), body.In(3)}));
}

// scale * x plus a bias for each channel
void BuildImageScaler(Body& body) {
  const DataType type = body.FloatTypeOf(0);
  const std::vector<float> bias = body.Floats("bias");
  const size_t rank = body.RankOf(0);
  if (rank != 4) body.Reject("the input has {} dimensions, 4 expected", rank);
  const auto channels = static_cast<int64_t>(bias.size());
  const int64_t found = body.DimIfKnown(0, 1);
  if (channels == 0 || (found >= 0 && found != channels))
    body.Reject("attribute 'bias' has {} numbers, one for each of the input's {} channels expected", channels, found);
  Names numbers;
  for (const float number : bias) numbers.push_back(body.Reshape(body.Number(number, type), {1, 1, 1, 1}));
  const Name scaled = body.Mul(body.Need(0, "input"), body.Number(body.Float("scale", 1), type));
  body.Return(0, body.Add(scaled, numbers.size() == 1 ? numbers[0] : body.Concat(numbers, 1)));
}

// Mean and variance are computed over the whole batch.
void BuildMeanVarianceNormalization(Body& body) {
  const size_t rank = body.RankOf(0);
  if (rank != 4) body.Reject("the input has {} dimensions, 4 expected", rank);
  std::vector<int64_t> axes = {0, 2, 3};
  if (body.Int("across_channels", 0) != 0) axes = {0, 1, 2, 3};
  const Name x = body.Need(0, "input");
  const Name centred = body.Sub(x, body.ReduceMean(x, axes));
  if (body.Int("normalize_variance", 1) == 0) return body.Return(0, centred);
  const Name deviation = body.Op("Sqrt", {body.ReduceMean(body.Mul(centred, centred), axes)});
  // The epsilon is that of MeanVarianceNormalization-9.
  body.Return(0, body.Div(centred, body.Add(deviation, body.Number(1e-9F, body.FloatTypeOf(0)))));
}

// alpha log(exp(beta x) + 1)
void BuildParametricSoftplus(Body& body) {
  const DataType type = body.FloatTypeOf(0);
  const Name soft = body.Op("Softplus", {body.Mul(body.Need(0, "X"), NeedNumber(body, "beta", type))});
  body.Return(0, body.Mul(soft, NeedNumber(body, "alpha", type)));
}

void BuildScale(Body& body) {
  body.Return(0, body.Mul(body.Need(0, "input"), body.Number(body.Float("scale", 1), body.FloatTypeOf(0))));
}

// alpha tanh(beta x)
void BuildScaledTanh(Body& body) {
  const DataType type = body.FloatTypeOf(0);
  const Name tanh = body.Op("Tanh", {body.Mul(body.Need(0, "input"), NeedNumber(body, "beta", type))});
  body.Return(0, body.Mul(tanh, NeedNumber(body, "alpha", type)));
}

void BuildThresholdedRelu(Body& body) {
  body.Return(0, body.Op("ThresholdedRelu", {body.Need(0, "X")}, {A("alpha", body.Float("alpha", 1))}));
}

constexpr Operator kEarlyOperators[] = {
    {"Affine", 1, 1, 1, "alpha:f beta:f", BuildAffine},
    {"Crop", 1, 1, 1, "border:I scale:I", BuildCrop},
    {"DynamicSlice", 3, 4, 1, "", BuildDynamicSlice},
    {"ImageScaler", 1, 1, 1, "bias:F scale:f", BuildImageScaler},
    {"MeanVarianceNormalization", 1, 1, 1, "across_channels:i normalize_variance:i", BuildMeanVarianceNormalization},
    {"ParametricSoftplus", 1, 1, 1, "alpha:f beta:f", BuildParametricSoftplus},
    {"Scale", 1, 1, 1, "scale:f", BuildScale},
    {"ScaledTanh", 1, 1, 1, "alpha:f beta:f", BuildScaledTanh},
    {"ThresholdedRelu", 1, 1, 1, "alpha:f", BuildThresholdedRelu},
};

}  // namespace

std::span<const Operator> EarlyOperators() { return kEarlyOperators; }

}  // namespace epiphyte::core::microsoft
