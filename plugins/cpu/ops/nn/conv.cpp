// Conv, and the fused form of domain epiphyte.kit: Conv + residual (input 3) + activation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/kernel/blocked_product.h"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/convolution_call.h"
#include "plugins/cpu/onednn/finite_sums.h"
#include "plugins/cpu/onednn/ordered_move.h"
#include "plugins/cpu/onednn/panel_window.h"
#include "plugins/cpu/onednn/split.h"
#include "plugins/cpu/onednn/split_window.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/onednn/window_limits.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/nn/depthwise_conv.h"
#include "plugins/cpu/ops/nn/reference_conv.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kActivationCost = 8;  // in additions, for ParallelLoop

// Weights [O, I/G, k…] in oneDNN's form: [G, O/G, I/G, k…] when there are groups.
dnnl::memory::dims WeightDims(std::span<const int64_t> dims, int64_t group) {
  dnnl::memory::dims result = ToDnnl(dims);
  if (group > 1) {
    result[0] /= group;
    result.insert(result.begin(), group);
  }
  return result;
}

class ConvKernel final : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kMakes;
  static constexpr bool kMultipliesBfloat16 = true;
  static constexpr bool kTakesBfloat16Layouts = true;

  explicit ConvKernel(const KernelInit& init)
      : attributes_(kit::WindowAttributes::Read(init.node())),
        group_(kit::CheckedGroup(init.node().Int("group", 1))),
        activation_(Activation::Read(init.node())),
        bfloat16_(init.AllowsBfloat16()),
        bfloat16_result_(init.OutputMayBeBfloat16(0)) {
    if (!SuitsOneDnn(attributes_))
      NotImplemented("a fused convolution with pads below 0, or with strides, dilations or pads above 32767");
    const Tensor* weights = init.PeekConstant(1);
    if (weights == nullptr || weights->rank() < 3 || weights->dims[0] % group_ != 0 || weights->Count() == 0) return;
    // The layout is chosen for the known shape, or for a typical one.
    const size_t spatial = weights->rank() - 2;
    const ir::Value& x = init.InputInfo(0);
    Dims input;
    bool open = false;
    for (size_t i = 0; i < spatial + 2; ++i) {
      const int64_t known = x.rank == static_cast<int32_t>(spatial + 2) ? x.dims[i] : -1;
      const int64_t typical = i == 0 ? 1 : i == 1 ? weights->dims[1] * group_ : spatial == 1 ? 512 : 56;
      input.push_back(SizeToPlanFor(known, typical));
      open |= known < 0;
    }
    try {
      const kit::ConvolutionShape shape = Resolve(input, weights->dims);
      // With few channels, in an image or in each group, there is nothing to gain.
      constexpr int64_t kFewestChannels = 16;
      // Panels suit two cases: large weights that are read from memory for a few windows, and a shape for which oneDNN
      // would make a primitive during the first run. For weights in a cache or many windows, oneDNN is faster.
      constexpr int64_t kLarge = int64_t{1} << 18, kFewWindows = 64;
      const bool for_panels = group_ == 1 && HasLongRuns(shape) &&
                              (open || (weights->Count() >= kLarge && shape.x[0] * shape.positions() <= kFewWindows));
      const bool in_bfloat16 =
          group_ == 1 && weights->dims[1] >= kFewestChannels && MayMultiplyBfloat16(init, 1, "weights");
      std::optional<MemoryDesc> split;
      if (!in_bfloat16 && group_ == 1 && weights->dims[1] >= kFewestChannels && spatial <= 2 &&
          MaySplit(init, 1, "weights", weights->dims))
        split = SplitWindowDesc(weights->dims);
      const auto choose = [&] {
        if (split) return *split;
        // Same scope as in PrepareCall, because layouts depend on the number of threads.
        const ScopedSingleThread scope(IsSmallProduct(shape.y.Count(), shape.in_per_group() * shape.taps()));
        const auto describe = [&](ElementType type) {
          return MakeDesc(shape, AnyWeights(weights->dims, type),
                          {init.HasInput(2), init.HasInput(3), !ActivatesAfterwards(shape, type)});
        };
        if (in_bfloat16) {
          try {
            const auto pd = describe(EP_TYPE_BFLOAT16);
            if (!IsReference(pd)) return pd.weights_desc();
          } catch (const dnnl::error& error) {
            ThrowIfNoMemory(error);
          }
        }
        const MemoryDesc desc = describe(EP_TYPE_FLOAT).weights_desc();
        return for_panels ? WidePanels(desc, shape).value_or(desc) : desc;
      };
      const auto plain = PlainDesc(EP_TYPE_FLOAT, WeightDims(weights->dims, group_));
      weight_dims_ = weights->dims;
      packed_ = PackWeights(init, 1, "weights", plain, choose, {.in_parts = split.has_value()});
      split_ = group_ == 1 && HasSplitProducts() && IsSplit(packed_);
      if (for_panels && packed_ && packed_.has_floats()) panels_ = WindowPanelsOf(packed_.desc);
      if (packed_ && weights->dims[1] == 1) depthwise_weights_ = Repack(packed_, plain);
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      // Run reports the error for its actual shape.
    }
  }

  void Run(OpContext& context) const override {
    State& state = context.State<State>();
    const Tensor& x = context.AnyLayoutInput(0);
    const Tensor* w = packed_ ? nullptr : &context.Input(1);
    const Dims& weight_dims = packed_ ? weight_dims_ : w->dims;
    const bool residual = context.HasInput(3);
    if (!state.known || !(state.x_dims == x.dims) || !(state.w_dims == weight_dims) ||
        !SameLayout(state.x_layout.get(), x.layout.get()))
      Prepare(state, x, weight_dims, context.HasInput(2), residual, context.WantsRowMajor(0));

    if (state.panels) return RunPanels(context, state);
    if (state.split) {
      if (RunSplit(context, state)) return;
      if (!state.call) PrepareCall(state, x, weight_dims, context.HasInput(2), residual);
    }
    if (state.product) return RunProduct(context, state, w);
    if (state.depthwise && RunDepthwise(context, state, w)) return;
    if (!state.call) return RunOverNothing(context, state.y_dims);
    const Tensor* bias = CheckedBias(context, weight_dims[0]);
    const Tensor* sum = residual ? &context.AnyLayoutInput(3) : nullptr;
    if (sum != nullptr && !(sum->dims == state.y_dims)) FailOp("a residual of another shape than the result");
    const float limit = SumsLimit(context, state, x, bias, sum);
    const bool activates = activation_ && (state.activates || !std::isfinite(limit));
    if (activates && !state.activates && !state.sums_call)
      PrepareCall(state, x, weight_dims, context.HasInput(2), residual, Activates::kAfterwards);
    ConvolutionCall& call = activates && !state.activates ? state.sums_call : state.call;
    Tensor* y = nullptr;
    if (sum != nullptr && SameLayout(sum->layout.get(), call.y_layout().get()))
      y = context.OutputInPlace(0, 3, EP_TYPE_FLOAT, state.y_dims);
    if (y == nullptr) {
      y = &context.OutputWithLayout(0, EP_TYPE_FLOAT, state.y_dims, call.y_layout(), call.y_desc().get_size());
      if (sum != nullptr)
        state.sum_call.Run(sum->layout ? sum->layout->desc : PlainDesc(sum->type, sum->dims), sum->data, call.y_desc(),
                           y->data);
    }
    call.Run(context, x.data, w == nullptr ? nullptr : w->data, bias == nullptr ? nullptr : bias->data, y->data);
    if (!WarmUpScope::IsActive()) y->limit = LimitOfActivation(activation_, limit);
    if (!activates || WarmUpScope::LeavesOut(y->Count())) return;
    // Includes the layout's padding: the activation of zeros is finite, and weights for padding are zero.
    auto* const values = y->as<float>();
    ParallelLoop(context, static_cast<int64_t>(call.y_desc().get_size() / sizeof(float)), kActivationCost,
                 [&](int64_t begin, int64_t end) { ApplyActivation(activation_, values + begin, end - begin); });
  }

 private:
  struct State {
    bool known = false;
    Dims x_dims, w_dims, y_dims;
    std::shared_ptr<const Layout> x_layout;
    ConvolutionCall call;       // empty when the result is empty or there is nothing to sum
    ConvolutionCall sums_call;  // without the activation; made when a sum may not be finite
    ReorderCall sum_call;       // for a residual in another layout than the result
    std::optional<FiniteSums> finite_sums;
    kit::ConvolutionShape shape;
    std::optional<simd::PlaneWindows> depthwise;  // for a row-major input that stays row-major
    bool activates = false;                       // the activation is applied after the call
    bool product = false;                         // a GEMM of the weights and each row-major image
    std::shared_ptr<void> product_weights;        // weights for the GEMM, if the packed ones have another layout
    std::optional<PanelWindow> panels;            // runs without oneDNN
    std::optional<SplitWindow> split;             // by bfloat16 parts, unless a number is not finite
    std::shared_ptr<const Layout> last_layout;    // channels-last layout of the result of panels or split
    ReorderCall last_x_call;
  };

  static bool SameLayout(const Layout* a, const Layout* b) {
    return a == b || (a != nullptr && b != nullptr && a->desc == b->desc);
  }

  // Upper bound of the sums' absolute values; infinity when unknown. Operands are read for it only if oneDNN applies
  // the activation.
  float SumsLimit(OpContext& context, State& state, const Tensor& x, const Tensor* bias, const Tensor* sum) const {
    // The operands of a warm-up are not computed yet. It prepares the calls for finite sums, the usual case.
    if (WarmUpScope::IsActive()) return 0;
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const bool known = std::isfinite(x.limit) && (sum == nullptr || std::isfinite(sum->limit));
    const bool onednn_activates = activation_ && !state.activates;
    if (!packed_ || (!onednn_activates && !known)) return kNone;
    const kit::ConvolutionShape& shape = state.shape;
    if (!state.finite_sums) state.finite_sums.emplace(context, packed_, shape.in_per_group() * shape.taps());
    const auto numbers = [](const Tensor* tensor) { return tensor == nullptr ? Numbers() : NumbersOf(*tensor); };
    return state.finite_sums->Limit(context, NumbersOf(x), numbers(bias), numbers(sum));
  }

  kit::ConvolutionShape Resolve(const Dims& x, const Dims& w) const {
    kit::ConvolutionShape shape(attributes_, x, w, group_);
    if (shape.spatial() > 3) NotImplemented("convolution over {} spatial dimensions", shape.spatial());
    return shape;
  }

  // Returns false when a number of the input is not finite.
  bool RunSplit(OpContext& context, State& state) const {
    const SplitWindow& window = *state.split;
    const Tensor* bias = CheckedBias(context, window.filters);
    SplitConvolution o;
    o.numbers = SplitImages(context, window, ChannelsLast(context, state, 0));
    if (o.numbers == nullptr) return false;
    o.weights = packed_;
    o.bias = bias == nullptr ? nullptr : bias->as<float>();
    o.activation = activation_;
    o.y = ChannelsLastOutput(context, state, &o.sum);
    ConvolveSplit(context, window, o);
    return true;
  }

  void RunPanels(OpContext& context, State& state) const {
    const Tensor* bias = CheckedBias(context, state.y_dims[1]);
    RowOperands o;
    o.a = ChannelsLast(context, state, 0);
    o.b = packed_.data;
    o.bias = bias == nullptr ? nullptr : bias->as<float>();
    o.y = ChannelsLastOutput(context, state, &o.residual);
    state.panels->Run(context, *panels_, o, activation_);
  }

  // Makes the channels-last output. *residual: the residual in the same layout, or null when there is none.
  static float* ChannelsLastOutput(OpContext& context, State& state, const float** residual) {
    Tensor* y = nullptr;
    if (context.HasInput(3)) {
      const Tensor& sum = context.AnyLayoutInput(3);
      if (!(sum.dims == state.y_dims)) FailOp("a residual of another shape than the result");
      *residual = ChannelsLast(context, state, 3);
      if (SameLayout(sum.layout.get(), state.last_layout.get()))
        y = context.OutputInPlace(0, 3, EP_TYPE_FLOAT, state.y_dims);
    }
    if (y == nullptr)
      y = &context.OutputWithLayout(0, EP_TYPE_FLOAT, state.y_dims, state.last_layout,
                                    static_cast<uint64_t>(state.y_dims.Count()) * sizeof(float));
    return y->as<float>();
  }

  // Input i with channels last: in place or in scratch memory.
  static const float* ChannelsLast(OpContext& context, State& state, size_t i) {
    const Tensor& x = context.AnyLayoutInput(i);
    const AxisOrder order = ChannelsLastOrder(x.rank());
    const std::optional<AxisOrder> own = OrderOf(x);
    if (own && *own == order) return x.as<float>();
    auto* const copy = static_cast<float*>(context.Scratch(static_cast<uint64_t>(x.Count()) * sizeof(float)));
    if (CopyOrdered(context, x.dims, own, x.as<float>(), order, copy)) return copy;
    const std::shared_ptr<const Layout> wanted = MakeLayout(order, EP_TYPE_FLOAT, x.dims);
    const MemoryDesc plain = PlainDesc(x.type, x.dims);
    state.last_x_call.Run(x.layout ? x.layout->desc : plain, x.data, wanted ? wanted->desc : plain, copy);
    return copy;
  }
  static AxisOrder ChannelsLastOrder(size_t rank) {
    AxisOrder order = AxisOrder::RowMajor(rank);
    for (size_t i = 1; i + 1 < rank; ++i) order.axes[i] = static_cast<uint8_t>(i + 1);
    order.axes[rank - 1] = 1;
    return order;
  }

  // `w`: null when the weights are packed. Returns false when the residual has another layout.
  bool RunDepthwise(OpContext& context, const State& state, const Tensor* w) const {
    const bool residual = context.HasInput(3);
    if (residual && context.AnyLayoutInput(3).layout != nullptr) return false;
    if (w == nullptr && depthwise_weights_ == nullptr) return false;
    const Tensor* sum = residual ? &context.Input(3) : nullptr;
    if (sum != nullptr && !(sum->dims == state.y_dims)) FailOp("a residual of another shape than the result");
    const Tensor* bias = CheckedBias(context, state.y_dims[1]);
    Tensor* y = residual ? context.OutputInPlace(0, 3, EP_TYPE_FLOAT, state.y_dims) : nullptr;
    if (y == nullptr) y = &context.Output(0, EP_TYPE_FLOAT, state.y_dims);
    DepthwiseOperands o;
    o.x = context.Input(0).as<float>();
    o.weights = w != nullptr ? w->as<float>() : static_cast<const float*>(depthwise_weights_.get());
    o.bias = bias == nullptr ? nullptr : bias->as<float>();
    o.residual = sum == nullptr ? nullptr : sum->as<float>();
    o.y = y->as<float>();
    DepthwiseConv(context, state.shape, *state.depthwise, o, activation_);
    return true;
  }

  // True for 1x1 windows without stride and padding on row-major data, unless sums are long. Reordering input and
  // output for oneDNN would take as long as the GEMM, or longer.
  bool IsProduct(const kit::ConvolutionShape& shape) const {
    constexpr int64_t kLongSums = 64;
    const kit::Window& window = shape.window;
    if (group_ != 1 || shape.taps() != 1 || shape.positions() != shape.in_positions()) return false;
    for (size_t i = 0; i < shape.spatial(); ++i)
      if (window.strides[i] != 1 || window.pads_begin[i] != 0) return false;
    const int64_t in = shape.in_per_group(), out = shape.filters();
    if (packed_ && (packed_.for_bfloat16() || (packed_.type != EP_TYPE_FLOAT && !split_))) return false;
    return in > 0 && out > blocked_product::kThinRows && in * out / (in + out) < kLongSums;
  }

  // The packed weights as floats in model order.
  std::shared_ptr<void> PlainWeights() const {
    const std::shared_ptr<void> plain = Repack(packed_, PlainDesc(EP_TYPE_FLOAT, WeightDims(weight_dims_, group_)));
    if (packed_.type == EP_TYPE_FLOAT) return plain;
    Tensor narrow;
    narrow.type = packed_.type;
    narrow.dims = weight_dims_;
    narrow.data = plain.get();
    const auto count = static_cast<uint64_t>(weight_dims_.Count());
    const std::shared_ptr<void> wide(kit::AllocateHeap(count * sizeof(float)), kit::FreeHeap);
    LoadFloats(narrow, 0, weight_dims_.Count(), static_cast<float*>(wide.get()));
    return wide;
  }

  // `w`: null when the weights are packed.
  void RunProduct(OpContext& context, const State& state, const Tensor* w) const {
    const kit::ConvolutionShape& shape = state.shape;
    const Tensor* bias = CheckedBias(context, shape.filters());
    const auto* weights = static_cast<const float*>(w != nullptr ? w->data : state.product_weights.get());
    const auto* x = context.Input(0).as<float>();
    auto* y = context.Output(0, EP_TYPE_FLOAT, state.y_dims).as<float>();
    const int64_t in = shape.in_per_group(), out = shape.filters(), positions = shape.positions();
    MultiplyBlocked<float>(context, shape.x[0], [&](int64_t image) {
      return BlockedProduct<float>{.a = weights,
                                   .a_row = in,
                                   .b = x + image * in * positions,
                                   .b_row = positions,
                                   .y = y + image * out * positions,
                                   .y_row = positions,
                                   .m = out,
                                   .n = positions,
                                   .k = in,
                                   .start = bias == nullptr ? nullptr : bias->as<float>()};
    });
    if (!activation_) return;
    const int64_t grain = std::max<int64_t>(1, 8192 / positions);
    context.ParallelFor(shape.x[0] * out, grain, [&](int64_t begin, int64_t end) {
      ApplyActivation(activation_, y + begin * positions, (end - begin) * positions);
    });
  }

  // Without channels, the sums are zero.
  void RunOverNothing(OpContext& context, const Dims& y_dims) const {
    Tensor& y = context.Output(0, EP_TYPE_FLOAT, y_dims);
    const Tensor* bias = CheckedBias(context, y_dims[1]);
    const Tensor* sum = context.OptionalInput(3);
    if (sum != nullptr && !(sum->dims == y_dims)) FailOp("a residual of another shape than the result");
    const int64_t plane = y_dims.Count(2, y_dims.size());
    auto* to = y.as<float>();
    for (int64_t i = 0; i < y.Count(); ++i)
      to[i] = (bias == nullptr ? 0.0f : bias->as<float>()[i / plane % y_dims[1]]) +
              (sum == nullptr ? 0.0f : sum->as<float>()[i]);
    if (activation_) ApplyActivation(activation_, to, y.Count());
  }

  static ElementType TypeOfWeights(const MemoryDesc& desc) {
    return TypeOf(desc) == dnnl::memory::data_type::bf16 ? EP_TYPE_BFLOAT16 : EP_TYPE_FLOAT;
  }

  static bool IsByMatrices(const dnnl::convolution_forward::primitive_desc& pd) {
    return IsReference(pd) || std::string_view(pd.impl_info_str()).find("gemm") != std::string_view::npos;
  }

  MemoryDesc AnyWeights(const Dims& dims, ElementType type) const {
    return MemoryDesc(WeightDims(dims, group_), DataType(type), dnnl::memory::format_tag::any);
  }

  // True for a swish of a large result: oneDNN's exponential takes longer than our loop with another pass over the
  // result.
  bool ActivatesAfterwards(const kit::ConvolutionShape& shape, ElementType type) const {
    constexpr int64_t kSmall = int64_t{1} << 16;
    return activation_.op == kit::fuse::ElementwiseOp::kSwish && shape.y.Count() > kSmall && type == EP_TYPE_FLOAT;
  }

  // Operations that a primitive fuses with the convolution.
  struct Following {
    bool bias, residual, activation;
  };
  // The input has the type of the weights; the result has that type or float.
  dnnl::convolution_forward::primitive_desc MakeDesc(const kit::ConvolutionShape& shape, const MemoryDesc& weights,
                                                     Following following) const {
    ConvolutionArgs args;
    const bool in_bfloat16 = TypeOf(weights) == dnnl::memory::data_type::bf16;
    args.src = AnyDesc(in_bfloat16 ? EP_TYPE_BFLOAT16 : EP_TYPE_FLOAT, shape.x);
    args.weights = weights;
    // Our loops apply activations only to floats.
    const bool narrow_result = in_bfloat16 && bfloat16_result_ && (following.activation || !activation_);
    args.dst = AnyDesc(narrow_result ? EP_TYPE_BFLOAT16 : EP_TYPE_FLOAT, shape.y);
    args.has_bias = following.bias;
    if (following.bias) args.bias = PlainDesc(EP_TYPE_FLOAT, {shape.w.data(), 1});
    args.strides = ToDnnl(shape.window.strides);
    for (int64_t dilation : shape.window.dilations) args.dilates.push_back(dilation - 1);
    args.pads_begin = ToDnnl(shape.window.pads_begin);
    args.pads_end = ToDnnl(shape.window.pads_end);
    PrimitiveAttr attr = UserScratchpad();
    dnnl::post_ops ops;
    if (following.residual) ops.append_sum(1.0f);
    if (following.activation) AppendActivation(activation_, ops);
    attr.set_post_ops(ops);
    if (bfloat16_) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
    return ConvolutionDesc(args, attr);
  }

  void Prepare(State& state, const Tensor& x, const Dims& weight_dims, bool bias, bool residual,
               bool wants_row_major) const {
    const kit::ConvolutionShape shape = Resolve(x.dims, weight_dims);
    state.x_dims = x.dims;
    state.w_dims = weight_dims;
    state.y_dims = shape.y;
    state.x_layout = x.layout;
    state.call = state.sums_call = ConvolutionCall();
    state.finite_sums.reset();
    state.shape = shape;
    const bool stays = x.layout == nullptr && (group_ > 1 || wants_row_major);
    state.depthwise = stays ? DepthwiseWindowsOf(shape) : std::nullopt;
    state.product = false;
    state.activates = false;
    state.panels.reset();
    state.split.reset();
    state.known = shape.y.Count() == 0 || shape.w.Count() == 0;
    if (state.known) return;
    if (state.depthwise && !residual) {
      state.known = true;
      return;
    }
    state.product = wants_row_major && x.layout == nullptr && !residual && IsProduct(shape);
    if (state.product) {
      state.product_weights = packed_ ? PlainWeights() : nullptr;
      state.known = true;
      return;
    }
    state.panels = panels_ ? PanelWindow::Of(shape) : std::nullopt;
    state.split = split_ ? SplitWindow::Of(shape) : std::nullopt;
    if (state.panels || state.split) {
      state.last_layout = MakeLayout(ChannelsLastOrder(shape.y.size()), EP_TYPE_FLOAT, shape.y);
      state.known = true;
      return;
    }
    PrepareCall(state, x, weight_dims, bias, residual);
    state.known = true;
  }

  enum class Activates { kBySpeed, kAfterwards };
  // Prepares oneDNN's call, or the call for sums without the activation.
  void PrepareCall(State& state, const Tensor& x, const Dims& weight_dims, bool bias, bool residual,
                   Activates activates = Activates::kBySpeed) const {
    const kit::ConvolutionShape& shape = state.shape;
    const dnnl::memory::dims weights = WeightDims(weight_dims, group_);
    // Computed weights are unknown when the primitive is made, so their sums can't be bounded.
    const bool afterwards = activates == Activates::kAfterwards || !packed_;
    const auto choose = [&](ElementType type) {
      return ChooseDesc(packed_, AnyWeights(weight_dims, type), [&](const MemoryDesc& desc) {
        const bool activation = !afterwards && !ActivatesAfterwards(shape, TypeOfWeights(desc));
        return MakeDesc(shape, desc, {bias, residual, activation});
      });
    };
    const ScopedSingleThread scope(IsSmallProduct(shape.y.Count(), shape.in_per_group() * shape.taps()));
    dnnl::convolution_forward::primitive_desc pd;
    try {
      if (packed_.for_bfloat16()) {
        try {
          pd = choose(EP_TYPE_BFLOAT16);
        } catch (const dnnl::error& error) {
          ThrowIfNoMemory(error);
        }
      }
      if (!pd) pd = choose(EP_TYPE_FLOAT);
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      NotImplemented("oneDNN has no convolution for this shape: {}", error.what());
    }
    const MemoryDesc x_desc = x.layout ? x.layout->desc : PlainDesc(EP_TYPE_FLOAT, x.dims);
    if (activates == Activates::kAfterwards)
      return state.sums_call.Reset<dnnl::convolution_forward>(pd, x_desc, PlainDesc(EP_TYPE_FLOAT, weights), packed_,
                                                              bias);
    state.activates = activation_ && (afterwards || ActivatesAfterwards(shape, TypeOfWeights(pd.weights_desc())));
    // If no optimized kernel supports the channels, oneDNN runs a GEMM for each channel, on a row-major copy.
    if (IsByMatrices(pd) && !residual && (!packed_ || depthwise_weights_ != nullptr)) {
      state.depthwise = DepthwiseWindowsOf(shape);
      if (state.depthwise) {
        state.known = true;
        return;
      }
    }
    state.call.Reset<dnnl::convolution_forward>(pd, x_desc, PlainDesc(EP_TYPE_FLOAT, weights), packed_, bias);
  }

  kit::WindowAttributes attributes_;
  int64_t group_;
  Activation activation_;
  bool bfloat16_;
  bool bfloat16_result_;  // all readers of bfloat16 results accept bfloat16
  Dims weight_dims_;
  PackedWeights packed_;
  bool split_ = false;                       // packed_ holds bfloat16 parts
  std::optional<Panels> panels_;             // layout of packed_ when the GEMMs need no oneDNN
  std::shared_ptr<void> depthwise_weights_;  // row-major, for row-major inputs
};

}  // namespace

void Register_conv(KernelRegistry& registry) {
  registry.Add("Conv", "",
               {1, INT64_MAX, Types(EP_TYPE_FLOAT),
                [](const KernelInit& init) -> std::unique_ptr<Kernel> {
                  if (init.InputInfo(0).rank > 5 || !SuitsOneDnn(kit::WindowAttributes::Read(init.node())))
                    return MakeReferenceConv(init);
                  return std::make_unique<ConvKernel>(init);
                },
                ConvKernel::kLayoutUse, &ConvKernel::PromotionOf, ConvKernel::kMultipliesBfloat16,
                ConvKernel::kTakesBfloat16Layouts});
  registry.Add<ConvKernel>("Conv", 1, Types(EP_TYPE_FLOAT), INT64_MAX, kit::fuse::kDomain);
  AddReferenceConvs(registry);
}

}  // namespace epiphyte::cpu
