// Element-wise functions of two tensors with broadcasting: numpy's since opset 7, before that by the attributes
// `broadcast` and `axis`.
//
//     struct Add { template <typename T> T operator()(T a, T b) const { return a + b; } };
//     registry.Add<BinaryKernel<Add>>("Add", 1, kFloats);
//
// Both inputs have the same type. The result has it too, unless the function returns bool.
#pragma once

#include <type_traits>

#include "epiphyte/kit/signature/legacy_broadcast.hpp"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_operand.h"
#include "plugins/cpu/ops/math/broadcast_rows.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/elementwise/number_rows.h"

namespace epiphyte::cpu {

using kit::LegacyBroadcast;

// Loop over float rows of an Op: the SIMD loop named by its `kFloats` (simd/elementwise/binary.h), otherwise the Op
// itself.
template <typename Op>
auto FloatLoopOf(const Op& op) {
  if constexpr (requires { simd::BinaryLoop(Op::kFloats); }) {
    return simd::BinaryLoop(Op::kFloats);
  } else if constexpr (requires { simd::CompareLoop(Op::kFloats); }) {
    return simd::CompareLoop(Op::kFloats);
  } else {
    return op;
  }
}
template <typename Op>
using FloatLoop = decltype(FloatLoopOf(std::declval<const Op&>()));

// Loop over rows of other numeric types (simd/elementwise/number_rows.h) of an Op. It is named by `kOthers`, by
// `others` when the Op's attributes decide, or by `kFloats` for a comparison. Void for other Ops, and for types without
// loops.
template <typename Op, typename T>
auto NumberLoopOf([[maybe_unused]] const Op& op) {
  using U = NumberOf<T>;
  if constexpr (requires { simd::NumberLoop<U>(Op::kOthers); }) {
    if constexpr (simd::Takes<U>(Op::kOthers)) return simd::NumberLoop<U>(Op::kOthers);
  } else if constexpr (simd::kHasNumberLoops<U> && requires { simd::NumberLoop<U>(op.others); }) {
    return simd::NumberLoop<U>(op.others);
  } else if constexpr (simd::kHasNumberLoops<U> && requires { simd::NumberComparison<U>(Op::kFloats); }) {
    return simd::NumberComparison<U>(Op::kFloats);
  }
}
template <typename Op, typename T>
inline constexpr bool kHasNumberLoop = !std::is_void_v<decltype(NumberLoopOf<Op, T>(std::declval<const Op&>()))>;

// Computes a row of a broadcast operation; strides are 0 or 1. `loop`: FloatLoopOf(op).
template <typename Op, typename T, typename R>
void BinaryRow(const Op& op, const FloatLoop<Op>& loop, const T* a, int64_t a_stride, const T* b, int64_t b_stride,
               R* y, int64_t n) {
  if constexpr (std::is_same_v<T, float> && !std::is_same_v<FloatLoop<Op>, Op>) {
    loop(a, a_stride, b, b_stride, y, n);
  } else if constexpr (kIsSmallFloat<T>) {
    const SmallFloats<T> small;
    float left[kFloatBlock], right[kFloatBlock], result[kFloatBlock];
    if (a_stride == 0) small.load(a, left, 1);
    if (b_stride == 0) small.load(b, right, 1);
    ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
      if (a_stride != 0) small.load(a + at, left, count);
      if (b_stride != 0) small.load(b + at, right, count);
      if constexpr (std::is_same_v<R, bool>) {
        BinaryRow<Op, float, bool>(op, loop, left, a_stride, right, b_stride, y + at, count);
      } else {
        BinaryRow<Op, float, float>(op, loop, left, a_stride, right, b_stride, result, count);
        small.store(result, y + at, count);
      }
    });
  } else {
    if constexpr (kHasNumberLoop<Op, T>) {
      constexpr int64_t kWorthACall = 16;
      if (n >= kWorthACall && (a_stride != 0 || b_stride != 0)) {
        const auto number = [](const auto* p) { return reinterpret_cast<const NumberOf<T>*>(p); };
        const auto others = NumberLoopOf<Op, T>(op);
        auto* const result = reinterpret_cast<typename std::remove_const_t<decltype(others)>::Result*>(y);
        return others(number(a), a_stride, number(b), b_stride, result, n);
      }
    }
    const auto compute = [&](const T& left, const T& right) { return static_cast<R>(op(left, right)); };
    if (kHasNumberLoop<Op, T> || a_stride == 0 || b_stride == 0) {
      for (int64_t i = 0; i < n; ++i) y[i] = compute(a[i * a_stride], b[i * b_stride]);
      return;
    }
    if constexpr (std::is_same_v<T, R>) {
      // The in-place case has its own loop, so that the compiler knows which rows may overlap; otherwise it does not
      // vectorise.
      if (a == y) {
        for (int64_t i = 0; i < n; ++i) y[i] = compute(y[i], b[i]);
        return;
      }
      if (b == y) {
        for (int64_t i = 0; i < n; ++i) y[i] = compute(a[i], y[i]);
        return;
      }
    }
    for (int64_t i = 0; i < n; ++i) y[i] = compute(a[i], b[i]);
  }
}

