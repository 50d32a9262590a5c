// QuantizeLinear and DynamicQuantizeLinear: y = saturate(round(x / scale) + zero point).
#include <cmath>

#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/quantized/quantization.h"
#include "plugins/cpu/simd/convert/quantize.h"

namespace epiphyte::cpu {
namespace {

class QuantizeLinearKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit QuantizeLinearKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", 1)),
        block_(init.node().Int("block_size", 0)),
        type_(static_cast<ElementType>(init.node().Int("output_dtype", EP_TYPE_UNDEFINED))) {
    options_.saturate = init.node().Int("saturate", 1) != 0;
  }

  void Run(OpContext& context) const override {
    const Tensor& scale = context.Input(1);
    const Tensor* zero = context.OptionalInput(2);
    ElementType type = zero != nullptr ? zero->type : type_;
    if (type == EP_TYPE_UNDEFINED) type = EP_TYPE_UINT8;
    const Tensor& x = ElementsInput(context, scale.Count() == 1 && block_ == 0 && Contains(kByteTypes, type));
    const ScaleRows rows(x.dims, scale.dims, axis_, block_);
    const float* scales = ScaleFloats(context, scale);
    const float* zeros = ZeroPointFloats(context, zero, scale);
    Tensor& y = context.State<OutputInOrder>().Make(context, x, type);
    switch (type) {
      case EP_TYPE_UINT8: return ToIntegers<uint8_t>(context, rows, x, scales, zeros, y);
      case EP_TYPE_INT8: return ToIntegers<int8_t>(context, rows, x, scales, zeros, y);
      case EP_TYPE_UINT16: return ToIntegers<uint16_t>(context, rows, x, scales, zeros, y);
      case EP_TYPE_INT16: return ToIntegers<int16_t>(context, rows, x, scales, zeros, y);
      default: return ThroughFloats(context, rows, x, scales, zeros, y);
    }
  }

 private:
  // Calls body(x, offset, n, parameter, stride) with pieces of x as floats.
  template <typename Body>
  static void ForEachPiece(OpContext& context, const ScaleRows& rows, const Tensor& x, const Body& body) {
    ParallelLoop(context, rows.rows(), rows.row_size() * 2, [&](int64_t begin, int64_t end) {
      float buffer[kConvertChunk];
      for (int64_t i = begin; i < end; ++i) {
        const ScaleRows::Row row = rows.Get(i);
        if (x.type == EP_TYPE_FLOAT) {
          body(x.as<float>() + row.offset, row.offset, row.count, row.parameter, row.stride);
          continue;
        }
        for (int64_t at = 0; at < row.count; at += kConvertChunk) {
          const int64_t n = std::min(kConvertChunk, row.count - at);
          LoadFloats(x, row.offset + at, n, buffer);
          body(buffer, row.offset + at, n, row.parameter + at * row.stride, row.stride);
        }
      }
    });
  }

  template <typename Q>
  static void ToIntegers(OpContext& context, const ScaleRows& rows, const Tensor& x, const float* scales,
                         const float* zeros, Tensor& y) {
    ForEachPiece(context, rows, x, [&](const float* from, int64_t offset, int64_t n, int64_t p, int64_t stride) {
      simd::QuantizeRow(from, y.as<Q>() + offset, n, scales + p, zeros + p, stride);
    });
  }

  // For packed and 8-bit float types: computes the scaled values first; the conversion then rounds and saturates.
  void ThroughFloats(OpContext& context, const ScaleRows& rows, const Tensor& x, const float* scales,
                     const float* zeros, Tensor& y) const {
    const int64_t count = x.Count();
    const bool integer =
        y.type == EP_TYPE_UINT4 || y.type == EP_TYPE_INT4 || y.type == EP_TYPE_UINT2 || y.type == EP_TYPE_INT2;
    float* scaled = static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    ForEachPiece(context, rows, x, [&](const float* from, int64_t offset, int64_t n, int64_t p, int64_t stride) {
      for (int64_t i = 0; i < n; ++i) {
        const float value = from[i] / scales[p + i * stride];
        scaled[offset + i] = (integer ? std::nearbyint(value) : value) + zeros[p + i * stride];
      }
    });
    for (int64_t at = 0; at < count; at += kConvertChunk) {
      StoreFloats(scaled + at, at, std::min(kConvertChunk, count - at), y, options_);
    }
  }

  int64_t axis_;
  int64_t block_;
  ElementType type_;
  ConvertOptions options_;
};

class DynamicQuantizeLinearKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit DynamicQuantizeLinearKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& x = ElementsInput(context, true);
    Tensor& y = context.State<OutputInOrder>().Make(context, x, EP_TYPE_UINT8);
    float& scale = *context.Output(1, EP_TYPE_FLOAT, {}).as<float>();
    uint8_t& zero = *context.Output(2, EP_TYPE_UINT8, {}).as<uint8_t>();
    const auto [low, high] = RangeOf(context, x);
    // If all values are zero, any scale except zero is correct.
    scale = high == low ? 1.0f : (high - low) / 255.0f;
    constexpr float kNoZero = 0;
    const float lowest = -low;
    simd::QuantizeRow(&lowest, &zero, 1, &scale, &kNoZero, 0);
    const float zero_value = zero;
    ParallelLoop(context, x.Count(), 2, [&](int64_t begin, int64_t end) {
      simd::QuantizeRow(x.as<float>() + begin, y.as<uint8_t>() + begin, end - begin, &scale, &zero_value, 0);
    });
  }

 private:
  // Computes the range of each piece, then the range of all pieces.
  static simd::Range RangeOf(OpContext& context, const Tensor& x) {
    constexpr int64_t kMostPieces = 64;
    const int64_t count = x.Count();
    const int64_t size = std::max<int64_t>((count + kMostPieces - 1) / kMostPieces, 2 * kGrain);
    const int64_t pieces = (count + size - 1) / size;
    if (pieces <= 1) return simd::RangeWithZero(x.as<float>(), count);
    float ends[2 * kMostPieces];
    ParallelLoop(context, pieces, size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const simd::Range range = simd::RangeWithZero(x.as<float>() + i * size, std::min(size, count - i * size));
        ends[2 * i] = range.low;
        ends[2 * i + 1] = range.high;
      }
    });
    return simd::RangeWithZero(ends, 2 * pieces);
  }
};

}  // namespace

void Register_quantize_linear(KernelRegistry& registry) {
  registry.Add<QuantizeLinearKernel>("QuantizeLinear", 10, kFloats | Types(EP_TYPE_INT32));
  registry.Add<DynamicQuantizeLinearKernel>("DynamicQuantizeLinear", 11, Types(EP_TYPE_FLOAT));
}

}  // namespace epiphyte::cpu
