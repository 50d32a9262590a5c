// ConvTranspose: each input element adds its scaled kernel to the output.
#include <algorithm>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/convolution_call.h"
#include "plugins/cpu/ops/nn/conv_transpose_tiles.h"

namespace epiphyte::cpu {
namespace {

// General loop: any number of dimensions, any pads, any type. Sums are in double.
template <typename T>
void ConvTransposeLoop(OpContext& context, const kit::TransposedConvolutionShape& shape, int64_t group, const T* x,
                       const T* w, const T* bias, T* y) {
  using Number = Compute<T>;
  const size_t rank = shape.x.size();
  const int64_t in_plane = shape.x.Count(2, rank);
  const int64_t out_plane = shape.y.Count(2, rank);
  const int64_t taps = shape.w.Count(2, rank);
  const int64_t out_channels = shape.y[1];
  const int64_t out_per_group = shape.w[1];
  const int64_t in_per_group = shape.x[1] / group;
  const int64_t width = shape.x.back();
  const int64_t out_width = shape.y.back();
  const int64_t stride = shape.strides.back();
  context.ParallelFor(shape.y[0] * out_channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(out_plane));
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t n = plane / out_channels;
      const int64_t o = plane % out_channels;
      const int64_t first = o / out_per_group * in_per_group;
      std::fill(sums.begin(), sums.end(), bias != nullptr ? static_cast<double>(static_cast<Number>(bias[o])) : 0.0);
      for (int64_t tap = 0; tap < taps; ++tap) {
        // A tap has the same offset in every row; the part of the last dimension is separate.
        const int64_t shift = tap % shape.w.back() * shape.dilations.back() - shape.pads_begin.back();
        const int64_t from = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        const int64_t to = out_width > shift ? std::min(width, (out_width - shift + stride - 1) / stride) : 0;
        for (int64_t row = 0; row < (width == 0 ? 0 : in_plane / width); ++row) {
          int64_t offset = 0;
          int64_t scale = out_width;
          bool inside = true;
          for (int64_t rest = row, rest_tap = tap / shape.w.back(), d = static_cast<int64_t>(rank) - 2; d >= 2; --d) {
            const int64_t at = rest % shape.x[d] * shape.strides[d - 2] - shape.pads_begin[d - 2] +
                               rest_tap % shape.w[d] * shape.dilations[d - 2];
            rest /= shape.x[d];
            rest_tap /= shape.w[d];
            inside = at >= 0 && at < shape.y[d];
            if (!inside) break;
            offset += at * scale;
            scale *= shape.y[d];
          }
          if (!inside) continue;
          for (int64_t c = first; c < first + in_per_group; ++c) {
            const T* source = x + (n * shape.x[1] + c) * in_plane + row * width;
            const auto weight =
                static_cast<double>(static_cast<Number>(w[(c * out_per_group + o % out_per_group) * taps + tap]));
            for (int64_t i = from; i < to; ++i)
              sums[static_cast<size_t>(offset + i * stride + shift)] +=
                  weight * static_cast<double>(static_cast<Number>(source[i]));
          }
        }
      }
      for (int64_t i = 0; i < out_plane; ++i)
        y[plane * out_plane + i] = static_cast<T>(static_cast<Number>(sums[static_cast<size_t>(i)]));
    }
  });
}

const Tensor* CheckedBias(OpContext& context, int64_t channels) {
  const Tensor* bias = context.OptionalInput(2);
  if (bias != nullptr && bias->Count() != channels) FailOp("{} biases for {} channels", bias->Count(), channels);
  return bias;
}

template <typename T>
class ReferenceConvTransposeKernel final : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit ReferenceConvTransposeKernel(const KernelInit& init)
      : attributes_(kit::TransposedConvolutionAttributes::Read(init.node())) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    if (w.type != x.type) FailOp("input of type {} and weights of type {}", TypeName(x.type), TypeName(w.type));
    const kit::TransposedConvolutionShape shape(attributes_, x.dims, w.dims);
    const Tensor* bias = CheckedBias(context, shape.y[1]);
    Tensor& y = context.Output(0, x.type, shape.y);
    ConvTransposeLoop<T>(context, shape, attributes_.group, x.as<T>(), w.as<T>(),
                         bias == nullptr ? nullptr : bias->as<T>(), y.as<T>());
  }

 private:
  kit::TransposedConvolutionAttributes attributes_;
};