template <typename T>
struct BinaryOperand {
  const T* data;
  const Dims& dims;
};
// y = op(a, b) for any shapes that broadcast to `out`.
template <typename Op, typename T, typename R>
void BroadcastBinary(OpContext& context, const Op& op, int64_t cost, const Dims& out, const BinaryOperand<T>& a,
                     const BinaryOperand<T>& b, R* y) {
  struct Function {
    const Op& op;
    FloatLoop<Op> floats;
  };
  const Function function{op, FloatLoopOf(op)};
  const BinaryRows rows = {
      .function = &function,
      .run =
          [](const void* function, const void* left, int64_t left_stride, const void* right, int64_t right_stride,
             void* result, int64_t n) {
            const auto& f = *static_cast<const Function*>(function);
            BinaryRow(f.op, f.floats, static_cast<const T*>(left), left_stride, static_cast<const T*>(right),
                      right_stride, static_cast<R*>(result), n);
          },
      .element_bytes = sizeof(T),
      .result_bytes = sizeof(R),
      // Loops over vectors take as long for twice as many elements of half the size.
      .grain = kHasNumberLoop<Op, T> ? VectorGrain(sizeof(T)) : kGrain,
      .cost = cost,
  };
  BroadcastRows(context, rows, out, {a.data, a.dims}, {b.data, b.dims}, y);
}

// y = op(a, b) for float inputs 0 and 1 when one of them has the full shape and is not row-major: the result gets its
// layout. Returns false when there is no such input.
template <typename Op>
bool BroadcastOrdered(OpContext& context, const Op& op, int64_t cost) {
  if (context.AnyLayoutInput(0).layout == nullptr && context.AnyLayoutInput(1).layout == nullptr) return false;
  const std::optional<size_t> lead = LeadingInput(context, 2);
  if (!lead) return false;
  const Tensor& full = context.AnyLayoutInput(*lead);
  const AxisOrder order = *OrderOf(full);
  const auto a = OperandInOrder(context, 0, order), b = OperandInOrder(context, 1, order);
  if (!a || !b) return false;
  Tensor* y = context.OutputInPlace(0, *lead, EP_TYPE_FLOAT, full.dims);
  if (y == nullptr) y = &context.OutputWithLayout(0, EP_TYPE_FLOAT, full.dims, full.layout, full.Bytes());
  BroadcastBinary(context, op, cost, InMemory(full.dims, order), BinaryOperand<float>{a->data, a->dims},
                  BinaryOperand<float>{b->data, b->dims}, y->as<float>());
  return true;
}

inline void RequireSameType(const Tensor& a, const Tensor& b) {
  if (a.type != b.type) FailOp("inputs are {} and {}, expected one type", TypeName(a.type), TypeName(b.type));
}

template <typename Op, typename... Ts>
class BinaryKernel : public Kernel {
  template <typename T>
  using Result = std::conditional_t<std::is_same_v<std::invoke_result_t<Op, Compute<T>, Compute<T>>, bool>, bool, T>;
  static constexpr bool kHasFloat = sizeof...(Ts) == 0 || (std::is_same_v<Ts, float> || ...);

