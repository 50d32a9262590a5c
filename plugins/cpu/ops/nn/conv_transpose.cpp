// ConvTranspose: every input element adds its kernel to the output.
#include <algorithm>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/onednn/convolution_call.h"
#include "plugins/cpu/onednn/window.h"

namespace epiphyte::cpu {
namespace {

// As in the model.
struct TransposeAttributes {
  explicit TransposeAttributes(const NodeDef& node)
      : window(WindowAttributes::Read(node)),
        output_padding(node.Ints("output_padding")),
        output_shape(node.Ints("output_shape")),
        group(node.Int("group", 1)) {
    if (group < 1) FailOp("group is {}; at least 1 expected", group);
  }
  WindowAttributes window;
  std::vector<int64_t> output_padding, output_shape;
  int64_t group;
};

// For one pair of shapes: input [N, I, d…] and weights [I, O/group, k…].
struct TransposeShape {
  Dims x, w, y;
  Dims strides, dilations, pads_begin, pads_end;  // pads_end: so that the sizes add up; below 0 where output is added

  TransposeShape() = default;
  TransposeShape(const TransposeAttributes& attributes, const Dims& x_dims, const Dims& w_dims) : x(x_dims), w(w_dims) {
    if (x.size() < 3 || w.size() != x.size())
      FailOp("input of rank {} and weights of rank {}; equal ranks of at least 3 expected", x.size(), w.size());
    if (x[1] != w[0] || w[0] % attributes.group != 0)
      FailOp("{} input channels, {} groups and weights for {} input channels don't fit together", x[1],
             attributes.group, w[0]);
    const size_t spatial = x.size() - 2;
    const WindowAttributes& window = attributes.window;
    CheckList(window.kernel, spatial, 1, "kernel_shape");
    CheckList(window.strides, spatial, 1, "strides");
    CheckList(window.dilations, spatial, 1, "dilations");
    CheckList(window.pads, spatial * 2, -kMost, "pads");
    CheckList(attributes.output_padding, spatial, 0, "output_padding");
    // Some write the whole shape of the output, batch and channels included.
    std::span<const int64_t> wanted = attributes.output_shape;
    if (wanted.size() == spatial + 2) wanted = wanted.subspan(2);
    CheckList(wanted, spatial, 0, "output_shape");
    y = {x[0], CheckedMultiply(w[1], attributes.group)};
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t stride = window.strides.empty() ? 1 : window.strides[i];
      const int64_t dilation = window.dilations.empty() ? 1 : window.dilations[i];
      const int64_t added = attributes.output_padding.empty() ? 0 : attributes.output_padding[i];
      if (!window.kernel.empty() && window.kernel[i] != w[i + 2])
        FailOp("kernel_shape differs from the weights' shape");
      if (w[i + 2] < 1) FailOp("a kernel without elements");
      const int64_t extent = CheckedAdd(CheckedMultiply(w[i + 2] - 1, dilation), 1);
      // What all kernels together cover, and what is added behind.
      const int64_t full = CheckedAdd(CheckedMultiply(x[i + 2] - 1, stride), CheckedAdd(extent, added));
      int64_t begin = 0;
      int64_t output = 0;
      const bool same = window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
      if (!wanted.empty() || same) {
        const int64_t goal = wanted.empty() ? CheckedMultiply(x[i + 2], stride) : wanted[i];
        const int64_t total = std::max<int64_t>(full - goal, 0);
        begin = window.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
        output = wanted.empty() ? full - total : goal;
      } else {
        const bool padded = window.auto_pad == AutoPad::kNotSet && !window.pads.empty();
        begin = padded ? window.pads[i] : 0;
        output = CheckedAdd(full, -begin - (padded ? window.pads[i + spatial] : 0));
      }
      if (output < 0) FailOp("{} elements and a kernel of extent {} leave an output of {}", x[i + 2], extent, output);
      strides.push_back(stride);
      dilations.push_back(dilation);
      pads_begin.push_back(begin);
      pads_end.push_back(full - added - begin - output);
      y.push_back(output);
    }
    CheckedCount(y);
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 31;
  static void CheckList(std::span<const int64_t> list, size_t size, int64_t least, const char* name) {
    if (list.empty()) return;
    if (list.size() != size) FailOp("{} has {} entries; {} expected for this input", name, list.size(), size);
    for (int64_t item : list)
      if (item < least || item > kMost) FailOp("{} has an entry of {}; {} to {} expected", name, item, least, kMost);
  }
};

// Any number of dimensions, any pads, any type. Sums in double.
template <typename T>
void ConvTransposeLoop(OpContext& context, const TransposeShape& shape, int64_t group, const T* x, const T* w,
                       const T* bias, T* y) {
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
        // A tap moves by the same distance in every row; the last dimension's part is split off.
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
  explicit ReferenceConvTransposeKernel(const KernelInit& init) : attributes_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    if (w.type != x.type) FailOp("input of type {} and weights of type {}", TypeName(x.type), TypeName(w.type));
    const TransposeShape shape(attributes_, x.dims, w.dims);
    const Tensor* bias = CheckedBias(context, shape.y[1]);
    Tensor& y = context.Output(0, x.type, shape.y);
    ConvTransposeLoop<T>(context, shape, attributes_.group, x.as<T>(), w.as<T>(),
                         bias == nullptr ? nullptr : bias->as<T>(), y.as<T>());
  }

