// ConvInteger and QLinearConv: convolutions of 8-bit tensors with zero points, in any number of dimensions. Patches of
// the input become columns of a matrix, without their zero point, so that padding is 0.
#include <vector>

#include "plugins/cpu/onednn/window.h"
#include "plugins/cpu/ops/quantized/integer_product.h"
#include "plugins/cpu/simd/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kPositions = 256;  // output positions that are computed together

// A convolution of shapes that are known.
struct ConvShape {
  int64_t batch, channels, filters, groups;
  int64_t positions;  // of the output, for one filter
  int64_t taps;       // of the kernel, for one channel
  Dims in, y;
  Window window;

  int64_t group_channels() const { return channels / groups; }
  int64_t group_filters() const { return filters / groups; }
};

class ConvAttributes {
 public:
  explicit ConvAttributes(const NodeDef& node) : window_(WindowAttributes::Read(node)), groups_(node.Int("group", 1)) {}

  ConvShape Resolve(const Dims& x, const Dims& w) const {
    if (x.size() < 3 || w.size() != x.size()) {
      FailOp("input {} and weights {}, expected [N,C,...] and [M,C/group,...]", ShapeText(x), ShapeText(w));
    }
    if (groups_ <= 0 || x[1] % groups_ != 0 || w[0] % groups_ != 0 || w[1] != x[1] / groups_) {
      FailOp("input {}, weights {} and group {} do not fit", ShapeText(x), ShapeText(w), groups_);
    }
    ConvShape shape;
    shape.batch = x[0], shape.channels = x[1], shape.filters = w[0], shape.groups = groups_;
    shape.in = Dims(std::span<const int64_t>(x).subspan(2));
    shape.window = Window::OfKernel(window_, std::span<const int64_t>(w).subspan(2), shape.in);
    shape.y = shape.window.OutputDims(x[0], w[0]);
    shape.positions = shape.window.output.Count();
    shape.taps = shape.window.kernel.Count();
    return shape;
  }

 private:
  WindowAttributes window_;
  int64_t groups_;
};

// Where tap `tap` of the kernel reads for output position `position`, or -1 in the padding.
int64_t SourceIndex(const ConvShape& shape, int64_t position, int64_t tap) {
  const Window& w = shape.window;
  int64_t index = 0, stride = 1;
  for (size_t d = shape.in.size(); d-- > 0;) {
    const int64_t at = position % w.output[d] * w.strides[d] - w.pads_begin[d] + tap % w.kernel[d] * w.dilations[d];
    if (at < 0 || at >= shape.in[d]) return -1;
    index += at * stride;
    stride *= shape.in[d];
    position /= w.output[d];
    tap /= w.kernel[d];
  }
  return index;
}

// Calls store(filter, offset, n, sums) with sums for the output elements [offset, offset + n).
template <typename Store>
void Convolve(OpContext& context, const ConvShape& shape, const Tensor& x, int32_t x_zero, const Tensor& w,
              const Tensor* w_zero, const Store& store) {
  const int64_t depth = shape.group_channels() * shape.taps;
  const int64_t plane = shape.in.Count();
  auto* weights = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(shape.filters * depth) * 4));
  for (int64_t filter = 0; filter < shape.filters; ++filter) {
    const int32_t zero = w_zero == nullptr ? 0 : ByteAt(*w_zero, w_zero->Count() == 1 ? 0 : filter);
    SubtractZero(w, filter * depth, depth, zero, weights + filter * depth);
  }
  const int64_t blocks = (shape.positions + kPositions - 1) / kPositions;
  const int64_t filters = shape.group_filters();
  // One set of buffers for each thread would do, but a share doesn't know its thread: one at a time, each in parallel.
  auto* columns = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(depth * kPositions) * 4));
  auto* sums = static_cast<uint32_t*>(context.Scratch(static_cast<uint64_t>(filters * kPositions) * 4));
  for (int64_t item = 0; item < shape.batch * shape.groups * blocks; ++item) {
    const int64_t first = item % blocks * kPositions;
    const int64_t n = std::min(kPositions, shape.positions - first);
    const int64_t image = item / blocks / shape.groups;
    const int64_t group = item / blocks % shape.groups;
    const int64_t source = (image * shape.channels + group * shape.group_channels()) * plane;
    ParallelLoop(context, depth, n * 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t channel = source + row / shape.taps * plane;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = SourceIndex(shape, first + i, row % shape.taps);
          columns[row * n + i] = at < 0 ? 0u : static_cast<uint32_t>(ByteAt(x, channel + at) - x_zero);
        }
      }
    });
    ParallelLoop(context, filters, depth * n, [&](int64_t begin, int64_t end) {
      std::fill_n(sums + begin * n, (end - begin) * n, 0u);
      TileMatMul(weights + (group * filters + begin) * depth, depth, columns, n, sums + begin * n, n, end - begin, n,
                 depth);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t filter = group * filters + i;
        store(filter, (image * shape.filters + filter) * shape.positions + first, n,
              reinterpret_cast<const int32_t*>(sums + i * n));
      }
    });
  }
}

