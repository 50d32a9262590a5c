// ConvInteger and QLinearConv: convolutions of 8-bit tensors with zero points, in any number of dimensions; and the
// kit's QLinearConv with bounded results (epiphyte/kit/fuse/operators.hpp). Channels-last patches of the input are the
// rows of a GEMM; padding has the value of the zero point.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/ops/quantized/byte_multiply.h"
#include "plugins/cpu/ops/quantized/channels_last.h"
#include "plugins/cpu/ops/quantized/integer_product.h"
#include "plugins/cpu/simd/window/byte_rows.h"

namespace epiphyte::cpu {
namespace {

// Patches: a row for each output position, with a group's channels for each tap.
class PatchRows final : public ByteRows {
 public:
  // `x` is [N, positions…, C].
  PatchRows(const kit::ConvolutionShape& shape, const uint8_t* x, bool flips, uint8_t padding)
      : shape_(shape), x_(x), flips_(flips), padding_(padding) {
    products = shape.group;
    rows = shape.x[0] * shape.positions();
    k = shape.in_per_group() * shape.taps();
    const kit::Window& w = shape.window;
    in_place = !flips && k % 4 == 0;
    for (size_t d = 0; d < shape.spatial(); ++d)
      in_place =
          in_place && w.kernel[d] == 1 && w.strides[d] == 1 && w.output[d] == shape.x[d + 2] && w.pads_begin[d] == 0;
    bool has_inside = !in_place && k > 0;
    for (size_t d = 0; d < shape.spatial(); ++d) {
      inside_.push_back(PositionsInside(w, d, shape.x[d + 2]));
      has_inside = has_inside && inside_[d].first < inside_[d].end;
    }
    if (has_inside) FindPieces();
  }

  Piece Get(int64_t group, int64_t row, int64_t count, uint8_t* buffer) const override {
    const int64_t channels = shape_.x[1];
    const uint8_t* const x = x_ + group * shape_.in_per_group();
    if (in_place) return {x + row * channels, channels};
    const size_t spatial = shape_.spatial();
    const int64_t stride = simd::ByteSteps(k) * 4, positions = shape_.positions();
    Dims at(spatial, 0);
    for (int64_t rest = row % positions, d = static_cast<int64_t>(spatial) - 1; d >= 0; --d) {
      at[static_cast<size_t>(d)] = rest % shape_.window.output[static_cast<size_t>(d)];
      rest /= shape_.window.output[static_cast<size_t>(d)];
    }
    const uint8_t* image = x + row / positions * shape_.in_positions() * channels;
    const size_t last = spatial - 1;
    bool is_line_inside = IsLineInside(at);
    for (int64_t r = 0; r < count; ++r) {
      uint8_t* to = buffer + r * stride;
      uint8_t* const end = to + stride;
      if (is_line_inside && inside_[last].Has(at[last])) {
        to = CopyPieces(image + StartOf(at), to);
      } else {
        to = CopyPatch(image, at, to);
      }
      while (to < end) *to++ = 0;  // multiplied by weights of 0
      size_t d = spatial;
      while (d > 0 && ++at[d - 1] == shape_.window.output[d - 1]) at[--d] = 0;
      if (d == 0) image += shape_.in_positions() * channels;
      if (d != spatial) is_line_inside = IsLineInside(at);
    }
    if (flips_) simd::FlipBytes(buffer, buffer, count * stride);
    return {buffer, stride};
  }