// ConvTranspose by oneDNN's deconvolution.
class ConvTransposeKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  static constexpr bool kMultipliesBfloat16 = true;

  explicit ConvTransposeKernel(const KernelInit& init)
      : attributes_(kit::TransposedConvolutionAttributes::Read(init.node())), bfloat16_(init.AllowsBfloat16()) {
    const Tensor* weights = init.PeekConstant(1);
    if (weights == nullptr || weights->rank() < 3 || weights->rank() > 5 || weights->Count() == 0 ||
        weights->type != EP_TYPE_FLOAT || weights->dims[0] % attributes_.group != 0)
      return;
    // The layout is chosen for the known shape, or for a typical one.
    const ir::Value& x = init.InputInfo(0);
    Dims input;
    for (size_t i = 0; i < weights->rank(); ++i) {
      const int64_t known = x.rank == static_cast<int32_t>(weights->rank()) ? x.dims[i] : -1;
      const int64_t typical = i == 0 ? 1 : i == 1 ? weights->dims[0] : weights->rank() == 3 ? 512 : 28;
      input.push_back(SizeToPlanFor(known, typical));
    }
    try {
      const kit::TransposedConvolutionShape shape(attributes_, input, weights->dims);
      if (shape.y.Count() == 0) return;
      const auto choose = [&] { return MakeDesc(shape, AnyWeights(shape), init.HasInput(2)).weights_desc(); };
      packed_ = PackWeights(init, 1, "weights", PlainWeights(shape), choose);
      if (packed_) weight_dims_ = weights->dims;
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      // oneDNN has no implementation; Run uses the loop.
    }
  }

  void Run(OpContext& context) const override {
    State& state = context.State<State>();
    const Tensor& x = context.AnyLayoutInput(0);
    const Tensor* w = packed_ ? nullptr : &context.Input(1);
    if (w != nullptr && w->type != EP_TYPE_FLOAT)
      FailOp("input of type {} and weights of type {}", TypeName(x.type), TypeName(w->type));
    const Dims& weight_dims = packed_ ? weight_dims_ : w->dims;
    if (!state.known || !(state.shape.x == x.dims) || !(state.shape.w == weight_dims) ||
        !SameLayout(state.x_layout.get(), x.layout.get()))
      Prepare(state, x, weight_dims, context.HasInput(2));
    const Tensor* bias = CheckedBias(context, state.shape.y[1]);
    Tensor& y = state.call ? context.OutputWithLayout(0, EP_TYPE_FLOAT, state.shape.y, state.call.y_layout(),
                                                      state.call.y_desc().get_size())
                           : context.Output(0, EP_TYPE_FLOAT, state.shape.y);
    if (y.Count() == 0) return;

    const void* weights = w == nullptr ? nullptr : w->data;
    if (state.call) {
      state.call.Run(context, x.data, weights, bias == nullptr ? nullptr : bias->data, y.data);
      return;
    }
    if (packed_) {
      PackedWeights plain = packed_;
      if (state.unpacked) plain = {PlainWeights(state.shape), state.unpacked.get(), packed_.type};
      weights = AsFloats(context, plain);
    }
    if (state.tiles) {
      auto* product = static_cast<float*>(context.Scratch(y.Bytes()));
      state.tiles.Set(DNNL_ARG_SRC, weights);
      state.tiles.Set(DNNL_ARG_WEIGHTS, x.data);
      state.tiles.Set(DNNL_ARG_DST, product);
      state.tiles.Run(context);
      return PlaceTiles(context, state.shape, product, bias == nullptr ? nullptr : bias->as<float>(), y.as<float>());
    }
    ConvTransposeLoop<float>(context, state.shape, attributes_.group, context.Input(0).as<float>(),
                             static_cast<const float*>(weights), bias == nullptr ? nullptr : bias->as<float>(),
                             y.as<float>());
  }

 private:
  struct State {
    bool known = false;
    kit::TransposedConvolutionShape shape;
    std::shared_ptr<const Layout> x_layout;
    ConvolutionCall call;            // empty: the GEMM with tiles or, without it, the loop
    PrimitiveCall tiles;             // for a row-major input
    std::shared_ptr<void> unpacked;  // packed weights in model order, for the tiles or the loop
  };

  static bool SameLayout(const Layout* a, const Layout* b) {
    return a == b || (a != nullptr && b != nullptr && a->desc == b->desc);
  }

  // oneDNN expects output channels first, behind the groups if there are any.
  dnnl::memory::dims WeightDims(const kit::TransposedConvolutionShape& shape) const {
    dnnl::memory::dims dims = ToDnnl(shape.w);
    dims[0] = shape.w[1];
    dims[1] = shape.w[0] / attributes_.group;
    if (attributes_.group > 1) dims.insert(dims.begin(), attributes_.group);
    return dims;
  }
  MemoryDesc AnyWeights(const kit::TransposedConvolutionShape& shape) const {
    return MemoryDesc(WeightDims(shape), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  }
  MemoryDesc PlainWeights(const kit::TransposedConvolutionShape& shape) const {
    dnnl::memory::dims strides(shape.w.size());
    int64_t stride = 1;
    for (size_t i = shape.w.size(); i-- > 0; stride *= shape.w[i]) strides[i] = stride;
    const int64_t of_group = shape.w[0] / attributes_.group * strides[0];
    std::swap(strides[0], strides[1]);
    if (attributes_.group > 1) strides.insert(strides.begin(), of_group);
    return StridedDesc(EP_TYPE_FLOAT, WeightDims(shape), strides);
  }

  dnnl::deconvolution_forward::primitive_desc MakeDesc(const kit::TransposedConvolutionShape& shape,
                                                       const MemoryDesc& weights, bool bias) const {
    ConvolutionArgs args;
    args.src = AnyDesc(EP_TYPE_FLOAT, shape.x);
    args.weights = weights;
    args.dst = AnyDesc(EP_TYPE_FLOAT, shape.y);
    args.has_bias = bias;
    if (bias) args.bias = PlainDesc(EP_TYPE_FLOAT, {shape.y.data() + 1, 1});
    args.strides = ToDnnl(shape.strides);
    for (int64_t dilation : shape.dilations) args.dilates.push_back(dilation - 1);
    args.pads_begin = ToDnnl(shape.pads_begin);
    args.pads_end = ToDnnl(shape.pads_end);
    return DeconvolutionDesc(args, Attributes());
  }
  PrimitiveAttr Attributes() const {
    PrimitiveAttr attr = UserScratchpad();
    if (bfloat16_) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
    return attr;
  }

  // oneDNN does not support negative pads at the front, nor pads larger than the kernel.
  bool FitsOneDnn(const kit::TransposedConvolutionShape& shape) const {
    if (shape.x.size() > 5 || shape.x.Count() == 0 || shape.y.Count() == 0) return false;
    for (size_t i = 0; i < shape.strides.size(); ++i) {
      const int64_t extent = (shape.w[i + 2] - 1) * shape.dilations[i] + 1;
      if (shape.pads_begin[i] < 0 || shape.pads_begin[i] >= extent || shape.pads_end[i] >= extent ||
          shape.pads_end[i] <= -shape.strides[i] || shape.strides[i] > INT32_MAX || extent > INT32_MAX)
        return false;
    }
    return true;
  }

  void Prepare(State& state, const Tensor& x, const Dims& weight_dims, bool bias) const {
    state = State();
    state.shape = kit::TransposedConvolutionShape(attributes_, x.dims, weight_dims);
    state.x_layout = x.layout;
    const kit::TransposedConvolutionShape& shape = state.shape;
    if (shape.y.Count() != 0 && shape.w.Count() != 0) {
      const MemoryDesc plain = PlainWeights(shape);
      const bool done = PrepareTiles(state, x) || (FitsOneDnn(shape) && PrepareCall(state, x, plain, bias));
      if ((!done || state.tiles) && packed_ && packed_.desc != plain) state.unpacked = Repack(packed_, plain);
    }
    state.known = true;
  }

  // Returns false when kernels overlap.
  bool PrepareTiles(State& state, const Tensor& x) const {
    if (x.layout != nullptr || !MakesTiles(state.shape, attributes_.group)) return false;
    try {
      state.tiles = TileProduct(state.shape, Attributes());
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      return false;
    }
    return true;
  }

  // Returns false when oneDNN has no implementation for this shape.
  bool PrepareCall(State& state, const Tensor& x, const MemoryDesc& plain, bool bias) const {
    const kit::TransposedConvolutionShape& shape = state.shape;
    dnnl::deconvolution_forward::primitive_desc pd;
    try {
      pd = ChooseDesc(packed_, AnyWeights(shape),
                      [&](const MemoryDesc& weights) { return MakeDesc(shape, weights, bias); });
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      return false;
    }
    const MemoryDesc x_desc = x.layout ? x.layout->desc : PlainDesc(EP_TYPE_FLOAT, x.dims);
    state.call.Reset<dnnl::deconvolution_forward>(pd, x_desc, plain, packed_, bias);
    return true;
  }

  kit::TransposedConvolutionAttributes attributes_;
  bool bfloat16_;
  Dims weight_dims_;
  PackedWeights packed_;
};

}  // namespace

void Register_conv_transpose(KernelRegistry& registry) {
  registry.Add<ConvTransposeKernel>("ConvTranspose", 1, Types(EP_TYPE_FLOAT));
  registry.Add<ReferenceConvTransposeKernel<double>>("ConvTranspose", 1, Types(EP_TYPE_DOUBLE));
  registry.Add<ReferenceConvTransposeKernel<Float16>>("ConvTranspose", 1, Types(EP_TYPE_FLOAT16));
  registry.Add<ReferenceConvTransposeKernel<BFloat16>>("ConvTranspose", 1, Types(EP_TYPE_BFLOAT16));
}

}  // namespace epiphyte::cpu
