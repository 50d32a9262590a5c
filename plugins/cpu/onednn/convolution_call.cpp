#include "plugins/cpu/onednn/convolution_call.h"

#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {

void ConvolutionCall::SetOperands(const MemoryDesc& x, const MemoryDesc& weights, const MemoryDesc& y,
                                  const MemoryDesc& given_x, const MemoryDesc& plain, const PackedWeights& packed) {
  x_desc_ = x;
  w_desc_ = weights;
  y_desc_ = y;
  // A bfloat16 result for a float tensor has no AxisOrder, so that only kernels for such layouts read it.
  y_layout_ = TypeOf(y) == dnnl::memory::data_type::bf16 ? std::make_shared<const Layout>(Layout{y, std::nullopt})
                                                         : MakeLayout(y);
  plain_ = plain;
  packed_ = packed;
  repacked_.reset();
  if (packed && packed.desc != weights) {
    repacked_ = Repack(packed, weights);
    packed_ = {weights, repacked_.get(), packed.type};
  }
  reorder_x_ = x != given_x;
  given_order_.reset();
  if (!reorder_x_) return;
  if (TypeOf(x) == dnnl::memory::data_type::f32 && TypeOf(given_x) == dnnl::memory::data_type::f32) {
    given_order_ = OrderOf(given_x);
    x_order_ = OrderOf(x);
    const std::vector<int64_t> dims = Describe(x).dims;
    x_dims_ = Dims(std::span<const int64_t>(dims));
  }
  const PrimitiveAttr attr = UserScratchpad();
  const dnnl::reorder::primitive_desc reorder(CpuEngine(), given_x, CpuEngine(), x, attr);
  x_call_.Reset(dnnl::reorder(reorder), reorder.scratchpad_desc());
  x_call_.Add(DNNL_ARG_FROM, given_x);
  x_call_.Add(DNNL_ARG_TO, x);
}

void ConvolutionCall::Run(OpContext& context, const void* x, const void* weights, const void* bias, void* y) {
  if (reorder_x_) {
    void* scratch = context.Scratch(x_desc_.get_size());
    if (!CopyOrdered(context, x_dims_, given_order_, static_cast<const float*>(x), x_order_,
                     static_cast<float*>(scratch))) {
      x_call_.Set(DNNL_ARG_FROM, x);
      x_call_.Set(DNNL_ARG_TO, scratch);
      x_call_.Run(context);
    }
    x = scratch;
  }
  if (packed_) {
    weights = AsFloats(context, packed_);
  } else if (w_desc_ != plain_) {
    void* scratch = context.Scratch(w_desc_.get_size());
    w_call_.Run(plain_, weights, w_desc_, scratch);
    weights = scratch;
  }
  call_.Set(DNNL_ARG_SRC, x);
  call_.Set(DNNL_ARG_WEIGHTS, weights);
  if (bias != nullptr) call_.Set(DNNL_ARG_BIAS, bias);
  call_.Set(DNNL_ARG_DST, y);
  call_.Run(context);
}

}  // namespace epiphyte::cpu