 private:
  // True when windows at this position are inside the input in all dimensions except the last.
  bool IsLineInside(const Dims& at) const {
    for (size_t d = 0; d + 1 < at.size(); ++d)
      if (!inside_[d].Has(at[d])) return false;
    return true;
  }
  // Byte offset of a window inside an image.
  int64_t StartOf(const Dims& at) const {
    const kit::Window& w = shape_.window;
    int64_t start = 0;
    for (size_t d = 0; d < at.size(); ++d) start = start * shape_.x[d + 2] + at[d] * w.strides[d] - w.pads_begin[d];
    return start * shape_.x[1];
  }
  void FindPieces() {
    const kit::Window& w = shape_.window;
    const size_t last = shape_.spatial() - 1;
    const bool together = shape_.in_per_group() == shape_.x[1] && w.dilations[last] == 1;
    piece_ = shape_.in_per_group() * (together ? w.kernel[last] : 1);
    const int64_t step = together ? w.kernel[last] : 1;
    for (int64_t tap = 0; tap < shape_.taps(); tap += step) {
      int64_t offset = 0, stride = shape_.x[1], rest = tap;
      for (size_t d = last + 1; d-- > 0;) {
        offset += rest % w.kernel[d] * w.dilations[d] * stride;
        rest /= w.kernel[d];
        stride *= shape_.x[d + 2];
      }
      pieces_.push_back(offset);
    }
  }
  // Copies each piece as two parts of kHalf bytes, which may overlap.
  template <size_t kHalf>
  uint8_t* CopyHalves(const uint8_t* from, uint8_t* to) const {
    const int64_t second = piece_ - static_cast<int64_t>(kHalf);
    for (const int64_t piece : pieces_) {
      std::array<uint8_t, kHalf> begin, end;
      std::memcpy(begin.data(), from + piece, kHalf);
      std::memcpy(end.data(), from + piece + second, kHalf);
      std::memcpy(to, begin.data(), kHalf);
      std::memcpy(to + second, end.data(), kHalf);
      to += piece_;
    }
    return to;
  }
  // Copies the window at `from` and returns the end of the copy. For pieces of a few bytes, avoiding a call is far
  // faster.
  uint8_t* CopyPieces(const uint8_t* from, uint8_t* to) const {
    if (piece_ >= 8 && piece_ <= 64)
      return piece_ <= 16   ? CopyHalves<8>(from, to)
             : piece_ <= 32 ? CopyHalves<16>(from, to)
                            : CopyHalves<32>(from, to);
    for (const int64_t piece : pieces_) {
      std::memcpy(to, from + piece, static_cast<size_t>(piece_));
      to += piece_;
    }
    return to;
  }

  // Copies a window that is partly outside, and returns the end of the copy.
  uint8_t* CopyPatch(const uint8_t* image, const Dims& at, uint8_t* to) const {
    const kit::Window& w = shape_.window;
    const size_t last = shape_.spatial() - 1;
    const int64_t channels = shape_.x[1], depth = shape_.in_per_group(), width = shape_.x[last + 2];
    const kit::Taps along = w.TapsInside(last, at[last], width);
    const int64_t inside = along.count, before = std::min(along.skipped, w.kernel[last]);
    const int64_t behind = w.kernel[last] - before - inside;
    const bool together = depth == channels && w.dilations[last] == 1;
    const int64_t lines = shape_.taps() / std::max<int64_t>(w.kernel[last], 1);
    for (int64_t line = 0; line < lines; ++line) {
      // Position of the line of taps in all dimensions except the last.
      int64_t offset = 0, rest = line, stride = 1;
      bool is_inside = inside > 0;
      for (size_t d = last; d-- > 0;) {
        const int64_t position = at[d] * w.strides[d] - w.pads_begin[d] + rest % w.kernel[d] * w.dilations[d];
        rest /= w.kernel[d];
        is_inside = is_inside && position >= 0 && position < shape_.x[d + 2];
        offset += position * stride;
        stride *= shape_.x[d + 2];
      }
      if (!is_inside) {
        to = std::fill_n(to, w.kernel[last] * depth, padding_);
        continue;
      }
      to = std::fill_n(to, before * depth, padding_);
      const uint8_t* from = image + (offset * width + along.first) * channels;
      if (together) {
        to = std::copy_n(from, inside * depth, to);
      } else {
        for (int64_t t = 0; t < inside; ++t, from += w.dilations[last] * channels) to = std::copy_n(from, depth, to);
      }
      to = std::fill_n(to, behind * depth, padding_);
    }
    return to;
  }

