#include "plugins/cpu/onednn/linear.h"

#include <algorithm>

namespace epiphyte::cpu {
namespace {

// A layout is chosen for no more rows than this: a declared shape may say any number, and oneDNN divides by what it
// makes of numbers beyond 32 bits.
constexpr int64_t kMostTypicalRows = int64_t{1} << 20;

}  // namespace

Linear::Linear(const KernelInit& init, Options options) : options_(std::move(options)) {
  const Tensor* b = init.PeekConstant(options_.b_input);
  if (b == nullptr || b->type != EP_TYPE_FLOAT || b->Count() == 0) return;
  const bool part = options_.k > 0;
  if (part ? options_.offset + options_.k * options_.n > b->Count() : b->rank() != 2) return;
  const int64_t k = part ? options_.k : options_.transpose_b ? b->dims[1] : b->dims[0];
  const int64_t n = part ? options_.n : options_.transpose_b ? b->dims[0] : b->dims[1];
  Operands typical;
  typical.rows = std::clamp<int64_t>(options_.typical_rows, 1, kMostTypicalRows);
  typical.k = k;
  typical.n = n;
  try {
    const int64_t dims[] = {k, n};
    const auto choose = [&] { return MakeDesc(typical, AnyDesc(EP_TYPE_FLOAT, dims), 0).weights_desc(); };
    packed_ =
        PackWeights(init, options_.b_input, options_.key, PlainB(k, n), choose, options_.offset, options_.last_part);
    if (packed_) panels_ = PanelsOf(packed_.desc);
    b_dims_ = b->dims;
  } catch (const dnnl::error& error) {
    ThrowIfNoMemory(error);
    throw kit::Error(EP_STATUS_EP_FAIL, fmt::format("oneDNN has no matmul for {} x {}: {}", k, n, error.what()));
  }
}

MemoryDesc Linear::PlainB(int64_t k, int64_t n) const {
  return options_.transpose_b ? StridedDesc(EP_TYPE_FLOAT, {k, n}, {1, k}) : StridedDesc(EP_TYPE_FLOAT, {k, n}, {n, 1});
}

dnnl::matmul::primitive_desc Linear::MakeDesc(const Operands& o, const MemoryDesc& b, int residual) const {
  const MemoryDesc a = StridedDesc(EP_TYPE_FLOAT, {o.rows, o.k},
                                   o.transposed_a ? dnnl::memory::dims{1, o.rows} : dnnl::memory::dims{o.k, 1});
  const MemoryDesc y = StridedDesc(EP_TYPE_FLOAT, {o.rows, o.n}, {o.n, 1});
  const MemoryDesc bias = StridedDesc(EP_TYPE_FLOAT, {1, o.n}, {o.n, 1});
  PrimitiveAttr attr = UserScratchpad();
  dnnl::post_ops ops;
  if (residual == 1) ops.append_sum(1.0f);
  if (residual == 2) ops.append_binary(dnnl::algorithm::binary_add, y);
  AppendActivation(options_.activation, ops);
  attr.set_post_ops(ops);
  if (options_.bfloat16) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
  return MatMulDesc(a, b, o.bias != nullptr ? &bias : nullptr, y, attr);
}

void Linear::Prepare(State& state, const Operands& o, int residual) const {
  state.rows = o.rows;
  state.k = o.k;
  state.n = o.n;
  state.bias = o.bias != nullptr;
  state.transposed_a = o.transposed_a;
  state.residual = residual;
  state.use_repacked = false;
  dnnl::matmul::primitive_desc pd;
  if (packed_) {
    bool fits = true;
    try {
      pd = MakeDesc(o, packed_.desc, residual);
      fits = std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos;
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      fits = false;
    }
    if (!fits) {
      pd = MakeDesc(o, PlainB(o.k, o.n), residual);
      if (!state.repacked) {
        state.repacked = Repack(packed_, pd.weights_desc());
      }
      state.use_repacked = true;
    }
  } else {
    pd = MakeDesc(o, PlainB(o.k, o.n), residual);
  }
  state.call.Reset(dnnl::matmul(pd), pd.scratchpad_desc());
  state.call.Add(DNNL_ARG_SRC, pd.src_desc());
  state.call.Add(DNNL_ARG_WEIGHTS, pd.weights_desc());
  if (state.bias) state.call.Add(DNNL_ARG_BIAS, StridedDesc(EP_TYPE_FLOAT, {1, o.n}, {o.n, 1}));
  state.call.Add(DNNL_ARG_DST, pd.dst_desc());
  if (residual == 2) state.call.Add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, pd.dst_desc());
}

void Linear::Run(OpContext& context, State& state, const Operands& o) const {
  if (o.rows == 0 || o.n == 0) return;
  const int residual = o.residual == nullptr ? 0 : o.residual == o.y ? 1 : 2;
  if (o.k == 0) {
    if (o.bias != nullptr || residual != 0 || options_.activation) NotImplemented("a fused product over no elements");
    std::fill_n(static_cast<float*>(o.y), o.rows * o.n, 0.0f);
    return;
  }
  if (o.rows == 1 && panels_) {
    const auto floats = [](const void* data) { return static_cast<const float*>(data); };
    const RowOperands row{
        floats(o.a), floats(packed_.data), floats(o.bias), floats(o.residual), static_cast<float*>(o.y), o.k, o.n};
    return RowTimesPanels(context, *panels_, row, options_.activation);
  }
  if (!state.call || state.rows != o.rows || state.k != o.k || state.n != o.n || state.bias != (o.bias != nullptr) ||
      state.residual != residual || state.transposed_a != o.transposed_a) {
    try {
      Prepare(state, o, residual);
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      throw kit::Error(EP_STATUS_EP_FAIL,
                       fmt::format("oneDNN has no matmul for {} x {} x {}: {}", o.rows, o.k, o.n, error.what()));
    }
  }
  state.call.Set(DNNL_ARG_SRC, o.a);
  state.call.Set(DNNL_ARG_WEIGHTS, state.use_repacked ? state.repacked.get() : packed_ ? packed_.data : o.b);
  if (o.bias != nullptr) state.call.Set(DNNL_ARG_BIAS, o.bias);
  state.call.Set(DNNL_ARG_DST, o.y);
  if (residual == 2) state.call.Set(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, o.residual);
  if (state.in_loop) {
    state.call.RunAlone();
  } else {
    state.call.Run(context);
  }
}

}  // namespace epiphyte::cpu
