// DequantizeLinear: y = (x - zero point) * scale.
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/quantized/quantization.h"
#include "plugins/cpu/simd/convert/quantize.h"

namespace epiphyte::cpu {
namespace {

class DequantizeLinearKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit DequantizeLinearKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", 1)),
        block_(init.node().Int("block_size", 0)),
        type_(static_cast<ElementType>(init.node().Int("output_dtype", EP_TYPE_UNDEFINED))) {}

  void Run(OpContext& context) const override {
    const Tensor& scale = context.Input(1);
    const ElementType type = type_ == EP_TYPE_UNDEFINED ? scale.type : type_;
    const Tensor& x = ElementsInput(context, scale.Count() == 1 && block_ == 0 && type == EP_TYPE_FLOAT);
    const Tensor* zero = context.OptionalInput(2);
    if (zero != nullptr && zero->type != x.type) {
      FailOp("zero point is {}, expected {} as the input", TypeName(zero->type), TypeName(x.type));
    }
    const ScaleRows rows(x.dims, scale.dims, axis_, block_);
    const float* scales = ScaleFloats(context, scale);
    const float* zeros = ZeroPointFloats(context, zero, scale);
    if (type < 0 || type >= 64 || (kFloats & TypeBit(type)) == 0) {
      FailOp("output would be {}, expected a float type", TypeName(type));
    }
    Tensor& y = context.State<OutputInOrder>().Make(context, x, type);
    if (y.type == EP_TYPE_FLOAT && x.type == EP_TYPE_UINT8) return Fast<uint8_t>(context, rows, x, scales, zeros, y);
    if (y.type == EP_TYPE_FLOAT && x.type == EP_TYPE_INT8) return Fast<int8_t>(context, rows, x, scales, zeros, y);
    ParallelLoop(context, rows.rows(), rows.row_size() * 8, [&](int64_t begin, int64_t end) {
      float from[kConvertChunk];
      float to[kConvertChunk];
      for (int64_t i = begin; i < end; ++i) {
        const ScaleRows::Row row = rows.Get(i);
        for (int64_t at = 0; at < row.count; at += kConvertChunk) {
          const int64_t n = std::min(kConvertChunk, row.count - at);
          const int64_t p = row.parameter + at * row.stride;
          LoadFloats(x, row.offset + at, n, from);
          simd::DequantizeRow(from, to, n, scales + p, zeros + p, row.stride);
          StoreFloats(to, row.offset + at, n, y);
        }
      }
    });
  }

 private:
  template <typename Q>
  static void Fast(OpContext& context, const ScaleRows& rows, const Tensor& x, const float* scales, const float* zeros,
                   Tensor& y) {
    ParallelLoop(context, rows.rows(), rows.row_size(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const ScaleRows::Row row = rows.Get(i);
        simd::DequantizeRow(x.as<Q>() + row.offset, y.as<float>() + row.offset, row.count, scales + row.parameter,
                            zeros + row.parameter, row.stride);
      }
    });
  }

  int64_t axis_;
  int64_t block_;
  ElementType type_;
};

}  // namespace

void Register_dequantize_linear(KernelRegistry& registry) {
  constexpr TypeSet kTypes =
      kIntegers | Types(EP_TYPE_UINT4, EP_TYPE_INT4, EP_TYPE_UINT2, EP_TYPE_INT2, EP_TYPE_FLOAT4E2M1,
                        EP_TYPE_FLOAT8E4M3FN, EP_TYPE_FLOAT8E4M3FNUZ, EP_TYPE_FLOAT8E5M2, EP_TYPE_FLOAT8E5M2FNUZ);
  registry.Add<DequantizeLinearKernel>("DequantizeLinear", 10, kTypes);
}

}  // namespace epiphyte::cpu
