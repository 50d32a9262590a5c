// Gemm: Y = alpha * op(A) * op(B) + beta * C.
#include <algorithm>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "plugins/cpu/kernel/blocked_product.h"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/onednn/linear.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"

namespace epiphyte::cpu {
namespace {

struct GemmAttributes {
  float alpha, beta;
  bool transpose_a, transpose_b;
  explicit GemmAttributes(const ir::Node& node)
      : alpha(node.Float("alpha", 1)),
        beta(node.Float("beta", 1)),
        transpose_a(node.Int("transA", 0) != 0),
        transpose_b(node.Int("transB", 0) != 0) {}
};

class GemmKernel final : public Kernel {
 public:
  static constexpr bool kMultipliesBfloat16 = true;

  explicit GemmKernel(const KernelInit& init)
      : attributes_(init.node()),
        plain_(attributes_.alpha == 1.0f && (attributes_.beta == 1.0f || !init.HasInput(2))),
        activation_(Activation::Read(init.node())),
        linear_(init, LinearOptions(init)) {
    if (activation_ && !plain_) FailOp("a fused Gemm must not scale");
  }

  void Run(OpContext& context) const override {
    State& state = context.State<State>();
    const Tensor& a = context.Input(0);
    const Tensor* b = linear_.packed() ? nullptr : &context.Input(1);
    const kit::GemmShape shape(a.dims, b == nullptr ? linear_.b_dims() : b->dims, attributes_.transpose_a,
                               attributes_.transpose_b);
    Linear::Operands o;
    o.a = a.data;
    o.transposed_a = attributes_.transpose_a;
    o.b = b == nullptr ? nullptr : b->data;
    o.rows = shape.m;
    o.k = shape.k;
    o.n = shape.n;
    const int64_t y_dims[] = {shape.m, shape.n};
    Tensor& y = context.Output(0, EP_TYPE_FLOAT, y_dims);
    o.y = y.data;
    const Tensor* c = context.OptionalInput(2);
    bool add_after = false;
    if (c != nullptr) {
      const kit::GemmAddend addend(c->dims, shape);
      if (plain_ && addend.rows == 1 && addend.columns == shape.n && shape.k != 0) {
        o.bias = c->data;
      } else if (plain_ && addend.rows == shape.m && addend.columns == shape.n && shape.k != 0) {
        o.residual = c->data;
      } else {
        if (activation_) FailOp("a fused Gemm must not broadcast C");
        add_after = true;
      }
    }
    linear_.Run(context, state.linear, o);
    if (!add_after && attributes_.alpha == 1.0f) return;
    const int64_t rows = c != nullptr ? kit::GemmAddend(c->dims, shape).rows : 1;
    const int64_t columns = c != nullptr ? kit::GemmAddend(c->dims, shape).columns : 1;
    context.ParallelFor(
        shape.m, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, shape.n)), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            float* to = y.as<float>() + row * shape.n;
            const float* from = add_after ? c->as<float>() + (rows == 1 ? 0 : row * columns) : nullptr;
            for (int64_t n = 0; n < shape.n; ++n)
              to[n] =
                  attributes_.alpha * to[n] + (from == nullptr ? 0.0f : attributes_.beta * from[columns == 1 ? 0 : n]);
          }
        });
  }

 private:
  struct State {
    Linear::State linear;
  };

  static Linear::Options LinearOptions(const KernelInit& init) {
    const GemmAttributes attributes(init.node());
    const ir::Value& a = init.InputInfo(0);
    const int64_t rows = a.rank == 2 ? a.dims[attributes.transpose_a ? 1 : 0] : -1;
    return {1, attributes.transpose_b, rows > 0 ? rows : 128, Activation::Read(init.node()), init.AllowsBfloat16()};
  }

  GemmAttributes attributes_;
  bool plain_;
  Activation activation_;
  Linear linear_;
};

// Y = alpha * Y + beta * C, element by element. Y holds op(A) * op(B).
template <typename T>
void ScaleAndAdd(OpContext& context, const GemmAttributes& attributes, const Tensor* c, const kit::GemmShape& shape,
                 Tensor& y) {
  if (c == nullptr && attributes.alpha == 1.0f) return;
  const kit::GemmAddend addend(c != nullptr ? c->dims : Dims(), shape);
  // Multiplies an integer by a float and truncates.
  const auto scale = [](T value, float by) {
    if constexpr (std::is_integral_v<T>) {
      return by == 1.0f ? value : TruncateTo<T>(static_cast<double>(by) * static_cast<double>(value));
    } else {
      return static_cast<T>(by) * value;
    }
  };
  context.ParallelFor(shape.m, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, shape.n)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          T* to = y.as<T>() + row * shape.n;
                          if (attributes.alpha != 1.0f)
                            for (int64_t n = 0; n < shape.n; ++n) to[n] = scale(to[n], attributes.alpha);
                          if (c == nullptr) continue;
                          const T* from = c->as<T>() + addend.Offset(row, 0);
                          const int64_t step = addend.columns == 1 ? 0 : 1;
                          for (int64_t n = 0; n < shape.n; ++n)
                            to[n] = Add()(to[n], scale(from[n * step], attributes.beta));
                        }
                      });
}

