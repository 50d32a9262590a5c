// Versions of operators in opsets 18 to 26 of ai.onnx and 4 to 5 of ai.onnx.ml.
#include <algorithm>
#include <array>
#include <tuple>

#include "core/onnx/schema/overlay.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kMl = "ai.onnx.ml";

// The versions of one operator are adjacent.
// clang-format off
constexpr auto kVersions = std::to_array<OverlayVersion>({
    {"Acos", 22}, {"Acosh", 22}, {"AffineGrid", 20}, {"Asin", 22}, {"Asinh", 22}, {"Atan", 22}, {"Atanh", 22},
    {"Attention", 23}, {"Attention", 24}, {"AveragePool", 19}, {"AveragePool", 22},
    {"Bernoulli", 22}, {"BitCast", 26}, {"BitwiseAnd", 18}, {"BitwiseNot", 18}, {"BitwiseOr", 18}, {"BitwiseXor", 18},
    {"Cast", 19}, {"Cast", 21}, {"Cast", 23}, {"Cast", 24}, {"Cast", 25},
    {"CastLike", 19}, {"CastLike", 21}, {"CastLike", 23}, {"CastLike", 24}, {"CastLike", 25},
    {"CenterCropPad", 18}, {"Col2Im", 18},
    {"Constant", 19}, {"Constant", 21}, {"Constant", 23}, {"Constant", 24}, {"Constant", 25},
    {"ConstantOfShape", 20}, {"ConstantOfShape", 21}, {"ConstantOfShape", 23}, {"ConstantOfShape", 24},
    {"ConstantOfShape", 25},
    {"Conv", 22}, {"ConvTranspose", 22}, {"Cos", 22}, {"Cosh", 22}, {"CumProd", 26},
    {"DFT", 20}, {"DeformConv", 19}, {"DeformConv", 22},
    {"DequantizeLinear", 19}, {"DequantizeLinear", 21}, {"DequantizeLinear", 23}, {"DequantizeLinear", 24},
    {"DequantizeLinear", 25},
    {"Det", 22}, {"Dropout", 22}, {"Elu", 22}, {"Equal", 19}, {"EyeLike", 22},
    {"Flatten", 21}, {"Flatten", 23}, {"Flatten", 24}, {"Flatten", 25},
    {"GRU", 22}, {"Gelu", 20}, {"GlobalAveragePool", 22}, {"GlobalLpPool", 22}, {"GlobalMaxPool", 22},
    {"GridSample", 20}, {"GridSample", 22}, {"GroupNormalization", 18}, {"GroupNormalization", 21},
    {"HardSigmoid", 22}, {"HardSwish", 22},
    {"Identity", 19}, {"Identity", 21}, {"Identity", 23}, {"Identity", 24}, {"Identity", 25},
    {"If", 19}, {"If", 21}, {"If", 23}, {"If", 24}, {"If", 25},
    {"ImageDecoder", 20}, {"InstanceNormalization", 22}, {"IsInf", 20}, {"IsNaN", 20},
    {"LSTM", 22},
    {"LabelEncoder", 4, kMl},
    {"Loop", 19}, {"Loop", 21}, {"Loop", 23}, {"Loop", 24}, {"Loop", 25},
    {"LpNormalization", 22}, {"LpPool", 18}, {"LpPool", 22},
    {"MaxPool", 22}, {"MaxRoiPool", 22}, {"MaxUnpool", 22}, {"Mish", 18}, {"Mish", 22}, {"Multinomial", 22},
    {"NegativeLogLikelihoodLoss", 22}, {"OptionalGetElement", 18}, {"OptionalHasElement", 18},
    {"Pad", 18}, {"Pad", 19}, {"Pad", 21}, {"Pad", 23}, {"Pad", 24}, {"Pad", 25},
    {"QLinearMatMul", 21},
    {"QuantizeLinear", 19}, {"QuantizeLinear", 21}, {"QuantizeLinear", 23}, {"QuantizeLinear", 24},
    {"QuantizeLinear", 25},
    {"RMSNormalization", 23}, {"RNN", 22}, {"RandomNormal", 22}, {"RandomNormalLike", 22}, {"RandomUniform", 22},
    {"RandomUniformLike", 22},
    {"ReduceL1", 18}, {"ReduceL2", 18}, {"ReduceLogSum", 18}, {"ReduceLogSumExp", 18}, {"ReduceMax", 18},
    {"ReduceMax", 20}, {"ReduceMean", 18}, {"ReduceMin", 18}, {"ReduceMin", 20}, {"ReduceProd", 18},
    {"ReduceSumSquare", 18}, {"RegexFullMatch", 20},
    {"Reshape", 19}, {"Reshape", 21}, {"Reshape", 23}, {"Reshape", 24}, {"Reshape", 25},
    {"Resize", 18}, {"Resize", 19}, {"RoiAlign", 22}, {"RotaryEmbedding", 23}, {"Round", 22},
    {"Scan", 19}, {"Scan", 21}, {"Scan", 23}, {"Scan", 24}, {"Scan", 25},
    {"ScatterElements", 18}, {"ScatterND", 18}, {"Selu", 22},
    {"Shape", 19}, {"Shape", 21}, {"Shape", 23}, {"Shape", 24}, {"Shape", 25},
    {"Sin", 22}, {"Sinh", 22},
    {"Size", 19}, {"Size", 21}, {"Size", 23}, {"Size", 24}, {"Size", 25},
    {"Softplus", 22}, {"Softsign", 22}, {"Split", 18}, {"SplitToSequence", 24},
    {"Squeeze", 21}, {"Squeeze", 23}, {"Squeeze", 24}, {"Squeeze", 25},
    {"StringConcat", 20}, {"StringSplit", 20}, {"Swish", 24},
    {"Tan", 22}, {"TensorScatter", 24}, {"ThresholdedRelu", 22}, {"TopK", 24},
    {"Transpose", 21}, {"Transpose", 23}, {"Transpose", 24}, {"Transpose", 25},
    {"TreeEnsemble", 5, kMl}, {"TreeEnsembleClassifier", 5, kMl}, {"TreeEnsembleRegressor", 5, kMl},
    {"Unsqueeze", 21}, {"Unsqueeze", 23}, {"Unsqueeze", 24}, {"Unsqueeze", 25},
});
// clang-format on

// Changes in opset 27 (ONNX 1.22), and changes in opset 28 so far. New operators need no row, because their names are
// unknown.
constexpr auto kVersionsToCome = std::to_array<OverlayVersion>({{"Cast", 28}, {"Range", 27}});

constexpr bool IsEarlier(const OverlayVersion& a, const OverlayVersion& b) {
  return std::tie(a.op_type, a.since_version) < std::tie(b.op_type, b.since_version);
}
static_assert(std::ranges::is_sorted(kVersions, IsEarlier));

}  // namespace

std::span<const OverlayVersion> OverlayVersions() { return kVersions; }

std::span<const OverlayVersion> VersionsToCome() { return kVersionsToCome; }

int64_t OverlaySinceVersion(std::string_view domain, std::string_view op_type, int64_t opset) {
  int64_t found = 0;
  auto row = std::ranges::lower_bound(kVersions, op_type, {}, &OverlayVersion::op_type);
  for (; row != std::end(kVersions) && row->op_type == op_type; ++row) {
    if (row->domain == domain && row->since_version <= opset) found = row->since_version;
  }
  return found;
}

}  // namespace epiphyte::core
