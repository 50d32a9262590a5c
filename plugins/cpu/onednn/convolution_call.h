// ConvolutionCall: a convolution or transposed convolution for one shape, ready to run. It holds the layouts of the
// operands, the reorder of an input in another layout, and repacked weights when the shape wants another layout.
//
//   const auto pd = ChooseDesc(packed, any_weights, [&](const MemoryDesc& weights) { return Describe(weights); });
//   call.Reset<dnnl::convolution_forward>(pd, x_desc, plain_weights, packed, has_bias);
//   Tensor& y = context.OutputWithLayout(0, EP_TYPE_FLOAT, dims, call.y_layout(), call.y_desc().get_size());
//   call.Run(context, x.data, weights, bias, y.data);
#pragma once

#include <memory>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/primitive.h"
#include "plugins/cpu/onednn/reorder_call.h"
#include "plugins/cpu/onednn/weights.h"

namespace epiphyte::cpu {

inline dnnl::memory::dims ToDnnl(std::span<const int64_t> dims) { return {dims.begin(), dims.end()}; }

// Dimension for which a layout is chosen: the declared one, or a typical one. The typical one is used when the declared
// one is unknown, or larger than that of any image, because a declared shape may be anything.
inline int64_t SizeToPlanFor(int64_t declared, int64_t typical) {
  constexpr int64_t kMost = int64_t{1} << 16;
  return declared > 0 && declared <= kMost ? declared : typical;
}

// Returns the descriptor for the weights as packed. If that is missing, or alone is oneDNN's reference implementation,
// it returns the best one for the shape. `describe(weights)` throws dnnl::error when oneDNN has no implementation.
template <typename Describe>
auto ChooseDesc(const PackedWeights& packed, const MemoryDesc& any_weights, Describe&& describe) {
  auto best = describe(any_weights);
  if (!packed || best.weights_desc() == packed.desc) return best;
  try {
    auto fitting = describe(packed.desc);
    if (!IsReference(fitting) || IsReference(best)) return fitting;
  } catch (const dnnl::error& error) {
    ThrowIfNoMemory(error);
  }
  return best;
}

class ConvolutionCall {
 public:
  // Replaces the previous call. `x`: layout of the input; `plain`: layout of weights that are not packed.
  template <typename Primitive>
  void Reset(const typename Primitive::primitive_desc& pd, const MemoryDesc& x, const MemoryDesc& plain,
             const PackedWeights& packed, bool bias) {
    SetOperands(pd.src_desc(), pd.weights_desc(), pd.dst_desc(), x, plain, packed);
    call_.Reset(Primitive(pd), pd.scratchpad_desc());
    call_.Add(DNNL_ARG_SRC, x_desc_);
    call_.Add(DNNL_ARG_WEIGHTS, w_desc_);
    if (bias) call_.Add(DNNL_ARG_BIAS, pd.bias_desc());
    call_.Add(DNNL_ARG_DST, y_desc_);
  }
  explicit operator bool() const { return static_cast<bool>(call_); }

  const MemoryDesc& y_desc() const { return y_desc_; }
  const std::shared_ptr<const Layout>& y_layout() const { return y_layout_; }

  // `weights`: in the layout `plain` of Reset; ignored when the weights are packed. `bias`: null for Reset without
  // bias.
  void Run(OpContext& context, const void* x, const void* weights, const void* bias, void* y);

 private:
  void SetOperands(const MemoryDesc& x, const MemoryDesc& weights, const MemoryDesc& y, const MemoryDesc& given_x,
                   const MemoryDesc& plain, const PackedWeights& packed);

  MemoryDesc x_desc_, w_desc_, y_desc_, plain_;
  std::shared_ptr<const Layout> y_layout_;
  PackedWeights packed_;
  std::shared_ptr<void> repacked_;  // owns packed_'s data when the shape wants another layout than the kernel
  bool reorder_x_ = false;
  std::optional<AxisOrder> given_order_, x_order_;  // for a float input that is reordered
  Dims x_dims_;
  PrimitiveCall call_, x_call_;
  ReorderCall w_call_;
};

}  // namespace epiphyte::cpu
