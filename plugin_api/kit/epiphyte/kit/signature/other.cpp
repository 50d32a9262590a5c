// Signatures of ai.onnx.ml, of training, of com.microsoft and of the kit's fused operators. signature.hpp explains the
// format.
#include <algorithm>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/signature/parser.hpp"

namespace epiphyte::kit {
namespace {

// clang-format off
constexpr Signature kMl[] = {
    {"ArrayFeatureExtractor", 1, "X:T Y:int64 -> Z:T; T=double|float|int32|int64|string", ""},
    {"Binarizer", 1, "X:T -> Y:T; T=double|float|int32|int64", "threshold:f"},
    {"CastMap", 1, "X:map -> Y:float|int64|string", "cast_to:s map_form:s max_map:i"},
    {"CategoryMapper", 1, "X:int64|string -> Y:int64|string",
     "cats_int64s:I cats_strings:S default_int64:i default_string:s"},
    {"DictVectorizer", 1, "X:map -> Y:double|float|int64|string", "int64_vocabulary:I string_vocabulary:S"},
    {"FeatureVectorizer", 1, "X:double|float|int32|int64* -> Y:float", "inputdimensions:I"},
    {"Imputer", 1, "X:T -> Y:T; T=double|float|int32|int64",
     "imputed_value_floats:F imputed_value_int64s:I replaced_value_float:f replaced_value_int64:i"},
    {"LabelEncoder", 1, "X:string|float|double|int16|int32|int64 -> Y:string|float|double|int16|int32|int64",
     "classes_strings:S default_int64:i default_string:s default_float:f keys_floats:F keys_int64s:I keys_strings:S "
     "values_floats:F values_int64s:I values_strings:S keys_tensor:t values_tensor:t default_tensor:t"},
    {"LinearClassifier", 1, "X:double|float|int32|int64 -> Y:int64|string Z:float",
     "classlabels_ints:I classlabels_strings:S coefficients:F intercepts:F multi_class:i post_transform:s"},
    {"LinearRegressor", 1, "X:double|float|int32|int64 -> Y:float",
     "coefficients:F intercepts:F post_transform:s targets:i"},
    {"Normalizer", 1, "X:double|float|int32|int64 -> Y:float", "norm:s"},
    {"OneHotEncoder", 1, "X:double|float|int32|int64|string -> Y:float", "cats_int64s:I cats_strings:S zeros:i"},
    {"SVMClassifier", 1, "X:double|float|int32|int64 -> Y:int64|string Z:float",
     "classlabels_ints:I classlabels_strings:S coefficients:F kernel_params:F kernel_type:s post_transform:s "
     "prob_a:F prob_b:F rho:F support_vectors:F vectors_per_class:I"},
    {"SVMRegressor", 1, "X:double|float|int32|int64 -> Y:float",
     "coefficients:F kernel_params:F kernel_type:s n_supports:i one_class:i post_transform:s rho:F "
     "support_vectors:F"},
    {"Scaler", 1, "X:double|float|int32|int64 -> Y:float", "offset:F scale:F"},
    {"TreeEnsemble", 5, "X:T -> Y:T; T=float|double|float16",
     "aggregate_function:i leaf_targetids:I leaf_weights:t membership_values:t n_targets:i nodes_falseleafs:I "
     "nodes_falsenodeids:I nodes_featureids:I nodes_hitrates:t nodes_missing_value_tracks_true:I nodes_modes:t "
     "nodes_splits:t nodes_trueleafs:I nodes_truenodeids:I post_transform:i tree_roots:I"},
    {"TreeEnsembleClassifier", 1, "X:double|float|int32|int64 -> Y:int64|string Z:float",
     "base_values:F class_ids:I class_nodeids:I class_treeids:I class_weights:F classlabels_int64s:I "
     "classlabels_strings:S nodes_falsenodeids:I nodes_featureids:I nodes_hitrates:F "
     "nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I nodes_truenodeids:I "
     "nodes_values:F post_transform:s base_values_as_tensor:t class_weights_as_tensor:t nodes_hitrates_as_tensor:t "
     "nodes_values_as_tensor:t"},
    {"TreeEnsembleRegressor", 1, "X:double|float|int32|int64 -> Y:float",
     "aggregate_function:s base_values:F n_targets:i nodes_falsenodeids:I nodes_featureids:I nodes_hitrates:F "
     "nodes_missing_value_tracks_true:I nodes_modes:S nodes_nodeids:I nodes_treeids:I nodes_truenodeids:I "
     "nodes_values:F post_transform:s target_ids:I target_nodeids:I target_treeids:I target_weights:F "
     "base_values_as_tensor:t nodes_hitrates_as_tensor:t nodes_values_as_tensor:t target_weights_as_tensor:t"},
    {"ZipMap", 1, "X:float -> Z:seq", "classlabels_int64s:I classlabels_strings:S"},
};

constexpr Signature kTraining[] = {
    {"Adagrad", 1, "R:float|double T:int64 inputs:float|double** -> outputs:float|double**",
     "decay_factor:f epsilon:f norm_coefficient:f"},
    {"Adam", 1, "R:float|double T:int64 inputs:float|double** -> outputs:float|double**",
     "alpha:f beta:f epsilon:f norm_coefficient:f norm_coefficient_post:f"},
    {"Momentum", 1, "R:float|double T:int64 inputs:float|double** -> outputs:float|double**",
     "alpha:f beta:f mode:s norm_coefficient:f"},
};

constexpr Signature kMicrosoft[] = {
    {"MatMulNBits", 1, "A:T[1..] B:uint8 scales:T zero_points:float|float16|uint8? g_idx:int32? bias:T?[1] -> Y:T; "
     "T=float|float16",
     "K:i[1..] N:i[1..] accuracy_level:i bits:i[2..8] block_size:i[16..]"},
    {"NhwcMaxPool", 1, "x:T[3..5] -> y:T; T=int8|uint8",
     "auto_pad:s ceil_mode:i dilations:I[1..] kernel_shape:I[1..] pads:I strides:I[1..]"},
    {"QLinearConv", 1, "x:T1[3..5] x_scale:float x_zero_point:T1 w:T2[3..5] w_scale:float w_zero_point:T2 "
     "y_scale:float y_zero_point:T3 B:int32?[1] -> y:T3; T1=int8|uint8 T2=int8|uint8 T3=int8|uint8",
     "auto_pad:s channels_last:i[0..1] dilations:I[1..] group:i[1..] kernel_shape:I[1..] pads:I strides:I[1..]"},
};

constexpr Signature kFused[] = {
    {"Attention", 1, "q:T[4] k:T[4] v:T[4] mask:T?[0..4] past_key:T?[4] past_value:T?[4] -> y:T present_key:T?[4] "
     "present_value:T?[4]; T=floats",
     "k_perm:I[0..3] q_perm:I[0..3] scale:f v_perm:I[0..3] y_perm:I[0..3]"},
    {"BatchNormalization", 1, "X:T scale:T B:T mean:T var:T -> Y:T; T=floats",
     "activation:s activation_alpha:f activation_beta:f epsilon:f momentum:f spatial:i training_mode:i"},
    {"Conv", 1, "X:T[3..5] W:T[3..5] B:T?[1] residual:T?[3..5] -> Y:T; T=floats",
     "activation:s activation_alpha:f activation_beta:f auto_pad:s dilations:I[1..] group:i[1..] "
     "kernel_shape:I[1..] pads:I strides:I[1..]"},
    {"ConvIntegerToFloat", 1, "x:T1[3..] w:T2[3..] x_zero_point:T1? w_zero_point:T2? x_scale:float w_scale:float? "
     "B:float? -> y:float; T1=int8|uint8 T2=int8|uint8",
     "auto_pad:s dilations:I[1..] group:i[1..] kernel_shape:I[1..] pads:I strides:I[1..]"},
    {"Elementwise", 1, "x:T* -> y:T; T=floats", "code:I parameters:F"},
    {"Gemm", 1, "A:T[2] B:T[2] C:T? -> Y:T; T=floats",
     "activation:s activation_alpha:f activation_beta:f alpha:f beta:f transA:i transB:i"},
    {"MatMul", 1, "A:T[1..] B:T[1..] bias:T? residual:T? -> Y:T; T=floats",
     "activation:s activation_alpha:f activation_beta:f"},
    {"MatMulIntegerToFloat", 1, "A:T1[1..] B:T2[1..] a_zero_point:T1? b_zero_point:T2? a_scale:float b_scale:float? "
     "bias:float? -> y:float; T1=int8|uint8 T2=int8|uint8", ""},
    {"QLinearAveragePool", 1, "x:T[3..5] -> y:T; T=int8|uint8",
     "auto_pad:s ceil_mode:i count_include_pad:i dilations:I[1..] global:i[0..1] high:i[-128..255] kernel_shape:I[1..] "
     "low:i[-128..255] pads:I scales:F strides:I[1..] zero_points:I[-128..255]"},
    {"QLinearConv", 1, "x:T1[3..5] x_scale:float x_zero_point:T1 w:T2[3..5] w_scale:float w_zero_point:T2 "
     "y_scale:float y_zero_point:T3 B:int32?[1] -> y:T3; T1=int8|uint8 T2=int8|uint8 T3=int8|uint8",
     "auto_pad:s dilations:I[1..] group:i[1..] high:i[-128..255] kernel_shape:I[1..] low:i[-128..255] pads:I "
     "strides:I[1..]"},
    {"QLinearElementwise", 1, "x:T* -> y:T; T=int8|uint8",
     "code:I high:i[-128..255] low:i[-128..255] parameters:F scales:F zero_points:I[-128..255]"},
    {"QLinearLayerNormalization", 1, "x:T[1..] scale:float bias:float? -> y:T; T=int8|uint8",
     "axis:i epsilon:f high:i[-128..255] low:i[-128..255] scales:F zero_points:I[-128..255]"},
    {"QLinearMatMul", 1, "a:T1[1..] a_scale:float a_zero_point:T1 b:T2[2] b_scale:float b_zero_point:T2 "
     "y_scale:float y_zero_point:T3 bias:int32?[1] -> y:T3; T1=int8|uint8 T2=int8|uint8 T3=int8|uint8",
     "high:i[-128..255] low:i[-128..255] transB:i[0..1]"},
    {"QLinearSoftmax", 1, "x:T[1..] -> y:T; T=int8|uint8",
     "high:i[-128..255] low:i[-128..255] scales:F zero_points:I[-128..255]"},
    {"SkipNormalization", 1, "x:T[1..] skip:T[1..] scale:T bias:T? -> y:T sum:T?; T=floats",
     "axis:i epsilon:f rms:i[0..1]"},
};
// clang-format on
static_assert(IsSorted(kMl) && IsSorted(kTraining) && IsSorted(kMicrosoft) && IsSorted(kFused));

}  // namespace

std::span<const Signature> MlSignatures() { return kMl; }
std::span<const Signature> TrainingSignatures() { return kTraining; }
std::span<const Signature> MicrosoftSignatures() { return kMicrosoft; }
std::span<const Signature> FusedSignatures() { return kFused; }

std::span<const Signature> FindSignatures(std::string_view domain, std::string_view op_type) {
  const auto table = [&]() -> std::span<const Signature> {
    if (domain.empty() || domain == "ai.onnx") return OnnxSignatures();
    if (domain == "ai.onnx.ml") return MlSignatures();
    if (domain == "ai.onnx.preview.training") return TrainingSignatures();
    if (domain == "com.microsoft") return MicrosoftSignatures();
    if (domain == fuse::kDomain) return FusedSignatures();
    return {};
  }();
  const auto before = [](const Signature& row, std::string_view name) { return row.op_type < name; };
  const auto after = [](std::string_view name, const Signature& row) { return name < row.op_type; };
  const auto first = std::lower_bound(table.begin(), table.end(), op_type, before);
  return {first, std::upper_bound(first, table.end(), op_type, after)};
}

}  // namespace epiphyte::kit