 private:
  TransposeAttributes attributes_;
};

// oneDNN's deconvolution.
class ConvTransposeKernel final : public Kernel {
 public:
  explicit ConvTransposeKernel(const KernelInit& init) : attributes_(init.node()), bfloat16_(init.AllowsBfloat16()) {
    const Tensor* weights = init.PeekConstant(1);
    if (weights == nullptr || weights->rank() < 3 || weights->rank() > 5 || weights->Count() == 0 ||
        weights->type != EP_TYPE_FLOAT || weights->dims[0] % attributes_.group != 0)
      return;
    // The layout is chosen for the shape that is known, or for a typical one.
    const ValueInfo& x = init.InputInfo(0);
    Dims input;
    for (size_t i = 0; i < weights->rank(); ++i) {
      const int64_t known = x.rank == static_cast<int32_t>(weights->rank()) ? x.dims[i] : -1;
      const int64_t typical = i == 0 ? 1 : i == 1 ? weights->dims[0] : weights->rank() == 3 ? 512 : 28;
      input.push_back(SizeToPlanFor(known, typical));
    }
    try {
      const TransposeShape shape(attributes_, input, weights->dims);
      if (shape.y.Count() == 0) return;
      const auto choose = [&] { return MakeDesc(shape, AnyWeights(shape), init.HasInput(2)).weights_desc(); };
      packed_ = PackWeights(init, 1, "weights", PlainWeights(shape), choose);
      if (packed_) weight_dims_ = weights->dims;
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      // No implementation: Run has a loop.
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
    if (packed_) weights = state.unpacked ? state.unpacked.get() : packed_.data;
    ConvTransposeLoop<float>(context, state.shape, attributes_.group, context.Input(0).as<float>(),
                             static_cast<const float*>(weights), bias == nullptr ? nullptr : bias->as<float>(),
                             y.as<float>());
  }

 private:
  struct State {
    bool known = false;
    TransposeShape shape;
    std::shared_ptr<const Layout> x_layout;
    ConvolutionCall call;            // none: the loop does it
    std::shared_ptr<void> unpacked;  // packed weights as in the model, for the loop
  };

  static bool SameLayout(const Layout* a, const Layout* b) {
    return a == b || (a != nullptr && b != nullptr && a->desc == b->desc);
  }

  // oneDNN has output channels first, and the group before them when there are groups.
  dnnl::memory::dims WeightDims(const TransposeShape& shape) const {
    dnnl::memory::dims dims = ToDnnl(shape.w);
    dims[0] = shape.w[1];
    dims[1] = shape.w[0] / attributes_.group;
    if (attributes_.group > 1) dims.insert(dims.begin(), attributes_.group);
    return dims;
  }
  MemoryDesc AnyWeights(const TransposeShape& shape) const {
    return MemoryDesc(WeightDims(shape), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  }
  MemoryDesc PlainWeights(const TransposeShape& shape) const {
    dnnl::memory::dims strides(shape.w.size());
    int64_t stride = 1;
    for (size_t i = shape.w.size(); i-- > 0; stride *= shape.w[i]) strides[i] = stride;
    const int64_t of_group = shape.w[0] / attributes_.group * strides[0];
    std::swap(strides[0], strides[1]);
    if (attributes_.group > 1) strides.insert(strides.begin(), of_group);
    return StridedDesc(EP_TYPE_FLOAT, WeightDims(shape), strides);
  }

  dnnl::deconvolution_forward::primitive_desc MakeDesc(const TransposeShape& shape, const MemoryDesc& weights,
                                                       bool bias) const {
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
    PrimitiveAttr attr = UserScratchpad();
    if (bfloat16_) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
    return DeconvolutionDesc(args, attr);
  }

  // Pads of less than 0 at the front, or of more than the kernel, are no case that oneDNN is made for.
  bool FitsOneDnn(const TransposeShape& shape) const {
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
    state.shape = TransposeShape(attributes_, x.dims, weight_dims);
    state.x_layout = x.layout;
    const TransposeShape& shape = state.shape;
    if (shape.y.Count() != 0 && shape.w.Count() != 0) {
      const MemoryDesc plain = PlainWeights(shape);
      const bool has_call = FitsOneDnn(shape) && PrepareCall(state, x, plain, bias);
      if (!has_call && packed_ && packed_.desc != plain) state.unpacked = Repack(packed_, plain);
    }
    state.known = true;
  }

  // False when oneDNN has nothing for this shape.
  bool PrepareCall(State& state, const Tensor& x, const MemoryDesc& plain, bool bias) const {
    const TransposeShape& shape = state.shape;
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

  TransposeAttributes attributes_;
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
