// The table of operators that the core infers itself.
#include <algorithm>
#include <array>
#include <tuple>

#include "core/onnx/overlay/overlay_inference.h"
#include "core/onnx/schema/known_operators.h"
#include "core/onnx/schema/overlay.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

constexpr int kN = kAnyNumber;

// Each row has the operator, its first version and its inference. If libonnx doesn't know the signature, the row also
// has minimum and maximum numbers of inputs and outputs. Sorted by operator, then by version.
constexpr auto kOperators = std::to_array<OverlayOperator>({
    {"Abs", 1, InferLikeFirst},
    {"Acos", 1, InferLikeFirst},
    {"Acosh", 1, InferLikeFirst},
    {"Add", 1, InferLikeFirst},
    {"Add", 7, InferBroadcast},
    {"AffineGrid", 20, InferAffineGrid, 2, 2, 1, 1},
    {"And", 1, InferBoolLikeFirst},
    {"And", 7, InferComparison},
    {"Asin", 1, InferLikeFirst},
    {"Asinh", 1, InferLikeFirst},
    {"Atan", 1, InferLikeFirst},
    {"Atanh", 1, InferLikeFirst},
    {"Attention", 23, InferAttention, 3, 6, 1, 4},
    {"Attention", 24, InferAttention, 3, 7, 1, 4},
    {"AveragePool", 1, InferPool},
    {"BitCast", 26, InferBitCast, 1, 1, 1, 1},
    {"BitShift", 11, InferBroadcast},
    {"BitwiseAnd", 18, InferBroadcast, 2, 2, 1, 1},
    {"BitwiseNot", 18, InferLikeFirst, 1, 1, 1, 1},
    {"BitwiseOr", 18, InferBroadcast, 2, 2, 1, 1},
    {"BitwiseXor", 18, InferBroadcast, 2, 2, 1, 1},
    {"Cast", 6, InferCast},
    {"CastLike", 15, InferCastLike},
    {"Ceil", 1, InferLikeFirst},
    {"Celu", 12, InferLikeFirst},
    {"CenterCropPad", 18, InferCenterCropPad, 2, 2, 1, 1},
    {"Clip", 1, InferLikeFirst},
    {"Col2Im", 18, InferCol2Im, 3, 3, 1, 1},
    {"Constant", 1, InferConstant},
    {"ConstantOfShape", 9, InferConstantOfShape},
    {"Conv", 1, InferConv},
    {"ConvInteger", 10, InferConvInteger},
    {"ConvTranspose", 1, InferConvTranspose},
    {"Cos", 1, InferLikeFirst},
    {"Cosh", 1, InferLikeFirst},
    {"CumProd", 26, InferLikeFirst, 2, 2, 1, 1},
    {"DFT", 17, InferDft},
    {"DFT", 20, InferDft, 1, 3, 1, 1},
    {"DeformConv", 19, InferDeformConv, 3, 5, 1, 1},
    {"DequantizeLinear", 19, InferDequantize},
    {"Div", 1, InferLikeFirst},
    {"Div", 7, InferBroadcast},
    {"Einsum", 12, InferEinsum},
    {"Elu", 1, InferLikeFirst},
    {"Equal", 7, InferComparison},
    {"Erf", 9, InferLikeFirst},
    {"Exp", 1, InferLikeFirst},
    {"Expand", 8, InferExpand},
    {"Floor", 1, InferLikeFirst},
    {"GatherND", 11, InferGatherNd},
    {"Gelu", 20, InferLikeFirst, 1, 1, 1, 1},
    {"Gemm", 1, InferGemm},
    {"Gradient", 1, InferGradient, kAsBefore, kAsBefore, kAsBefore, kAsBefore, "", kPreviewTrainingDomain},
    {"Greater", 7, InferComparison},
    {"GreaterOrEqual", 12, InferComparison},
    {"GridSample", 16, InferGridSample},
    {"GridSample", 20, InferGridSample},
    {"GroupNormalization", 18, InferLikeFirst, 3, 3, 1, 1},
    {"HardSigmoid", 1, InferLikeFirst},
    {"HardSwish", 14, InferLikeFirst},
    {"Identity", 1, InferLikeFirst},
    {"ImageDecoder", 20, InferImageDecoder, 1, 1, 1, 1},
    {"InstanceNormalization", 1, InferLikeFirst},
    {"IsInf", 10, InferBoolLikeFirst},
    {"IsNaN", 9, InferBoolLikeFirst},
    {"LabelEncoder", 4, InferLabelEncoder, 1, 1, 1, 1, "", kMlDomain},
    {"LayerNormalization", 17, InferLayerNormalization},
    {"LeakyRelu", 1, InferLikeFirst},
    {"Less", 7, InferComparison},
    {"LessOrEqual", 12, InferComparison},
    {"Log", 1, InferLikeFirst},
    {"LpPool", 2, InferPool},
    {"MaxPool", 1, InferPool},
    {"MaxUnpool", 9, InferMaxUnpool},
    {"MeanVarianceNormalization", 9, InferLikeFirst},
    {"Mish", 18, InferLikeFirst, 1, 1, 1, 1},
    {"Mod", 10, InferBroadcast},
    {"Mul", 1, InferLikeFirst},
    {"Mul", 7, InferBroadcast},
    {"Neg", 1, InferLikeFirst},
    {"Not", 1, InferLikeFirst},
    {"OptionalGetElement", 18, InferOptionalGetElement, 1, 1, 1, 1},
    {"OptionalHasElement", 18, InferOptionalHasElement, 0, 1, 1, 1},
    {"Or", 1, InferBoolLikeFirst},
    {"Or", 7, InferComparison},
    {"PRelu", 1, InferLikeFirst},
    {"Pad", 18, InferPad, 2, 4, 1, 1},
    {"Pow", 1, InferLikeFirst},
    {"Pow", 7, InferBroadcast},
    {"QLinearConv", 10, InferQLinearConv},
    {"QuantizeLinear", 19, InferQuantize},
    {"RMSNormalization", 23, InferRmsNormalization, 2, 2, 1, 1},
    {"Range", 11, InferRange},
    {"Reciprocal", 1, InferLikeFirst},
    {"ReduceL1", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceL2", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceLogSum", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceLogSumExp", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceMax", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceMean", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceMin", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceProd", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"ReduceSumSquare", 18, nullptr, 1, 2, 1, 1, "ReduceSum"},
    {"RegexFullMatch", 20, InferBoolLikeFirst, 1, 1, 1, 1},
    {"Relu", 1, InferLikeFirst},
    {"Reshape", 5, InferReshape},
    // libonnx 1.17 rejects a sizes input with an unknown number of elements.
    {"Resize", 11, InferResize},
    {"Resize", 18, InferResize, 1, 4, 1, 1},
    {"RotaryEmbedding", 23, InferLikeFirst, 3, 4, 1, 1},
    {"Round", 11, InferLikeFirst},
    {"STFT", 17, InferStft},
    {"Selu", 1, InferLikeFirst},
    {"Shrink", 9, InferLikeFirst},
    {"Sigmoid", 1, InferLikeFirst},
    {"Sign", 9, InferLikeFirst},
    {"Sin", 1, InferLikeFirst},
    {"Sinh", 1, InferLikeFirst},
    {"Slice", 10, InferSlice},
    {"Softplus", 1, InferLikeFirst},
    {"Softsign", 1, InferLikeFirst},
    {"Split", 18, InferSplit, 1, 2, 1, kN},
    {"Sqrt", 1, InferLikeFirst},
    {"StringConcat", 20, InferStringConcat, 2, 2, 1, 1},
    {"StringSplit", 20, InferStringSplit, 1, 1, 2, 2},
    {"Sub", 1, InferLikeFirst},
    {"Sub", 7, InferBroadcast},
    {"Swish", 24, InferLikeFirst, 1, 1, 1, 1},
    {"Tan", 1, InferLikeFirst},
    {"Tanh", 1, InferLikeFirst},
    {"TensorScatter", 24, InferLikeFirst, 2, 3, 1, 1},
    {"ThresholdedRelu", 1, InferLikeFirst},
    {"TreeEnsemble", 5, InferTreeEnsemble, 1, 1, 1, 1, "", kMlDomain},
    {"Xor", 1, InferBoolLikeFirst},
    {"Xor", 7, InferComparison},
});

constexpr bool IsBefore(const OverlayOperator& a, const OverlayOperator& b) {
  return std::tie(a.op_type, a.from_version) < std::tie(b.op_type, b.from_version);
}
static_assert(std::ranges::is_sorted(kOperators, IsBefore));

}  // namespace

const OverlayOperator* FindOverlayOperator(std::string_view domain, std::string_view op_type, int64_t since_version) {
  const OverlayOperator* found = nullptr;
  auto position = std::ranges::lower_bound(kOperators, op_type, {}, &OverlayOperator::op_type);
  for (; position != std::end(kOperators) && position->op_type == op_type; ++position) {
    const OverlayOperator& row = *position;
    if (row.domain == domain && row.from_version <= since_version) found = &row;
  }
  return found;
}

}  // namespace epiphyte::core
