#include "plugins/cpu/onednn/linear.h"

#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernel/small_floats.h"
#include "plugins/cpu/onednn/bfloat16_panels.h"
#include "plugins/cpu/onednn/split.h"
#include "plugins/cpu/onednn/warm_up_scope.h"

namespace epiphyte::cpu {
namespace {

// Upper bound for the rows of the typical shape: a declared shape may have any number, and oneDNN divides by values
// that it derives from numbers beyond 32 bits.
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
    // A single row, as in text generation, is limited by memory bandwidth, and panels of floats are read fastest.
    const bool in_bfloat16 = typical.rows > 1 && MayMultiplyBfloat16(init, options_.b_input, options_.key);
    constexpr int64_t kFewestSplitRows = 8;
    std::optional<MemoryDesc> split;
    if (!in_bfloat16 && typical.rows >= kFewestSplitRows && MaySplit(init, options_.b_input, options_.key, dims))
      split = SplitMatrixDesc(k, n);
    const auto choose = [&] {
      if (split) return *split;
      if (in_bfloat16) {
        try {
          const auto pd = MakeDesc(typical, n, AnyDesc(EP_TYPE_BFLOAT16, dims), 0, true);
          if (!IsReference(pd)) return pd.weights_desc();
        } catch (const dnnl::error& error) {
          ThrowIfNoMemory(error);
        }
      }
      return MakeDesc(typical, n, AnyDesc(EP_TYPE_FLOAT, dims), 0, true).weights_desc();
    };
    packed_ = PackWeights(init, options_.b_input, options_.key, PlainB(k, n), choose,
                          {.in_parts = split.has_value(), .offset = options_.offset, .drop = options_.last_part});
    if (packed_) panels_ = PanelsOf(packed_.desc);
    split_ = (HasSplitProducts() && IsSplit(packed_)) || HasBfloat16Panels(packed_);
    b_dims_ = b->dims;
  } catch (const dnnl::error& error) {
    ThrowIfNoMemory(error);
    throw kit::Error(EP_STATUS_EP_FAIL, FormatText("oneDNN has no matmul for {} x {}: {}", k, n, error.what()));
  }
}

MemoryDesc Linear::PlainB(int64_t k, int64_t n) const {
  return options_.transpose_b ? StridedDesc(EP_TYPE_FLOAT, {k, n}, {1, k}) : StridedDesc(EP_TYPE_FLOAT, {k, n}, {n, 1});
}

dnnl::matmul::primitive_desc Linear::MakeDesc(const Operands& o, int64_t columns, const MemoryDesc& b, int residual,
                                              bool activation) const {
  const bool in_bfloat16 = TypeOf(b) == dnnl::memory::data_type::bf16;
  const MemoryDesc a = StridedDesc(in_bfloat16 ? EP_TYPE_BFLOAT16 : EP_TYPE_FLOAT, {o.rows, o.k},
                                   o.transposed_a ? dnnl::memory::dims{1, o.rows} : dnnl::memory::dims{o.k, 1});
  const MemoryDesc y = StridedDesc(EP_TYPE_FLOAT, {o.rows, columns}, {o.n, 1});
  const MemoryDesc bias = StridedDesc(EP_TYPE_FLOAT, {1, columns}, {columns, 1});
  PrimitiveAttr attr = UserScratchpad();
  dnnl::post_ops ops;
  if (residual == 1) ops.append_sum(1.0f);
  if (residual == 2) ops.append_binary(dnnl::algorithm::binary_add, y);
  if (activation) AppendActivation(options_.activation, ops);
  attr.set_post_ops(ops);
  if (options_.bfloat16) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
  return MatMulDesc(a, b, o.bias != nullptr ? &bias : nullptr, y, attr);
}

void Linear::Prepare(OpContext& context, State& state, const Operands& o, int residual) const {
  state.rows = o.rows;
  state.k = o.k;
  state.n = o.n;
  state.bias = o.bias != nullptr;
  state.transposed_a = o.transposed_a;
  state.residual = residual;
  state.use_repacked = false;
  state.columns = 0;
  if (PrepareColumns(context, state, o, residual)) return;
  const ScopedSingleThread scope(IsSmallProduct(o.rows * o.n, o.k));
  dnnl::matmul::primitive_desc pd;
  if (packed_) {
    bool fits = true;
    try {
      pd = MakeDesc(o, o.n, packed_.desc, residual, !state.activates);
      fits = !IsReference(pd);
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      fits = false;
    }
    if (!fits) {
      pd = MakeDesc(o, o.n, PlainB(o.k, o.n), residual, !state.activates);
      if (!state.repacked) {
        state.repacked_desc = pd.weights_desc();
        state.repacked = Repack(packed_, state.repacked_desc);
      }
      state.use_repacked = true;
    }
  } else {
    pd = MakeDesc(o, o.n, PlainB(o.k, o.n), residual, !state.activates);
  }
  Reset(state.call, pd, o, o.n, residual);
}

