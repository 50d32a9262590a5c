// Pow: the result has the type of the base; the exponent may have another type.
#include <cmath>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/ops/math/binary.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"
#include "plugins/cpu/simd/elementwise/power.h"

namespace epiphyte::cpu {
namespace {

// Values of a tensor as type To: in place if it has that type, otherwise in scratch memory.
template <typename To>
const To* ConvertTo(OpContext& context, const Tensor& tensor) {
  if (tensor.type == kTypeOf<To>) return tensor.as<To>();
  const int64_t count = tensor.Count();
  To* converted = static_cast<To*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(To)));
  DispatchNumbers(tensor.type, "Pow", [&]<typename T>() {
    const T* data = tensor.as<T>();
    for (int64_t i = 0; i < count; ++i) converted[i] = NumberAs<To>(static_cast<Compute<T>>(data[i]));
  });
  return converted;
}

class PowKernel : public Kernel {
 public:
  explicit PowKernel(const KernelInit& init) : legacy_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& exponent = context.Input(1);
    if (RunConstant(context, x, exponent)) return;
    const Dims exponent_dims = legacy_.Align(x.dims, exponent.dims);
    const Dims out = kit::BroadcastShape(x.dims, exponent_dims);
    const bool integer_exponent = exponent.type < 64 && (TypeBit(exponent.type) & kIntegers) != 0;
    Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t,
             uint64_t>(x.type, "Pow", [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        if (integer_exponent) {
          const auto power = [](T base, int64_t by) { return IntegerPower(base, by); };
          RunLoop<T>(context, x, exponent_dims, out, ConvertTo<int64_t>(context, exponent), power);
        } else {
          const auto power = [](T base, double by) { return NumberAs<T>(std::pow(static_cast<double>(base), by)); };
          RunLoop<T>(context, x, exponent_dims, out, ConvertTo<double>(context, exponent), power);
        }
      } else if constexpr (std::is_same_v<T, float>) {
        RunFloatLoop(context, x, exponent_dims, out, ConvertTo<float>(context, exponent));
      } else {
        using C = Compute<T>;
        const auto power = [](T base, C by) { return static_cast<T>(std::pow(static_cast<C>(base), by)); };
        RunLoop<T>(context, x, exponent_dims, out, ConvertTo<C>(context, exponent), power);
      }
    });
  }

 private:
  static constexpr int64_t kCost = 32;

  // Squares, cubes and roots: the constant exponents in models.
  static bool RunConstant(OpContext& context, const Tensor& x, const Tensor& exponent) {
    if (exponent.Count() != 1 || exponent.rank() > x.rank()) return false;
    double power = 0;
    DispatchNumbers(exponent.type, "Pow",
                    [&]<typename T>() { power = static_cast<double>(static_cast<Compute<T>>(*exponent.as<T>())); });
    if (x.type == EP_TYPE_FLOAT || x.type == EP_TYPE_FLOAT16 || x.type == EP_TYPE_BFLOAT16)
      return RunFloats(context, x, power);
    if (power == 2) {
      switch (x.type) {
        case EP_TYPE_DOUBLE: return RunNumbers<double>(context, x, simd::NumberUnary::kSquare);
        case EP_TYPE_INT32: return RunNumbers<int32_t>(context, x, simd::NumberUnary::kSquare);
        case EP_TYPE_INT64: return RunNumbers<int64_t>(context, x, simd::NumberUnary::kSquare);
        default: return false;
      }
    }
    return power == 3 && x.type == EP_TYPE_DOUBLE && RunNumbers<double>(context, x, simd::NumberUnary::kCube);
  }

  struct Power {
    simd::UnaryLoop floats;
  };
  static bool RunFloats(OpContext& context, const Tensor& x, double power) {
    if (power != 2 && power != 3 && power != 0.5) return false;
    const Power loop{simd::UnaryLoop(power == 2   ? simd::Unary::kSquare
                                     : power == 3 ? simd::Unary::kCube
                                                  : simd::Unary::kSqrt)};
    const void* data = x.data;
    Tensor& y = OutputLike(context, 0, x);
    Dispatch<float, Float16, BFloat16>(y.type, "Pow", [&]<typename T>() {
      ParallelLoop(context, y.Count(), 1, [&](int64_t begin, int64_t end) {
        Apply(loop, static_cast<const T*>(data) + begin, y.as<T>() + begin, end - begin);
      });
    });
    return true;
  }
  template <typename T>
  static bool RunNumbers(OpContext& context, const Tensor& x, simd::NumberUnary function) {
    const simd::NumberUnaryLoop<T> loop(function);
    const T* data = x.as<T>();
    Tensor& y = OutputLike(context, 0, x);
    VectorLoop<T>(context, y.Count(), 1,
                  [&](int64_t begin, int64_t end) { loop(data + begin, y.as<T>() + begin, end - begin); });
    return true;
  }

  template <typename T, typename E, typename Power>
  static void RunLoop(OpContext& context, const Tensor& x, const Dims& exponent_dims, const Dims& out,
                      const E* exponents, const Power& power) {
    const T* bases = x.as<T>();
    T* y = context.Output(0, x.type, out).template as<T>();
    const kit::BroadcastLoop<2> loop(out, {&x.dims, &exponent_dims});
    ParallelLoop(context, loop.count(), kCost, [&](int64_t begin, int64_t end) {
      loop.Run(begin, end, [&](int64_t n, int64_t offset, const kit::BroadcastLoop<2>::Operands& in) {
        for (int64_t i = 0; i < n; ++i) {
          y[offset + i] = power(bases[in[0].offset + i * in[0].stride], exponents[in[1].offset + i * in[1].stride]);
        }
      });
    });
  }

  static void RunFloatLoop(OpContext& context, const Tensor& x, const Dims& exponent_dims, const Dims& out,
                           const float* exponents) {
    constexpr int64_t kVectorCost = 8;
    float* const y = context.Output(0, x.type, out).as<float>();
    const kit::BroadcastLoop<2> loop(out, {&x.dims, &exponent_dims});
    ParallelLoop(context, loop.count(), kVectorCost, [&](int64_t begin, int64_t end) {
      loop.Run(begin, end, [&](int64_t n, int64_t offset, const kit::BroadcastLoop<2>::Operands& in) {
        simd::PowerRow(x.as<float>() + in[0].offset, in[0].stride, exponents + in[1].offset, in[1].stride, y + offset,
                       n);
      });
    });
  }

  LegacyBroadcast legacy_;
};

}  // namespace

void Register_binary_pow(KernelRegistry& registry) { registry.Add<PowKernel>("Pow", 1, kNumbers); }

}  // namespace epiphyte::cpu