  const kit::ConvolutionShape& shape_;
  const uint8_t* x_;
  bool flips_;
  uint8_t padding_;                    // value before the sign bit is flipped
  std::vector<PositionRange> inside_;  // by dimension
  // Pieces of a window inside the input: byte offsets from the window's start, and the common size.
  std::vector<int64_t> pieces_;
  int64_t piece_ = 0;
};

// Optional zero points of the convolutions and GEMMs without a result scale.
struct ZeroPoints {
  int32_t x = 0;
  const Tensor* w = nullptr;  // one value, or one for each filter

  ZeroPoints(OpContext& context, int64_t filters) {
    if (const Tensor* zero = OptionalParameter(context, 2, "x_zero_point", kByteTypes)) x = ByteAt(*zero, 0);
    if (context.HasInput(3)) w = &ParameterPerItem(context, 3, "w_zero_point", filters, "filter", kByteTypes);
  }
};

// A byte convolution; constant weights are packed at compile time.
class ByteConvolution {
 public:
  ByteConvolution(const KernelInit& init, size_t w_input, size_t w_zero_input)
      : attributes_(kit::WindowAttributes::Read(init.node())),
        group_(kit::CheckedGroup(init.node().Int("group", 1))),
        w_input_(w_input),
        axis_(init.node().Int("channels_last", 0) != 0 ? ChannelAxis::kLast : ChannelAxis::kSecond) {
    const Tensor* w = init.PeekConstant(w_input);
    if (w == nullptr || !Contains(kByteTypes, w->type) || w->rank() < 3 || w->dims[0] % group_ != 0 || w->Count() == 0)
      return;
    const Tensor* zero = nullptr;
    if (init.HasInput(w_zero_input)) {
      zero = init.Constant(w_zero_input);
      if (zero == nullptr || zero->data == nullptr || zero->type != w->type) return;
      if (zero->Count() != 1 && zero->Count() != w->dims[0]) return;
    }
    w_dims_ = w->dims;
    const BytesToPack bytes = Describe(*w, zero);
    if (group_ >= kLeastDepthwise && w->dims[0] == group_ && w->dims[1] == 1)
      depthwise_ = StoreDepthwiseWeights(init, w_input, bytes);
    if (!depthwise_) packed_ = StoreByteWeights(init, w_input, bytes);
  }

  kit::ConvolutionShape ShapeFor(OpContext& context) const {
    const Tensor& x = axis_ == ChannelAxis::kLast ? context.Input(0) : context.AnyLayoutInput(0);
    RequireBytes(x, "x");
    if (x.rank() < 3) FailOp("x has shape {}, expected at least 3 dimensions", ShapeText(x.dims));
    const Dims dims = WithChannelsSecond(x.dims, axis_);
    if (packed_ || depthwise_) return kit::ConvolutionShape(attributes_, dims, w_dims_, group_);
    const Tensor& w = context.Input(w_input_);
    RequireBytes(w, "w");
    return kit::ConvolutionShape(attributes_, dims, w.dims, group_);
  }
  ChannelAxis axis() const { return axis_; }

  // Writes [N, positions…, filters] to `y`. `finish(weights, output)` configures the output of the sums.
  template <typename Finish>
  void Run(OpContext& context, const kit::ConvolutionShape& shape, int32_t x_zero, const Tensor* w_zero,
           const int32_t* bias, void* y, const Finish& finish) const {
    if (shape.y.Count() == 0) return;
    if (depthwise_) return RunDepthwise(context, shape, x_zero, bias, y, finish);
    const ByteWeights weights = packed_ ? packed_ : PackByteWeights(context, Describe(context.Input(w_input_), w_zero));
    const bool flips = context.AnyLayoutInput(0).type == EP_TYPE_INT8;
    const PatchRows left(shape, ChannelsLast(context, 0, axis_), flips, static_cast<uint8_t>(x_zero));
    ByteOutput output;
    output.y = y;
    output.y_stride = shape.filters();
    output.product_stride = shape.filters_per_group();
    output.start = StartOfSums(context, weights, x_zero + (flips ? 128 : 0), bias);
    finish(weights, output);
    MultiplyBytes(context, left, weights, output);
  }

