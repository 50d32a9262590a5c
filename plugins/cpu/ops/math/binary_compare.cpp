// Comparisons and logic: two tensors in, bool out; and the bitwise functions.
#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/ops/math/binary.h"

namespace epiphyte::cpu {
namespace {

#define EPIPHYTE_COMPARISON(Name, expression)                              \
  struct Name {                                                            \
    static constexpr simd::Comparison kFloats = simd::Comparison::k##Name; \
    template <typename T>                                                  \
    bool operator()(T a, T b) const {                                      \
      return expression;                                                   \
    }                                                                      \
  };
EPIPHYTE_COMPARISON(Equal, a == b)
EPIPHYTE_COMPARISON(Greater, a > b)
EPIPHYTE_COMPARISON(GreaterOrEqual, a >= b)
EPIPHYTE_COMPARISON(Less, a < b)
EPIPHYTE_COMPARISON(LessOrEqual, a <= b)
#define EPIPHYTE_BINARY(Name, kFunction, expression)                                 \
  struct Name {                                                                      \
    static constexpr simd::NumberFunction kOthers = simd::NumberFunction::kFunction; \
    template <typename T>                                                            \
    T operator()(T a, T b) const {                                                   \
      return static_cast<T>(expression);                                             \
    }                                                                                \
  };
EPIPHYTE_BINARY(And, kLogicalAnd, a&& b)
EPIPHYTE_BINARY(Or, kLogicalOr, a || b)
EPIPHYTE_BINARY(Xor, kLogicalXor, a != b)
EPIPHYTE_BINARY(BitwiseAnd, kAnd, a& b)
EPIPHYTE_BINARY(BitwiseOr, kOr, a | b)
EPIPHYTE_BINARY(BitwiseXor, kXor, a ^ b)
#undef EPIPHYTE_COMPARISON
#undef EPIPHYTE_BINARY

class EqualStringsKernel : public Kernel {
 public:
  explicit EqualStringsKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    const Tensor& b = context.Input(1);
    RequireSameType(a, b);
    const Dims out = kit::BroadcastShape(a.dims, b.dims);
    bool* y = context.Output(0, EP_TYPE_BOOL, out).as<bool>();
    const kit::BroadcastLoop<2> loop(out, {&a.dims, &b.dims});
    loop.Run(0, loop.count(), [&](int64_t n, int64_t offset, const kit::BroadcastLoop<2>::Operands& in) {
      for (int64_t i = 0; i < n; ++i) {
        y[offset + i] = (*a.strings)[static_cast<size_t>(in[0].offset + i * in[0].stride)] ==
                        (*b.strings)[static_cast<size_t>(in[1].offset + i * in[1].stride)];
      }
    });
  }
};

template <typename Op>
using BitwiseKernel = BinaryKernel<Op, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t>;

}  // namespace

void Register_binary_compare(KernelRegistry& registry) {
  constexpr TypeSet kBool = Types(EP_TYPE_BOOL);
  registry.Add<BinaryKernel<Equal>>("Equal", 1, kNumbers);
  registry.Add<BinaryKernel<Equal, bool>>("Equal", 1, kBool);
  registry.Add<EqualStringsKernel>("Equal", 19, Types(EP_TYPE_STRING));
  registry.Add<BinaryKernel<Greater>>("Greater", 1, kNumbers);
  registry.Add<BinaryKernel<GreaterOrEqual>>("GreaterOrEqual", 12, kNumbers);
  registry.Add<BinaryKernel<Less>>("Less", 1, kNumbers);
  registry.Add<BinaryKernel<LessOrEqual>>("LessOrEqual", 12, kNumbers);
  registry.Add<BinaryKernel<And, bool>>("And", 1, kBool);
  registry.Add<BinaryKernel<Or, bool>>("Or", 1, kBool);
  registry.Add<BinaryKernel<Xor, bool>>("Xor", 1, kBool);
  registry.Add<BitwiseKernel<BitwiseAnd>>("BitwiseAnd", 18, kIntegers);
  registry.Add<BitwiseKernel<BitwiseOr>>("BitwiseOr", 18, kIntegers);
  registry.Add<BitwiseKernel<BitwiseXor>>("BitwiseXor", 18, kIntegers);
}

}  // namespace epiphyte::cpu