// Gemm of double and of integers, which wrap.
template <typename T>
class BlockedGemmKernel final : public Kernel {
 public:
  explicit BlockedGemmKernel(const KernelInit& init) : attributes_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    const Tensor* c = context.OptionalInput(2);
    const kit::GemmShape shape(a.dims, b.dims, attributes_.transpose_a, attributes_.transpose_b);
    if (b.type != a.type || (c != nullptr && c->type != a.type)) FailOp("operands of different types");
    const int64_t y_dims[] = {shape.m, shape.n};
    Tensor& y = context.Output(0, a.type, y_dims);
    BlockedProduct<Number> product;
    product.a = attributes_.transpose_a ? Transposed(context, a.as<Number>(), shape) : a.as<Number>();
    product.a_row = shape.k;
    product.b = b.as<Number>();
    product.b_row = attributes_.transpose_b ? 1 : shape.n;
    product.b_column = attributes_.transpose_b ? shape.k : 1;
    product.y = y.as<Number>();
    product.y_row = shape.n;
    product.m = shape.m;
    product.n = shape.n;
    product.k = shape.k;
    MultiplyBlocked<Number>(context, 1, [&](int64_t) { return product; });
    ScaleAndAdd<T>(context, attributes_, c, shape, y);
  }

 private:
  using Number = UnsignedNumber<T>;

  static const Number* Transposed(OpContext& context, const Number* a, const kit::GemmShape& shape) {
    auto* rows = static_cast<Number*>(context.Scratch(static_cast<uint64_t>(shape.m * shape.k) * sizeof(Number)));
    context.ParallelFor(shape.m, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, shape.k)),
                        [&](int64_t begin, int64_t end) {
                          constexpr int64_t kRun = 8;  // elements of a typical cache line
                          for (int64_t m = begin; m < end; m += kRun) {
                            const int64_t last = std::min(end, m + kRun);
                            for (int64_t k = 0; k < shape.k; ++k)
                              for (int64_t i = m; i < last; ++i) rows[i * shape.k + k] = a[k * shape.m + i];
                          }
                        });
    return rows;
  }

  GemmAttributes attributes_;
};

// Gemm of the 16-bit formats with float sums: see ReferenceMatMulKernel.
template <typename T>
class ReferenceGemmKernel final : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

  explicit ReferenceGemmKernel(const KernelInit& init) : attributes_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    const Tensor* c = context.OptionalInput(2);
    const kit::GemmShape shape(a.dims, b.dims, attributes_.transpose_a, attributes_.transpose_b);
    if (b.type != a.type || (c != nullptr && c->type != a.type)) FailOp("operands of different types");
    const int64_t y_dims[] = {shape.m, shape.n};
    Tensor& y = context.Output(0, a.type, y_dims);
    const kit::GemmAddend addend(c != nullptr ? c->dims : Dims(), shape);
    const int64_t a_row = attributes_.transpose_a ? 1 : shape.k;
    const int64_t a_step = attributes_.transpose_a ? shape.m : 1;
    const int64_t b_row = attributes_.transpose_b ? 1 : shape.n;
    const int64_t b_step = attributes_.transpose_b ? shape.k : 1;
    context.ParallelFor(shape.m, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, shape.k * shape.n)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t m = begin; m < end; ++m) {
                            for (int64_t n = 0; n < shape.n; ++n) {
                              float sum = 0;
                              for (int64_t k = 0; k < shape.k; ++k)
                                sum += static_cast<float>(a.as<T>()[m * a_row + k * a_step]) *
                                       static_cast<float>(b.as<T>()[k * b_row + n * b_step]);
                              sum *= attributes_.alpha;
                              if (c != nullptr)
                                sum += attributes_.beta * static_cast<float>(c->as<T>()[addend.Offset(m, n)]);
                              y.as<T>()[m * shape.n + n] = static_cast<T>(sum);
                            }
                          }
                        });
  }

 private:
  GemmAttributes attributes_;
};

}  // namespace

void Register_gemm(KernelRegistry& registry) {
  registry.Add<GemmKernel>("Gemm", 1, Types(EP_TYPE_FLOAT));
  registry.Add<GemmKernel>("Gemm", 1, Types(EP_TYPE_FLOAT), INT64_MAX, kit::fuse::kDomain);
  registry.Add<BlockedGemmKernel<double>>("Gemm", 1, Types(EP_TYPE_DOUBLE));
  registry.Add<ReferenceGemmKernel<Float16>>("Gemm", 1, Types(EP_TYPE_FLOAT16));
  registry.Add<ReferenceGemmKernel<BFloat16>>("Gemm", 1, Types(EP_TYPE_BFLOAT16));
  registry.Add<BlockedGemmKernel<int32_t>>("Gemm", 9, Types(EP_TYPE_INT32));
  registry.Add<BlockedGemmKernel<uint32_t>>("Gemm", 9, Types(EP_TYPE_UINT32));
  registry.Add<BlockedGemmKernel<int64_t>>("Gemm", 9, Types(EP_TYPE_INT64));
  registry.Add<BlockedGemmKernel<uint64_t>>("Gemm", 9, Types(EP_TYPE_UINT64));
}

}  // namespace epiphyte::cpu