 private:
  BytesToPack Describe(const Tensor& w, const Tensor* zero) const {
    BytesToPack bytes;
    simd::ByteMatrix& matrix = bytes.first;
    const int64_t taps = w.dims.Count(2, w.rank()), depth = w.dims[1];
    matrix.data = w.as<uint8_t>();
    bytes.is_signed = w.type == EP_TYPE_INT8;
    matrix.flip = bytes.is_signed ? 0 : 0x80;
    matrix.columns = w.dims[0] / group_;
    matrix.column_stride = depth * taps;
    matrix.outer = taps;
    matrix.outer_stride = 1;
    matrix.inner = depth;
    matrix.inner_stride = taps;
    bytes.groups = group_;
    bytes.group_stride = matrix.columns * depth * taps;
    bytes.zero = zero;
    return bytes;
  }

  template <typename Finish>
  void RunDepthwise(OpContext& context, const kit::ConvolutionShape& shape, int32_t x_zero, const int32_t* bias,
                    void* y, const Finish& finish) const {
    const int64_t channels = shape.x[1];
    const bool flips = context.AnyLayoutInput(0).type == EP_TYPE_INT8;
    const uint8_t* const x = ChannelsLast(context, 0, axis_);
    ByteOutput output;
    output.start = StartOfSums(context, depthwise_, x_zero + (flips ? 128 : 0), bias);
    finish(depthwise_, output);
    auto* const outside = static_cast<uint8_t*>(context.Scratch(static_cast<uint64_t>(channels)));
    std::fill_n(outside, channels, static_cast<uint8_t>(x_zero));
    const TapLines taps(shape.window, shape.x);
    simd::ByteDepthwise depthwise;
    depthwise.positions = taps.positions();
    depthwise.channels = channels;
    depthwise.steps = simd::ByteSteps(taps.taps());
    depthwise.flip = flips ? 0x80 : 0;
    depthwise.weights = depthwise_.panels;
    depthwise.start = output.start;
    depthwise.result = output.result;
    depthwise.factor = output.factor;
    depthwise.bias = output.bias;
    depthwise.zero = output.zero;
    depthwise.low = output.low;
    depthwise.high = output.high;
    const int64_t element = output.result == simd::ByteResult::kRequantized ? 1 : 4;
    ParallelLoop(context, taps.lines(), taps.positions() * channels, [&](int64_t begin, int64_t end) {
      std::vector<const uint8_t*> rows;
      for (int64_t line = begin; line < end; ++line) {
        simd::ByteDepthwise part = depthwise;
        const TapRun run = taps.FindRun(x, line, outside, depthwise.steps * 4, &rows);
        part.run_first = run.positions.first;
        part.run_end = run.positions.end;
        part.run_step = run.step;
        part.rows = rows.data();
        part.y = static_cast<char*>(y) + line * taps.positions() * channels * element;
        simd::RunByteDepthwise(part);
      }
    });
  }

  static constexpr int64_t kLeastDepthwise = 8;

  kit::WindowAttributes attributes_;
  int64_t group_;
  size_t w_input_;
  ChannelAxis axis_;  // channel axis of the image and the result; com.microsoft's QLinearConv may have channels last
  Dims w_dims_;
  ByteWeights packed_;
  ByteWeights depthwise_;  // used instead when each channel has its own filter
};

class ConvIntegerKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  explicit ConvIntegerKernel(const KernelInit& init) : convolution_(init, 1, 3) {}

