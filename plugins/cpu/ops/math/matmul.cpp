// MatMul, and the fused form of domain epiphyte.kit: MatMul + bias (input 2) + residual (input 3) + activation.
#include <algorithm>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/cpu/kernel/blocked_product.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/linear.h"

namespace epiphyte::cpu {
namespace {

int64_t TypicalRows(const ir::Value& a) {
  if (a.rank <= 1) return a.rank == 1 ? 1 : 128;
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < a.rank; ++i) {
    if (a.dims[i] <= 0) return 128;
    rows *= a.dims[i];
  }
  return rows;
}

class MatMulKernel final : public Kernel {
 public:
  static constexpr bool kMultipliesBfloat16 = true;

  explicit MatMulKernel(const KernelInit& init)
      : linear_(init, {1, false, TypicalRows(init.InputInfo(0)), Activation::Read(init.node()), init.AllowsBfloat16()}),
        fused_(init.HasInput(2) || init.HasInput(3) || Activation::Read(init.node())),
        bfloat16_(init.AllowsBfloat16()) {}

  void Run(OpContext& context) const override {
    State& state = context.State<State>();
    const Tensor& a = context.Input(0);
    const Tensor* b = linear_.packed() ? nullptr : &context.Input(1);
    if (b != nullptr && b->type != EP_TYPE_FLOAT)
      FailOp("operands of type {} and {}", TypeName(a.type), TypeName(b->type));
    const Dims& b_dims = b == nullptr ? linear_.b_dims() : b->dims;
    if (!(state.a_dims == a.dims) || !(state.b_dims == b_dims) || !state.known) {
      state.a_dims = a.dims;
      state.b_dims = b_dims;
      state.shape = kit::ProductShape(a.dims, b_dims);
      state.batch_call = PrimitiveCall();
      state.known = true;
    }
    const kit::ProductShape& shape = state.shape;
    if (b_dims.size() <= 2 || shape.b_batch.Count() == 1) {
      RunLinear(context, state, a, b);
    } else if (fused_) {
      FailOp("a fused product needs a matrix on the right");
    } else {
      RunBatched(context, state, a, *b);
    }
  }

 private:
  struct State {
    bool known = false;
    Dims a_dims, b_dims;
    kit::ProductShape shape;
    Linear::State linear;
    PrimitiveCall batch_call;
  };

  // One right matrix for all batches: all rows of A form one GEMM.
  void RunLinear(OpContext& context, State& state, const Tensor& a, const Tensor* b) const {
    const kit::ProductShape& shape = state.shape;
    Linear::Operands o;
    o.rows = shape.batch.Count() * shape.m;
    o.k = shape.k;
    o.n = shape.n;
    if (shape.b_batch.Count() == 1 && shape.a_batch.Count() != shape.batch.Count())
      FailOp("batch dimensions don't broadcast");
    o.a = a.data;
    o.b = b == nullptr ? nullptr : b->data;
    if (context.HasInput(2)) {
      const Tensor& bias = context.Input(2);
      if (bias.Count() != shape.n) FailOp("{} biases for {} columns", bias.Count(), shape.n);
      o.bias = bias.data;
    }
    Tensor* y = nullptr;
    if (context.HasInput(3)) {
      const Tensor& residual = context.Input(3);
      if (residual.Count() != o.rows * o.n) FailOp("a residual of another shape than the result");
      y = context.OutputInPlace(0, 3, EP_TYPE_FLOAT, shape.y);
      o.residual = residual.data;
    }
    if (y == nullptr) y = &context.Output(0, EP_TYPE_FLOAT, shape.y);
    o.y = y->data;
    linear_.Run(context, state.linear, o);
  }

  void RunBatched(OpContext& context, State& state, const Tensor& a, const Tensor& b) const {
    const kit::ProductShape& shape = state.shape;
    Tensor& y = context.Output(0, EP_TYPE_FLOAT, shape.y);
    const int64_t batches = shape.batch.Count();
    if (y.Count() == 0) return;
    if (shape.k == 0) {
      std::fill_n(y.as<float>(), y.Count(), 0.0f);
      return;
    }
    // With few rows, each matrix is read once and in place; oneDNN would copy it first.
    if (shape.m <= blocked_product::kThinRows) {
      MultiplyBlocked<float>(context, batches, [&](int64_t i) {
        return BlockedProduct<float>{.a = a.as<float>() + shape.OffsetA(i) * shape.m * shape.k,
                                     .a_row = shape.k,
                                     .b = b.as<float>() + shape.OffsetB(i) * shape.k * shape.n,
                                     .b_row = shape.n,
                                     .y = y.as<float>() + i * shape.m * shape.n,
                                     .y_row = shape.n,
                                     .m = shape.m,
                                     .n = shape.n,
                                     .k = shape.k};
      });
      return;
    }
    // With equal batches (or a broadcast operand), one primitive does all GEMMs; otherwise there is a call for each
    // matrix.
    const bool a_full = shape.a_batch.Count() == batches;
    const bool b_full = shape.b_batch.Count() == batches;
    const bool one_call = (a_full || shape.a_batch.Count() == 1) && b_full;
    if (!state.batch_call) {
      const int64_t depth = one_call ? batches : 1;
      const MemoryDesc a_desc =
          StridedDesc(EP_TYPE_FLOAT, {a_full ? depth : 1, shape.m, shape.k}, {shape.m * shape.k, shape.k, 1});
      const MemoryDesc b_desc = StridedDesc(EP_TYPE_FLOAT, {depth, shape.k, shape.n}, {shape.k * shape.n, shape.n, 1});
      const MemoryDesc y_desc = StridedDesc(EP_TYPE_FLOAT, {depth, shape.m, shape.n}, {shape.m * shape.n, shape.n, 1});
      PrimitiveAttr attr = UserScratchpad();
      if (bfloat16_) attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
      try {
        const auto pd = MatMulDesc(a_desc, b_desc, nullptr, y_desc, attr);
        state.batch_call.Reset(dnnl::matmul(pd), pd.scratchpad_desc());
        state.batch_call.Add(DNNL_ARG_SRC, a_desc);
        state.batch_call.Add(DNNL_ARG_WEIGHTS, b_desc);
        state.batch_call.Add(DNNL_ARG_DST, y_desc);
      } catch (const dnnl::error& error) {
        ThrowIfNoMemory(error);
        throw kit::Error(EP_STATUS_EP_FAIL, FormatText("oneDNN has no matmul for this shape: {}", error.what()));
      }
    }
    const int64_t calls = one_call ? 1 : batches;
    for (int64_t i = 0; i < calls; ++i) {
      const int64_t a_index = one_call ? 0 : shape.OffsetA(i);
      const int64_t b_index = one_call ? 0 : shape.OffsetB(i);
      state.batch_call.Set(DNNL_ARG_SRC, a.as<float>() + a_index * shape.m * shape.k);
      state.batch_call.Set(DNNL_ARG_WEIGHTS, b.as<float>() + b_index * shape.k * shape.n);
      state.batch_call.Set(DNNL_ARG_DST, y.as<float>() + i * shape.m * shape.n);
      state.batch_call.Run(context);
    }
  }

