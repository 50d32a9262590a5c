// ConvInteger and QLinearConv: convolutions of 8-bit tensors with zero points, in any number of dimensions. Patches of
// the input become columns of a matrix, without their zero point, so that padding is 0.
#include <vector>

#include "epiphyte/kit/qdq/integer_product.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/ops/quantized/integer_product.h"
#include "plugins/cpu/simd/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kPositions = 256;  // output positions that are computed together

// Where tap `tap` of the kernel reads for output position `position`, or -1 in the padding.
int64_t SourceIndex(const kit::ConvolutionShape& shape, int64_t position, int64_t tap) {
  const kit::Window& w = shape.window;
  int64_t index = 0, stride = 1;
  for (size_t d = shape.spatial(); d-- > 0;) {
    const int64_t size = shape.x[d + 2];
    const int64_t at = position % w.output[d] * w.strides[d] - w.pads_begin[d] + tap % w.kernel[d] * w.dilations[d];
    if (at < 0 || at >= size) return -1;
    index += at * stride;
    stride *= size;
    position /= w.output[d];
    tap /= w.kernel[d];
  }
  return index;
}

// Calls store(filter, offset, n, sums) with sums for the output elements [offset, offset + n).
template <typename Store>
void Convolve(OpContext& context, const kit::ConvolutionShape& shape, const Tensor& x, int32_t x_zero, const Tensor& w,
              const Tensor* w_zero, const Store& store) {
  const int64_t taps = shape.taps();
  const int64_t depth = shape.in_per_group() * taps;
  const int64_t plane = shape.in_positions(), positions = shape.positions();
  auto* weights = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(shape.filters() * depth) * 4));
  for (int64_t filter = 0; filter < shape.filters(); ++filter) {
    const int32_t zero = w_zero == nullptr ? 0 : ByteAt(*w_zero, w_zero->Count() == 1 ? 0 : filter);
    SubtractZero(w, filter * depth, depth, zero, weights + filter * depth);
  }
  const int64_t blocks = (positions + kPositions - 1) / kPositions;
  const int64_t filters = shape.filters_per_group();
  // One set of buffers for each thread would do, but a share doesn't know its thread: one at a time, each in parallel.
  auto* columns = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(depth * kPositions) * 4));
  auto* sums = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(filters * kPositions) * 4));
  for (int64_t item = 0; item < shape.x[0] * shape.group * blocks; ++item) {
    const int64_t first = item % blocks * kPositions;
    const int64_t n = std::min(kPositions, positions - first);
    const int64_t image = item / blocks / shape.group;
    const int64_t group = item / blocks % shape.group;
    const int64_t source = (image * shape.x[1] + group * shape.in_per_group()) * plane;
    ParallelLoop(context, depth, n * 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t channel = source + row / taps * plane;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = SourceIndex(shape, first + i, row % taps);
          columns[row * n + i] = at < 0 ? 0u : static_cast<uint32_t>(ByteAt(x, channel + at) - x_zero);
        }
      }
    });
    ParallelLoop(context, filters, depth * n, [&](int64_t begin, int64_t end) {
      std::fill_n(sums + begin * n, (end - begin) * n, 0u);
      simd::TileMatMul(weights + (group * filters + begin) * depth, depth, columns, n, sums + begin * n, n, end - begin,
                       n, depth);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t filter = group * filters + i;
        store(filter, (image * shape.filters() + filter) * positions + first, n,
              reinterpret_cast<const int32_t*>(sums + i * n));
      }
    });
  }
}

class ConvIntegerKernel : public Kernel {
 public:
  explicit ConvIntegerKernel(const KernelInit& init)
      : attributes_(kit::WindowAttributes::Read(init.node())), group_(init.node().Int("group", 1)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    RequireBytes(x, "x");
    RequireBytes(w, "w");
    const Tensor* x_zero = OptionalParameter(context, 2, "x_zero_point", kByteTypes);
    const kit::ConvolutionShape shape(attributes_, x.dims, w.dims, group_);
    const Tensor* w_zero = nullptr;
    if (context.HasInput(3))
      w_zero = &ParameterPerItem(context, 3, "w_zero_point", shape.filters(), "filter", kByteTypes);
    int32_t* y = context.Output(0, EP_TYPE_INT32, shape.y).as<int32_t>();
    Convolve(context, shape, x, x_zero == nullptr ? 0 : ByteAt(*x_zero, 0), w, w_zero,
             [&](int64_t, int64_t offset, int64_t n, const int32_t* sums) { std::copy_n(sums, n, y + offset); });
  }

 private:
  kit::WindowAttributes attributes_;
  int64_t group_;
};

class QLinearConvKernel : public Kernel {
 public:
  explicit QLinearConvKernel(const KernelInit& init)
      : attributes_(kit::WindowAttributes::Read(init.node())), group_(init.node().Int("group", 1)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(3);
    const float x_scale = FloatParameter(context, 1, "x_scale");
    const Tensor& x_zero = Parameter(context, 2, "x_zero_point", kByteTypes);
    const float y_scale = FloatParameter(context, 6, "y_scale");
    const Tensor& y_zero = Parameter(context, 7, "y_zero_point", kByteTypes);
    const Tensor* bias = context.OptionalInput(8);
    RequireBytes(x, "x");
    RequireBytes(w, "w");
    const kit::ConvolutionShape shape(attributes_, x.dims, w.dims, group_);
    const Tensor& w_scale = ParameterPerItem(context, 4, "w_scale", shape.filters(), "filter", kFloats);
    const Tensor& w_zero = ParameterPerItem(context, 5, "w_zero_point", shape.filters(), "filter", kByteTypes);
    if (bias != nullptr && (bias->type != EP_TYPE_INT32 || bias->Count() != shape.filters())) {
      FailOp("bias has shape {} and type {}, expected [{}] of int32", ShapeText(bias->dims), TypeName(bias->type),
             shape.filters());
    }
    Tensor& y = context.Output(0, y_zero.type, shape.y);
    const float zero = ParameterAt(y_zero, 0);
    Convolve(context, shape, x, ByteAt(x_zero, 0), w, &w_zero,
             [&](int64_t filter, int64_t offset, int64_t n, const int32_t* sums) {
               const float factor = kit::qdq::RequantizationFactor(x_scale, ParameterAt(w_scale, filter), y_scale);
               const uint32_t add = bias == nullptr ? 0u : static_cast<uint32_t>(bias->as<int32_t>()[filter]);
               for (int64_t i = 0; i < n; ++i) {
                 const auto sum = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + add);
                 StoreRequantized(y, offset + i, sum, factor, zero);
               }
             });
  }

 private:
  kit::WindowAttributes attributes_;
  int64_t group_;
};

}  // namespace

void Register_integer_conv(KernelRegistry& registry) {
  constexpr TypeSet kBytes = Types(EP_TYPE_INT8, EP_TYPE_UINT8);
  registry.Add<ConvIntegerKernel>("ConvInteger", 10, kBytes);
  registry.Add<QLinearConvKernel>("QLinearConv", 10, kBytes);
}

}  // namespace epiphyte::cpu