// Returns false when all columns are widened at once: they are floats already, they are few, or oneDNN has no
// implementation for a part of them.
bool Linear::PrepareColumns(OpContext& context, State& state, const Operands& o, int residual) const {
  if (!panels_ || packed_.type == EP_TYPE_FLOAT) return false;
  // Panels per thread, such that they stay in the core's own cache.
  constexpr int64_t kCachedFloats = int64_t{1} << 18;
  const int64_t panels = int64_t{context.thread_count()} * std::max<int64_t>(1, kCachedFloats / panels_->stride);
  const int64_t columns = panels * panels_->width;
  if (columns >= o.n) return false;
  const auto part = [&](int64_t count) {
    BlockedDesc b = Describe(packed_.desc);
    b.dims[1] = count;
    b.padded[1] = (count + panels_->width - 1) / panels_->width * panels_->width;
    const std::optional<MemoryDesc> desc = cpu::MakeDesc(b, EP_TYPE_FLOAT);
    return desc ? std::optional(MakeDesc(o, count, *desc, residual, !state.activates)) : std::nullopt;
  };
  try {
    const auto most = part(columns);
    if (!most || IsReference(*most)) return false;
    if (const int64_t rest = o.n % columns; rest != 0) {
      const auto last = part(rest);
      if (!last || IsReference(*last)) return false;
      Reset(state.last_call, *last, o, rest, residual);
    }
    Reset(state.call, *most, o, columns, residual);
  } catch (const dnnl::error& error) {
    ThrowIfNoMemory(error);
    return false;
  }
  state.columns = columns;
  return true;
}

void Linear::Reset(PrimitiveCall& call, const dnnl::matmul::primitive_desc& pd, const Operands& o, int64_t columns,
                   int residual) const {
  call.Reset(dnnl::matmul(pd), pd.scratchpad_desc());
  call.Add(DNNL_ARG_SRC, pd.src_desc());
  call.Add(DNNL_ARG_WEIGHTS, pd.weights_desc());
  if (o.bias != nullptr) call.Add(DNNL_ARG_BIAS, StridedDesc(EP_TYPE_FLOAT, {1, columns}, {columns, 1}));
  call.Add(DNNL_ARG_DST, pd.dst_desc());
  if (residual == 2) call.Add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, pd.dst_desc());
}

void Linear::RunColumns(OpContext& context, State& state, const Operands& o, int residual) const {
  const auto floats = [](const void* data, int64_t offset) { return static_cast<const float*>(data) + offset; };
  const int64_t in_panels = state.columns / panels_->width * panels_->stride;
  auto* b = static_cast<float*>(context.Scratch(static_cast<uint64_t>(in_panels) * sizeof(float)));
  for (int64_t column = 0; column < o.n; column += state.columns) {
    const int64_t begin = column / panels_->width * panels_->stride;
    WidenWeights(context, packed_, begin, std::min(in_panels, packed_.count() - begin), b);
    PrimitiveCall& call = column + state.columns <= o.n ? state.call : state.last_call;
    call.Set(DNNL_ARG_SRC, o.a);
    call.Set(DNNL_ARG_WEIGHTS, b);
    if (o.bias != nullptr) call.Set(DNNL_ARG_BIAS, floats(o.bias, column));
    call.Set(DNNL_ARG_DST, floats(o.y, column));
    if (residual == 2) call.Set(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, floats(o.residual, column));
    call.RunAlone();
  }
}

const void* Linear::RoundToBfloat16(OpContext& context, const Operands& o) {
  constexpr int64_t kShare = 1 << 14;
  const int64_t count = o.rows * o.k;
  const auto* floats = static_cast<const float*>(o.a);
  auto* rounded = static_cast<BFloat16*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(BFloat16)));
  const simd::ConvertLoop<float, BFloat16> round;
  context.ParallelFor(count, kShare,
                      [&](int64_t begin, int64_t end) { round(floats + begin, rounded + begin, end - begin); });
  return rounded;
}

bool Linear::RunVector(OpContext& context, const Operands& o) const {
  const auto floats = [](const void* data) { return static_cast<const float*>(data); };
  RowOperands row{floats(o.a), o.b, EP_TYPE_FLOAT, floats(o.bias), floats(o.residual), static_cast<float*>(o.y),
                  o.k,         o.n};
  if (o.rows == 1) {
    RowTimesMatrix(context, row, options_.transpose_b, false, options_.activation);
    return true;
  }
  // Transposed, a matrix times a column is also a row times a matrix.
  if (o.n != 1) return false;
  row.a = floats(o.b);
  row.b = o.a;
  row.n = o.rows;
  RowTimesMatrix(context, row, !o.transposed_a, true, options_.activation);
  return true;
}

