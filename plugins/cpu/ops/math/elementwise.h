// What element-wise kernels share: when to use more than one thread, output in place, and the kernel for functions of
// one element.
//
//     struct Neg { template <typename T> T operator()(T x) const { return -x; } };
//     void Register_neg(KernelRegistry& registry) { registry.Add<UnaryKernel<Neg>>("Neg", 1, kFloats); }
#pragma once

#include <functional>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace epiphyte::cpu {

// Elements of a share that are worth waking a thread for, for an operation as cheap as an addition.
inline constexpr int64_t kGrain = 16384;

// ParallelFor that costs nothing for small loops. `cost`: of one index, in additions.
template <typename Body>
void ParallelLoop(OpContext& context, int64_t count, int64_t cost, const Body& body) {
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(cost, 1), 1);
  if (count <= grain) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  context.ParallelFor(count, grain, std::cref(body));
}

// The memory holds the elements and nothing else, in whatever order: a function of single elements need not know which.
bool IsDense(const Tensor& tensor);
// Equal shapes in the same order of elements in memory.
bool SameLayout(const Tensor& a, const Tensor& b);

// Input j, in its own layout when that is dense.
inline const Tensor& DenseInput(OpContext& context, size_t j) {
  const Tensor& input = context.AnyLayoutInput(j);
  return input.layout == nullptr || IsDense(input) ? input : context.Input(j);
}

// Output 0 of the shape, type and (dense) layout of input j, in its memory when that is free.
inline Tensor& OutputLike(OpContext& context, size_t j, const Tensor& input) {
  Tensor* in_place = context.OutputInPlace(0, j, input.type, input.dims);
  if (in_place != nullptr) return *in_place;
  if (input.layout == nullptr) return context.Output(0, input.type, input.dims);
  return context.OutputWithLayout(0, input.type, input.dims, input.layout, input.Bytes());
}

template <typename Op>
EPIPHYTE_MULTIVERSION void ApplyToFloats(Op op, const float* x, float* y, int64_t n) {
  EPIPHYTE_IN_PLACE_LOOP
  for (int64_t i = 0; i < n; ++i) y[i] = op(x[i]);
}

template <typename Op, typename T>
void Apply(const Op& op, const T* x, T* y, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    ApplyToFloats(op, x, y, n);
  } else {
    EPIPHYTE_IN_PLACE_LOOP
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(op(static_cast<Compute<T>>(x[i])));
  }
}

// Makes an Op from a node: from its attributes when there is such a constructor.
template <typename Op>
Op MakeOp(const ir::Node& node) {
  if constexpr (std::is_constructible_v<Op, const ir::Node&>) {
    return Op(node);
  } else {
    return Op();
  }
}

// y = op(x), types equal. kCost: of one element, in additions.
template <typename Op, int kCost = 1, typename... Ts>
class UnaryKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit UnaryKernel(const KernelInit& init) : name_(init.node().op_type), op_(MakeOp<Op>(init.node())) {}

  void Run(OpContext& context) const override {
    const Tensor& x = DenseInput(context, 0);
    const void* data = x.data;
    const int64_t count = x.Count();
    Tensor& y = OutputLike(context, 0, x);
    const auto apply = [&]<typename T>() {
      ParallelLoop(context, count, kCost, [&](int64_t begin, int64_t end) {
        Apply(op_, static_cast<const T*>(data) + begin, y.as<T>() + begin, end - begin);
      });
    };
    if constexpr (sizeof...(Ts) == 0) {
      DispatchFloats(y.type, name_, apply);
    } else {
      Dispatch<Ts...>(y.type, name_, apply);
    }
  }

 private:
  std::string name_;
  Op op_;
};

}  // namespace epiphyte::cpu
