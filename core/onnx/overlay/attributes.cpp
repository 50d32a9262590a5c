// Attributes of operators and versions that the installed libonnx doesn't know.
#include <algorithm>
#include <array>
#include <tuple>

#include "core/onnx/schema/overlay.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kOnnxMl = "ai.onnx.ml";

struct AttributesRow {
  std::string_view op_type;
  int32_t since_version;  // first version; applies until the operator's next row
  std::string_view attributes;
  std::string_view domain = "";
};

constexpr std::string_view kReductionAttributes = "keepdims:i noop_with_empty_axes:i";
constexpr std::string_view kAttentionAttributes =
    "is_causal:i kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i";

// All attributes of the version. Sorted by operator, then by version.
constexpr auto kAttributesRows = std::to_array<AttributesRow>({
    {"AffineGrid", 20, "align_corners:i"},
    {"Attention", 23, kAttentionAttributes},
    {"AveragePool", 19, "auto_pad:s ceil_mode:i count_include_pad:i dilations:I kernel_shape:I pads:I strides:I"},
    {"BitCast", 26, "to:i"},
    {"BitwiseAnd", 18, ""},
    {"BitwiseNot", 18, ""},
    {"BitwiseOr", 18, ""},
    {"BitwiseXor", 18, ""},
    {"Cast", 19, "saturate:i to:i"},
    {"Cast", 24, "round_mode:s saturate:i to:i"},
    {"CastLike", 19, "saturate:i"},
    {"CastLike", 24, "round_mode:s saturate:i"},
    {"CenterCropPad", 18, "axes:I"},
    {"Col2Im", 18, "dilations:I pads:I strides:I"},
    {"CumProd", 26, "exclusive:i reverse:i"},
    {"DFT", 20, "inverse:i onesided:i"},
    {"DeformConv", 19, "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I"},
    {"DequantizeLinear", 19, "axis:i"},
    {"DequantizeLinear", 21, "axis:i block_size:i"},
    {"DequantizeLinear", 23, "axis:i block_size:i output_dtype:i"},
    {"Gelu", 20, "approximate:s"},
    {"GroupNormalization", 18, "epsilon:f num_groups:i"},
    {"GroupNormalization", 21, "epsilon:f num_groups:i stash_type:i"},
    {"ImageDecoder", 20, "pixel_format:s"},
    {"LabelEncoder", 4,
     "default_float:f default_int64:i default_string:s default_tensor:t keys_floats:F keys_int64s:I keys_strings:S "
     "keys_tensor:t values_floats:F values_int64s:I values_strings:S values_tensor:t",
     kOnnxMl},
    {"LpPool", 18, "auto_pad:s ceil_mode:i dilations:I kernel_shape:I p:i pads:I strides:I"},
    {"Mish", 18, ""},
    {"QuantizeLinear", 19, "axis:i saturate:i"},
    {"QuantizeLinear", 21, "axis:i block_size:i output_dtype:i saturate:i"},
    {"QuantizeLinear", 23, "axis:i block_size:i output_dtype:i precision:i saturate:i"},
    {"RMSNormalization", 23, "axis:i epsilon:f stash_type:i"},
    {"ReduceL1", 18, kReductionAttributes},
    {"ReduceL2", 18, kReductionAttributes},
    {"ReduceLogSum", 18, kReductionAttributes},
    {"ReduceLogSumExp", 18, kReductionAttributes},
    {"ReduceMax", 18, kReductionAttributes},
    {"ReduceMean", 18, kReductionAttributes},
    {"ReduceMin", 18, kReductionAttributes},
    {"ReduceProd", 18, kReductionAttributes},
    {"ReduceSumSquare", 18, kReductionAttributes},
    {"RegexFullMatch", 20, "pattern:s"},
    {"Resize", 18,
     "antialias:i axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f "
     "keep_aspect_ratio_policy:s mode:s nearest_mode:s"},
    {"RotaryEmbedding", 23, "interleaved:i num_heads:i rotary_embedding_dim:i"},
    {"Split", 18, "axis:i num_outputs:i"},
    {"StringConcat", 20, ""},
    {"StringSplit", 20, "delimiter:s maxsplit:i"},
    {"Swish", 24, "alpha:f"},
    {"TensorScatter", 24, "axis:i mode:s"},
    {"TreeEnsemble", 5,
     "aggregate_function:i leaf_targetids:I leaf_weights:t membership_values:t n_targets:i nodes_falseleafs:I "
     "nodes_falsenodeids:I nodes_featureids:I nodes_hitrates:t nodes_missing_value_tracks_true:I nodes_modes:t "
     "nodes_splits:t nodes_trueleafs:I nodes_truenodeids:I post_transform:i tree_roots:I",
     kOnnxMl},
});

constexpr bool ComesBefore(const AttributesRow& a, const AttributesRow& b) {
  return std::tie(a.op_type, a.since_version) < std::tie(b.op_type, b.since_version);
}
static_assert(std::ranges::is_sorted(kAttributesRows, ComesBefore));

}  // namespace

std::optional<std::string_view> OverlayAttributes(std::string_view domain, std::string_view op_type,
                                                  int64_t since_version) {
  std::optional<std::string_view> found;
  auto row = std::ranges::lower_bound(kAttributesRows, op_type, {}, &AttributesRow::op_type);
  for (; row != std::end(kAttributesRows) && row->op_type == op_type; ++row) {
    if (row->domain == domain && row->since_version <= since_version) found = row->attributes;
  }
  return found;
}

}  // namespace epiphyte::core