 public:
  static constexpr LayoutUse kLayoutUse = [] {
    if constexpr (kHasFloat)
      if constexpr (std::is_same_v<Result<float>, float>) return LayoutUse::kPassesOn;
    return LayoutUse::kRowMajor;
  }();

  // A comparison uses the model's exact numbers.
  static Float32Promotion PromotionOf(const ir::Node&) {
    if constexpr (kHasFloat)
      if constexpr (std::is_same_v<Result<float>, bool>) return Float32Promotion::kNever;
    return Float32Promotion::kFollowInputs;
  }

  explicit BinaryKernel(const KernelInit& init)
      : name_(init.node().op_type), legacy_(init.node()), op_(MakeOp<Op>(init.node())) {}

  void Run(OpContext& context) const override {
    if constexpr (kHasFloat) {
      const Tensor& a = context.AnyLayoutInput(0);
      const Tensor& b = context.AnyLayoutInput(1);
      if (a.type == EP_TYPE_FLOAT && b.type == EP_TYPE_FLOAT && SameDense(a, b)) return RunEqualShapes(context, a, b);
      if constexpr (std::is_same_v<Result<float>, float>)
        if (!legacy_.active() && BroadcastOrdered(context, op_, kCost)) return;
    }
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    RequireSameType(a, b);
    const Dims b_dims = legacy_.Align(a.dims, b.dims);
    const Dims out = kit::BroadcastShape(a.dims, b_dims);
    const auto run = [&]<typename T>() {
      using R = Result<T>;
      const T* left = a.as<T>();
      const T* right = b.as<T>();
      R* y = MakeOutput<T>(context, a, b, out).template as<R>();
      BroadcastBinary(context, op_, kCost, out, BinaryOperand<T>{left, a.dims}, BinaryOperand<T>{right, b_dims}, y);
    };
    if constexpr (sizeof...(Ts) == 0) {
      DispatchNumbers(a.type, name_, run);
    } else {
      Dispatch<Ts...>(a.type, name_, run);
    }
  }

 private:
  static constexpr int64_t kCost = [] {
    if constexpr (requires { Op::kCost; }) return int64_t{Op::kCost};
    return int64_t{1};
  }();

  // The output may take the memory of an input with its shape, because element i depends only on element i of that
  // input.
  template <typename T>
  static Tensor& MakeOutput(OpContext& context, const Tensor& a, const Tensor& b, const Dims& out) {
    if constexpr (sizeof(Result<T>) == sizeof(T)) {
      Tensor* y = a.dims == out ? context.OutputInPlace(0, 0, kTypeOf<Result<T>>, out) : nullptr;
      if (y == nullptr && b.dims == out) y = context.OutputInPlace(0, 1, kTypeOf<Result<T>>, out);
      if (y != nullptr) return *y;
    }
    if (sizeof(Result<T>) == sizeof(T) && a.layout != nullptr) {
      return context.OutputWithLayout(0, kTypeOf<Result<T>>, out, a.layout, a.Bytes());
    }
    return context.Output(0, kTypeOf<Result<T>>, out);
  }

  // True when both inputs and the result can be processed in memory order. Unless the inputs are row-major, the result
  // needs elements of the same size.
  static bool SameDense(const Tensor& a, const Tensor& b) {
    if (a.layout == nullptr && b.layout == nullptr) return a.dims == b.dims;
    return sizeof(Result<float>) == sizeof(float) && SameLayout(a, b) && IsDense(a);
  }

  void RunEqualShapes(OpContext& context, const Tensor& a, const Tensor& b) const {
    using R = Result<float>;
    const float* left = a.as<float>();
    const float* right = b.as<float>();
    const int64_t count = a.Count();
    R* y = MakeOutput<float>(context, a, b, a.dims).template as<R>();
    const FloatLoop<Op> floats = FloatLoopOf(op_);
    ParallelLoop(context, count, kCost, [&](int64_t begin, int64_t end) {
      BinaryRow(op_, floats, left + begin, 1, right + begin, 1, y + begin, end - begin);
    });
  }

  std::string name_;
  LegacyBroadcast legacy_;
  Op op_;
};

}  // namespace epiphyte::cpu