class ConvIntegerKernel : public Kernel {
 public:
  explicit ConvIntegerKernel(const KernelInit& init) : attributes_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    RequireBytes(x, "x");
    RequireBytes(w, "w");
    const Tensor* x_zero = OptionalParameter(context, 2, "x_zero_point", kByteTypes);
    const ConvShape shape = attributes_.Resolve(x.dims, w.dims);
    const Tensor* w_zero = nullptr;
    if (context.HasInput(3))
      w_zero = &ParameterPerItem(context, 3, "w_zero_point", shape.filters, "filter", kByteTypes);
    int32_t* y = context.Output(0, EP_TYPE_INT32, shape.y).as<int32_t>();
    Convolve(context, shape, x, x_zero == nullptr ? 0 : ByteAt(*x_zero, 0), w, w_zero,
             [&](int64_t, int64_t offset, int64_t n, const int32_t* sums) { std::copy_n(sums, n, y + offset); });
  }

 private:
  ConvAttributes attributes_;
};

class QLinearConvKernel : public Kernel {
 public:
  explicit QLinearConvKernel(const KernelInit& init) : attributes_(init.node()) {}

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
    const ConvShape shape = attributes_.Resolve(x.dims, w.dims);
    const Tensor& w_scale = ParameterPerItem(context, 4, "w_scale", shape.filters, "filter", kFloats);
    const Tensor& w_zero = ParameterPerItem(context, 5, "w_zero_point", shape.filters, "filter", kByteTypes);
    if (bias != nullptr && (bias->type != EP_TYPE_INT32 || bias->Count() != shape.filters)) {
      FailOp("bias has shape {} and type {}, expected [{}] of int32", ShapeText(bias->dims), TypeName(bias->type),
             shape.filters);
    }
    Tensor& y = context.Output(0, y_zero.type, shape.y);
    const float scale = x_scale / y_scale;
    const float zero = ParameterAt(y_zero, 0);
    Convolve(context, shape, x, ByteAt(x_zero, 0), w, &w_zero,
             [&](int64_t filter, int64_t offset, int64_t n, const int32_t* sums) {
               const float factor = scale * ParameterAt(w_scale, filter);
               const uint32_t add = bias == nullptr ? 0u : static_cast<uint32_t>(bias->as<int32_t>()[filter]);
               for (int64_t i = 0; i < n; ++i) {
                 const auto sum = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + add);
                 StoreRequantized(y, offset + i, sum, factor, zero);
               }
             });
  }

 private:
  ConvAttributes attributes_;
};

}  // namespace

void Register_integer_conv(KernelRegistry& registry) {
  constexpr TypeSet kBytes = Types(EP_TYPE_INT8, EP_TYPE_UINT8);
  registry.Add<ConvIntegerKernel>("ConvInteger", 10, kBytes);
  registry.Add<QLinearConvKernel>("QLinearConv", 10, kBytes);
}

}  // namespace epiphyte::cpu