  void Run(OpContext& context) const override {
    const kit::ConvolutionShape shape = convolution_.ShapeFor(context);
    const ZeroPoints zeros(context, shape.filters());
    const LastOutput y(context, EP_TYPE_INT32, shape.y, &context.State<LastLayout>());
    convolution_.Run(context, shape, zeros.x, zeros.w, nullptr, y.data(), [](const ByteWeights&, ByteOutput&) {});
    y.Finish(context);
  }

 private:
  ByteConvolution convolution_;
};

class ConvIntegerToFloatKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  explicit ConvIntegerToFloatKernel(const KernelInit& init) : convolution_(init, 1, 3) {}

  void Run(OpContext& context) const override {
    const kit::ConvolutionShape shape = convolution_.ShapeFor(context);
    const ZeroPoints zeros(context, shape.filters());
    const FloatResult result(context, 4, shape.filters(), "filter", false);
    const LastOutput y(context, EP_TYPE_FLOAT, shape.y, &context.State<LastLayout>());
    convolution_.Run(context, shape, zeros.x, zeros.w, nullptr, y.data(),
                     [&](const ByteWeights& weights, ByteOutput& output) { result.SetTo(context, weights, output); });
    y.Finish(context);
  }

 private:
  ByteConvolution convolution_;
};

class QLinearConvKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  explicit QLinearConvKernel(const KernelInit& init) : convolution_(init, 3, 5), bounds_(init.node()) {}

  void Run(OpContext& context) const override {
    const float x_scale = FloatParameter(context, 1, "x_scale");
    const Tensor& x_zero = Parameter(context, 2, "x_zero_point", kByteTypes);
    const float y_scale = FloatParameter(context, 6, "y_scale");
    const Tensor& y_zero = Parameter(context, 7, "y_zero_point", kByteTypes);
    const Tensor* bias = context.OptionalInput(8);
    const kit::ConvolutionShape shape = convolution_.ShapeFor(context);
    const Tensor& w_scale = ParameterPerItem(context, 4, "w_scale", shape.filters(), "filter", kFloats);
    const Tensor& w_zero = ParameterPerItem(context, 5, "w_zero_point", shape.filters(), "filter", kByteTypes);
    if (bias != nullptr && (bias->type != EP_TYPE_INT32 || bias->Count() != shape.filters())) {
      FailOp("bias has shape {} and type {}, expected [{}] of int32", ShapeText(bias->dims), TypeName(bias->type),
             shape.filters());
    }
    const LastOutput y(context, y_zero.type, shape.y, &context.State<LastLayout>(), convolution_.axis());
    const ResultBounds bounds = bounds_.Of(y_zero.type);
    convolution_.Run(context, shape, ByteAt(x_zero, 0), &w_zero, bias == nullptr ? nullptr : bias->as<int32_t>(),
                     y.data(), [&](const ByteWeights& weights, ByteOutput& output) {
                       output.result = simd::ByteResult::kRequantized;
                       output.zero = ByteAt(y_zero, 0);
                       output.low = bounds.low;
                       output.high = bounds.high;
                       output.factor = RequantizationFactors(context, weights, x_scale, w_scale, y_scale);
                     });
    y.Finish(context);
  }

 private:
  ByteConvolution convolution_;
  BoundsAttributes bounds_;
};

}  // namespace

void Register_integer_conv(KernelRegistry& registry) {
  registry.Add<ConvIntegerKernel>("ConvInteger", 10, kByteTypes);
  registry.Add<ConvIntegerToFloatKernel>(kit::fuse::kConvIntegerToFloat, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
  registry.Add<QLinearConvKernel>("QLinearConv", 10, kByteTypes);
  registry.Add<QLinearConvKernel>("QLinearConv", 1, kByteTypes, INT64_MAX, "com.microsoft");
  registry.Add<QLinearConvKernel>(kit::fuse::kQLinearConv, 1, kByteTypes, INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