bool Linear::RunSplit(OpContext& context, const Operands& o) const {
  const auto floats = [](const void* data) { return static_cast<const float*>(data); };
  SplitOperands split;
  split.weights = packed_;
  split.a = floats(o.a);
  split.rows = o.rows;
  split.k = o.k;
  split.n = o.n;
  split.bias = floats(o.bias);
  split.sum = floats(o.residual);
  split.activation = options_.activation;
  split.y = static_cast<float*>(o.y);
  if (!packed_.for_bfloat16()) return MultiplySplit(context, split);
  MultiplyBfloat16(context, split);
  return true;
}

bool Linear::SumsAreFinite(OpContext& context, State& state, const Operands& o) const {
  if (!packed_) return false;
  // The operands of a warm-up are not computed yet.
  if (WarmUpScope::IsActive()) return true;
  if (!state.finite_sums) state.finite_sums.emplace(context, packed_, o.k);
  const auto numbers = [](const void* data, int64_t count) { return Numbers{data, count, EP_TYPE_FLOAT}; };
  return std::isfinite(state.finite_sums->Limit(context, numbers(o.a, o.rows * o.k), numbers(o.bias, o.n),
                                                numbers(o.residual, o.rows * o.n)));
}

void Linear::Run(OpContext& context, State& state, const Operands& o) const {
  if (o.rows == 0 || o.n == 0) return;
  const int residual = o.residual == nullptr ? 0 : o.residual == o.y ? 1 : 2;
  if (o.k == 0) {
    if (o.bias != nullptr || residual != 0 || options_.activation) NotImplemented("a fused product over no elements");
    std::fill_n(static_cast<float*>(o.y), o.rows * o.n, 0.0f);
    return;
  }
  if (panels_ && (o.rows == 1 || (o.rows <= kMostPanelRows && packed_.has_floats() && !o.transposed_a))) {
    const auto floats = [](const void* data) { return static_cast<const float*>(data); };
    const RowOperands operands{
        floats(o.a), packed_.data, packed_.type, floats(o.bias), floats(o.residual), static_cast<float*>(o.y),
        o.k,         o.n};
    if (o.rows == 1) return RowTimesPanels(context, *panels_, operands, options_.activation);
    return RowsTimesPanels(context, *panels_, operands, o.rows, options_.activation);
  }
  if (!packed_ && RunVector(context, o)) return;
  if (split_ && !o.transposed_a && RunSplit(context, o)) return;
  const bool activates = options_.activation && !SumsAreFinite(context, state, o);
  if (!state.call || state.activates != activates || state.rows != o.rows || state.k != o.k || state.n != o.n ||
      state.bias != (o.bias != nullptr) || state.residual != residual || state.transposed_a != o.transposed_a) {
    state.activates = activates;
    try {
      Prepare(context, state, o, residual);
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      throw kit::Error(EP_STATUS_EP_FAIL,
                       FormatText("oneDNN has no matmul for {} x {} x {}: {}", o.rows, o.k, o.n, error.what()));
    }
  }
  if (state.columns != 0) {
    RunColumns(context, state, o, residual);
  } else {
    RunCall(context, state, o, residual);
  }
  if (!activates || WarmUpScope::LeavesOut(o.rows * o.n)) return;
  constexpr int64_t kShare = 1 << 13;
  auto* const y = static_cast<float*>(o.y);
  context.ParallelFor(o.rows * o.n, kShare, [&](int64_t begin, int64_t end) {
    ApplyActivation(options_.activation, y + begin, end - begin);
  });
}

void Linear::RunCall(OpContext& context, State& state, const Operands& o, int residual) const {
  PackedWeights packed = packed_;
  if (state.use_repacked) packed = {state.repacked_desc, state.repacked.get(), packed_.type};
  state.call.Set(DNNL_ARG_SRC, packed.for_bfloat16() ? RoundToBfloat16(context, o) : o.a);
  state.call.Set(DNNL_ARG_WEIGHTS, packed ? AsFloats(context, packed) : o.b);
  if (o.bias != nullptr) state.call.Set(DNNL_ARG_BIAS, o.bias);
  state.call.Set(DNNL_ARG_DST, o.y);
  if (residual == 2) state.call.Set(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, o.residual);
  state.call.Run(context);
}

}  // namespace epiphyte::cpu
