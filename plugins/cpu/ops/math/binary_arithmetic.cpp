// Add, Sub, Mul, Div, PRelu, Mod and BitShift.
#include <cmath>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/ops/math/binary.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"

namespace epiphyte::cpu {
namespace {

struct PRelu {
  static constexpr simd::Binary kFloats = simd::Binary::kPRelu;
  template <typename T>
  T operator()(T x, T slope) const {
    return x < T(0) ? Mul()(x, slope) : x;
  }
};

// Remainder with the sign of the divisor, or of the dividend with fmod.
struct Mod {
  static constexpr int kCost = 16;
  explicit Mod(const ir::Node& node) : fmod(node.Int("fmod", 0) != 0) {}
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T(0);
      const T remainder = static_cast<T>(a % b);
      return !fmod && remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b) : remainder;
    } else {
      const T remainder = std::fmod(a, b);
      return !fmod && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
    }
  }
  bool fmod;
};

struct BitShift {
  explicit BitShift(const ir::Node& node) {
    const std::string direction = node.String("direction");
    if (direction != "LEFT" && direction != "RIGHT") {
      FailOp("direction is '{}', expected LEFT or RIGHT", direction);
    }
    left = direction == "LEFT";
    others = left ? simd::NumberFunction::kShiftLeft : simd::NumberFunction::kShiftRight;
  }
  template <typename T>
  T operator()(T x, T by) const {
    if (by >= T(8 * sizeof(T))) return T(0);
    return static_cast<T>(left ? static_cast<uint64_t>(x) << by : static_cast<uint64_t>(x) >> by);
  }
  bool left;
  simd::NumberFunction others;
};

// The slope is broadcast to x since opset 7; before that it has one element or one for each channel.
class PReluKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit PReluKernel(const KernelInit& init) : per_channel_(init.node().since_version < 7) {}

  void Run(OpContext& context) const override {
    const Dims& x_dims = context.AnyLayoutInput(0).dims;
    RequireSameType(context.AnyLayoutInput(0), context.AnyLayoutInput(1));
    Dims slope_dims = context.AnyLayoutInput(1).dims;
    if (per_channel_ && slope_dims.size() == 1 && slope_dims[0] != 1) {
      for (size_t i = 2; i < x_dims.size(); ++i) slope_dims.push_back(1);
    }
    if (!(kit::BroadcastShape(x_dims, slope_dims) == x_dims)) {
      FailOp("slope of shape {} does not broadcast to {}", ShapeText(context.AnyLayoutInput(1).dims),
             ShapeText(x_dims));
    }
    if (!per_channel_ && BroadcastOrdered(context, PRelu(), 1)) return;
    const Tensor& x = context.Input(0);
    const Tensor& slope = context.Input(1);
    const void* data = x.data;
    Tensor& y = OutputLike(context, 0, x);
    Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>(
        y.type, "PRelu", [&]<typename T>() {
          BroadcastBinary(context, PRelu(), 1, y.dims, BinaryOperand<T>{static_cast<const T*>(data), y.dims},
                          BinaryOperand<T>{slope.as<T>(), slope_dims}, y.as<T>());
        });
  }

 private:
  bool per_channel_;
};

}  // namespace

void Register_binary_arithmetic(KernelRegistry& registry) {
  registry.Add<BinaryKernel<Add>>("Add", 1, kNumbers);
  registry.Add<BinaryKernel<Sub>>("Sub", 1, kNumbers);
  registry.Add<BinaryKernel<Mul>>("Mul", 1, kNumbers);
  registry.Add<BinaryKernel<Div>>("Div", 1, kNumbers);
  registry.Add<BinaryKernel<Mod>>("Mod", 10, kNumbers);
  registry.Add<BinaryKernel<BitShift, uint8_t, uint16_t, uint32_t, uint64_t>>("BitShift", 11, kUnsigned);
  registry.Add<PReluKernel>("PRelu", 1, kFloats | Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_UINT32, EP_TYPE_UINT64));
}

}  // namespace epiphyte::cpu
