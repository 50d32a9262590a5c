// Common parts of element-wise kernels: the decision to use several threads, in-place outputs, and the kernel for unary
// functions.
//
//     struct Neg {
//       simd::UnaryLoop floats{simd::Unary::kNeg};   // optional loop over floats
//       template <typename T> T operator()(T x) const { return -x; }   // all other types
//     };
//     void Register_neg(KernelRegistry& registry) { registry.Add<UnaryKernel<Neg>>("Neg", 1, kFloats); }
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/kernel/small_floats.h"
#include "plugins/cpu/simd/elementwise/number_rows.h"
#include "plugins/cpu/simd/elementwise/unary.h"

namespace epiphyte::cpu {

// Number of elements that justify waking a thread, for an operation as cheap as an addition.
inline constexpr int64_t kGrain = 16384;

// ParallelFor without overhead for small loops. `cost`: cost of one index, in additions.
template <typename Body>
void ParallelLoop(OpContext& context, int64_t count, int64_t cost, const Body& body) {
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(cost, 1), 1);
  if (count <= grain) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  context.ParallelFor(count, grain, std::cref(body));
}

// kGrain for SIMD loops over elements of so many bytes: narrower elements cost less.
constexpr int64_t VectorGrain(size_t bytes) { return kGrain * int64_t{sizeof(float)} / static_cast<int64_t>(bytes); }

// ParallelLoop over elements for SIMD loops.
template <typename T, typename Body>
void VectorLoop(OpContext& context, int64_t count, int64_t cost, const Body& body) {
  const int64_t grain = std::max<int64_t>(VectorGrain(sizeof(T)) / std::max<int64_t>(cost, 1), 1);
  if (count > grain) return context.ParallelFor(count, grain, std::cref(body));
  if (count > 0) body(int64_t{0}, count);
}

// True when the memory has all elements without padding, in any order: unary functions need not know the order.
bool IsDense(const Tensor& tensor);
// True for equal shapes with equal memory order.
bool SameLayout(const Tensor& a, const Tensor& b);

// Input j, in its own layout when that is dense.
inline const Tensor& DenseInput(OpContext& context, size_t j) {
  const Tensor& input = context.AnyLayoutInput(j);
  return input.layout == nullptr || IsDense(input) ? input : context.Input(j);
}

// Makes output 0 with the shape, type and (dense) layout of input j, in place when input j has no other reader.
inline Tensor& OutputLike(OpContext& context, size_t j, const Tensor& input) {
  Tensor* in_place = context.OutputInPlace(0, j, input.type, input.dims);
  if (in_place != nullptr) return *in_place;
  if (input.layout == nullptr) return context.Output(0, input.type, input.dims);
  return context.OutputWithLayout(0, input.type, input.dims, input.layout, input.Bytes());
}

// An Op with a SIMD loop over floats (simd/elementwise/unary.h), as its member `floats`.
template <typename Op>
concept HasFloatLoop = requires(const Op& op) {
  { op.floats } -> std::convertible_to<const simd::UnaryLoop&>;
};

// Numeric type in which the loops process elements: bool as bytes.
template <typename T>
using NumberOf = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// An Op with a loop over numbers other than floats (simd/elementwise/number_rows.h), named by `kOthers`, that supports
// T.
template <typename Op, typename T>
concept HasNumberLoop = requires {
  { Op::kOthers } -> std::convertible_to<simd::NumberUnary>;
  requires simd::Takes<NumberOf<T>>(Op::kOthers);
};

// y[i] = function(x[i]). y may be x. That case has its own loop, because the compiler does not vectorise a loop that
// may overlap.
template <typename T, typename F>
void ApplyEach(const T* x, T* y, int64_t n, const F& function) {
  if (x == y) {
    for (int64_t i = 0; i < n; ++i) y[i] = function(y[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = function(x[i]);
  }
}

// y[i] = op(x[i]). The 16-bit formats are computed in float.
template <typename Op, typename T>
void Apply(const Op& op, const T* x, T* y, int64_t n) {
  if constexpr (HasFloatLoop<Op> && std::is_same_v<T, float>) {
    op.floats(x, y, n);
  } else if constexpr (kIsSmallFloat<T>) {
    const SmallFloats<T> small;
    float block[kFloatBlock];
    ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
      small.load(x + at, block, count);
      Apply<Op, float>(op, block, block, count);
      small.store(block, y + at, count);
    });
  } else if constexpr (HasNumberLoop<Op, T>) {
    using U = NumberOf<T>;
    const simd::NumberUnaryLoop<U> loop(Op::kOthers);
    loop(reinterpret_cast<const U*>(x), reinterpret_cast<U*>(y), n);
  } else {
    ApplyEach(x, y, n, [&op](T value) { return static_cast<T>(op(value)); });
  }
}

// Makes an Op for a node, from its attributes when the Op has such a constructor.
template <typename Op>
Op MakeOp(const ir::Node& node) {
  if constexpr (std::is_constructible_v<Op, const ir::Node&>) {
    return Op(node);
  } else {
    return Op();
  }
}

// Kernel for y = op(x) with equal types. kCost: cost of one element, in additions.
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
      const auto share = [&](int64_t begin, int64_t end) {
        Apply(op_, static_cast<const T*>(data) + begin, y.as<T>() + begin, end - begin);
      };
      if constexpr (HasNumberLoop<Op, T>) {
        VectorLoop<T>(context, count, kCost, share);
      } else {
        ParallelLoop(context, count, kCost, share);
      }
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