  Linear linear_;
  bool fused_;
  bool bfloat16_;
};

// MatMul of double and of integers, which wrap.
template <typename T>
class BlockedMatMulKernel final : public Kernel {
 public:
  explicit BlockedMatMulKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    if (b.type != a.type) FailOp("operands of type {} and {}", TypeName(a.type), TypeName(b.type));
    const kit::ProductShape shape(a.dims, b.dims);
    Tensor& y = context.Output(0, a.type, shape.y);
    // One right matrix for all batches: all rows of A form one GEMM.
    const int64_t batches = shape.batch.Count();
    const bool joined = shape.b_batch.Count() == 1 && shape.a_batch.Count() == batches;
    const auto product = [&](int64_t i) {
      BlockedProduct<Number> p;
      p.a = a.as<Number>() + (joined ? 0 : shape.OffsetA(i) * shape.m * shape.k);
      p.a_row = shape.k;
      p.b = b.as<Number>() + (joined ? 0 : shape.OffsetB(i) * shape.k * shape.n);
      p.b_row = shape.n;
      p.y = y.as<Number>() + i * shape.m * shape.n;
      p.y_row = shape.n;
      p.m = joined ? batches * shape.m : shape.m;
      p.n = shape.n;
      p.k = shape.k;
      return p;
    };
    MultiplyBlocked<Number>(context, joined ? 1 : batches, product);
  }

 private:
  using Number = UnsignedNumber<T>;
};

// MatMul of the 16-bit formats with float sums, for values with types unknown when the plan was made. With known types,
// such nodes become float GEMMs (exec/float_fallback.h).
template <typename T>
class ReferenceMatMulKernel final : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit ReferenceMatMulKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    if (b.type != a.type) FailOp("operands of type {} and {}", TypeName(a.type), TypeName(b.type));
    const kit::ProductShape shape(a.dims, b.dims);
    Tensor& y = context.Output(0, a.type, shape.y);
    const int64_t rows = shape.batch.Count() * shape.m;
    if (shape.n == 0) return;
    context.ParallelFor(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, shape.k * shape.n)),
                        [&](int64_t begin, int64_t end) {
                          std::vector<float> sums(static_cast<size_t>(shape.n));
                          for (int64_t row = begin; row < end; ++row) {
                            const int64_t batch = row / shape.m;
                            const T* left = a.as<T>() + (shape.OffsetA(batch) * shape.m + row % shape.m) * shape.k;
                            const T* right = b.as<T>() + shape.OffsetB(batch) * shape.k * shape.n;
                            std::fill(sums.begin(), sums.end(), 0.0f);
                            for (int64_t k = 0; k < shape.k; ++k) {
                              const float factor = static_cast<float>(left[k]);
                              for (int64_t n = 0; n < shape.n; ++n)
                                sums[n] += factor * static_cast<float>(right[k * shape.n + n]);
                            }
                            T* to = y.as<T>() + row * shape.n;
                            for (int64_t n = 0; n < shape.n; ++n) to[n] = static_cast<T>(sums[n]);
                          }
                        });
  }
};

}  // namespace

void Register_matmul(KernelRegistry& registry) {
  registry.Add<MatMulKernel>("MatMul", 1, Types(EP_TYPE_FLOAT));
  registry.Add<MatMulKernel>("MatMul", 1, Types(EP_TYPE_FLOAT), INT64_MAX, kit::fuse::kDomain);
  registry.Add<BlockedMatMulKernel<double>>("MatMul", 1, Types(EP_TYPE_DOUBLE));
  registry.Add<ReferenceMatMulKernel<Float16>>("MatMul", 1, Types(EP_TYPE_FLOAT16));
  registry.Add<ReferenceMatMulKernel<BFloat16>>("MatMul", 1, Types(EP_TYPE_BFLOAT16));
  registry.Add<BlockedMatMulKernel<int32_t>>("MatMul", 9, Types(EP_TYPE_INT32));
  registry.Add<BlockedMatMulKernel<uint32_t>>("MatMul", 9, Types(EP_TYPE_UINT32));
  registry.Add<BlockedMatMulKernel<int64_t>>("MatMul", 9, Types(EP_TYPE_INT64));
  registry.Add<BlockedMatMulKernel<uint64_t>>("MatMul", 9, Types(EP_TYPE_UINT64));
}

}  // namespace epiphyte::cpu
