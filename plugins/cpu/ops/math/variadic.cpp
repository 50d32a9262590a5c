// Max, Min, Sum and Mean of any number of tensors, broadcast together (before opset 8 their shapes are equal).
#include <cstring>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/ops/math/binary.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"

namespace epiphyte::cpu {
namespace {

struct ScaleBy {
  explicit ScaleBy(double by) : factor(by), floats(simd::Unary::kScale, static_cast<float>(by)) {}
  double operator()(double x) const { return x * factor; }
  double factor;
  simd::UnaryLoop floats;
};

template <typename Op, bool kMean, typename... Ts>
class VariadicKernel : public Kernel {
 public:
  explicit VariadicKernel(const KernelInit& init) : name_(init.node().op_type) {}

  void Run(OpContext& context) const override {
    const Tensor& first = context.Input(0);
    const size_t count = context.InputCount();
    if (count == 1) return context.OutputAlias(0, 0, first.dims);
    std::vector<const Dims*> shapes;
    for (size_t i = 0; i < count; ++i) {
      RequireSameType(first, context.Input(i));
      shapes.push_back(&context.Input(i).dims);
    }
    const Dims out = kit::BroadcastShape(shapes);
    const auto run = [&]<typename T>() {
      const T* left = first.as<T>();
      Tensor* in_place = first.dims == out ? context.OutputInPlace(0, 0, first.type, out) : nullptr;
      T* y = (in_place != nullptr ? *in_place : context.Output(0, first.type, out)).template as<T>();
      BroadcastBinary(context, Op(), 1, out, BinaryOperand<T>{left, first.dims},
                      BinaryOperand<T>{context.Input(1).as<T>(), context.Input(1).dims}, y);
      for (size_t i = 2; i < count; ++i) {
        const Tensor& next = context.Input(i);
        BroadcastBinary(context, Op(), 1, out, BinaryOperand<T>{y, out}, BinaryOperand<T>{next.as<T>(), next.dims}, y);
      }
      if constexpr (kMean) {
        const ScaleBy scale(1.0 / static_cast<double>(count));
        ParallelLoop(context, out.Count(), 1, [&](int64_t begin, int64_t end) {
          Apply(scale, static_cast<const T*>(y) + begin, y + begin, end - begin);
        });
      }
    };
    if constexpr (sizeof...(Ts) == 0) {
      DispatchNumbers(first.type, name_, run);
    } else {
      Dispatch<Ts...>(first.type, name_, run);
    }
  }

 private:
  std::string name_;
};

}  // namespace

void Register_variadic(KernelRegistry& registry) {
  registry.Add<VariadicKernel<Max, false>>("Max", 1, kNumbers);
  registry.Add<VariadicKernel<Min, false>>("Min", 1, kNumbers);
  registry.Add<VariadicKernel<Add, false, float, double, Float16, BFloat16>>("Sum", 1, kFloats);
  registry.Add<VariadicKernel<Add, true, float, double, Float16, BFloat16>>("Mean", 1, kFloats);
}

}  // namespace epiphyte::cpu
