// Activation functions: unary, with parameters from attributes.
#include <cmath>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

// Sigmoid without overflow.
double SigmoidOf(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
double SoftplusOf(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }

// `floats` are SIMD loops; the templates serve the other types.
struct Relu {
  simd::UnaryLoop floats{simd::Unary::kRelu};
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kRelu;
  template <typename T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;  // keeps NaN
  }
};

struct LeakyRelu {
  explicit LeakyRelu(const ir::Node& node)
      : alpha(node.Float("alpha", 0.01f)), floats(simd::Unary::kLeakyRelu, alpha) {}
  template <typename T>
  T operator()(T x) const {
    const T scaled = x * T(alpha);
    return x < T(0) ? scaled : x;
  }
  float alpha;
  simd::UnaryLoop floats;
};

struct Elu {
  explicit Elu(const ir::Node& node) : alpha(node.Float("alpha", 1.0f)), floats(simd::Unary::kElu, alpha) {}
  template <typename T>
  T operator()(T x) const {
    const T negative = T(alpha) * std::expm1(x);
    return x < T(0) ? negative : x;
  }
  float alpha;
  simd::UnaryLoop floats;
};

struct Selu {
  explicit Selu(const ir::Node& node)
      : alpha(node.Float("alpha", node.since_version < 6 ? 1.6732f : 1.67326319217681884765625f)),
        gamma(node.Float("gamma", node.since_version < 6 ? 1.0507f : 1.05070102214813232421875f)),
        floats(simd::Unary::kSelu, alpha, gamma) {}
  template <typename T>
  T operator()(T x) const {
    const T negative = T(alpha) * std::expm1(x);
    return T(gamma) * (x <= T(0) ? negative : x);
  }
  float alpha;
  float gamma;
  simd::UnaryLoop floats;
};

struct Celu {
  explicit Celu(const ir::Node& node) : alpha(node.Float("alpha", 1.0f)), floats(simd::Unary::kCelu, alpha) {}
  template <typename T>
  T operator()(T x) const {
    const T negative = T(alpha) * std::expm1(x / T(alpha));
    return x < T(0) ? negative : x;
  }
  float alpha;
  simd::UnaryLoop floats;
};

struct GeluExact {
  simd::UnaryLoop floats{simd::Unary::kGelu};
  template <typename T>
  T operator()(T x) const {
    return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440)));
  }
};

struct GeluTanh {
  simd::UnaryLoop floats{simd::Unary::kGeluTanh};
  template <typename T>
  T operator()(T x) const {
    const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (T(1) + std::tanh(inner));
  }
};

struct HardSigmoid {
  explicit HardSigmoid(const ir::Node& node)
      : alpha(node.Float("alpha", 0.2f)),
        beta(node.Float("beta", 0.5f)),
        floats(simd::Unary::kHardSigmoid, alpha, beta) {}
  template <typename T>
  T operator()(T x) const {
    const T line = T(alpha) * x + T(beta);
    const T above = line < T(0) ? T(0) : line;
    return above > T(1) ? T(1) : above;
  }
  float alpha;
  float beta;
  simd::UnaryLoop floats;
};

struct HardSwish {
  simd::UnaryLoop floats{simd::Unary::kHardSwish};
  template <typename T>
  T operator()(T x) const {
    const T line = x * T(1.0 / 6.0) + T(0.5);
    const T above = line < T(0) ? T(0) : line;
    return x * (above > T(1) ? T(1) : above);
  }
};

struct Mish {
  simd::UnaryLoop floats{simd::Unary::kMish};
  template <typename T>
  T operator()(T x) const {
    return x * std::tanh(SoftplusOf(x));
  }
};

struct Sigmoid {
  simd::UnaryLoop floats{simd::Unary::kSigmoid};
  static constexpr simd::NumberUnary kOthers = simd::NumberUnary::kSigmoid;
  template <typename T>
  T operator()(T x) const {
    return SigmoidOf(x);
  }
};

struct Softplus {
  simd::UnaryLoop floats{simd::Unary::kSoftplus};
  template <typename T>
  T operator()(T x) const {
    return SoftplusOf(x);
  }
};

struct Softsign {
  simd::UnaryLoop floats{simd::Unary::kSoftsign};
  template <typename T>
  T operator()(T x) const {
    return x / (T(1) + std::fabs(x));
  }
};

struct Swish {
  explicit Swish(const ir::Node& node) : alpha(node.Float("alpha", 1.0f)), floats(simd::Unary::kSwish, alpha) {}
  template <typename T>
  T operator()(T x) const {
    return x * SigmoidOf(T(alpha) * x);
  }
  float alpha;
  simd::UnaryLoop floats;
};

struct ThresholdedRelu {
  explicit ThresholdedRelu(const ir::Node& node)
      : alpha(node.Float("alpha", 1.0f)), floats(simd::Unary::kThresholdedRelu, alpha) {}
  template <typename T>
  T operator()(T x) const {
    return x > T(alpha) ? x : T(0);
  }
  float alpha;
  simd::UnaryLoop floats;
};

struct Shrink {
  explicit Shrink(const ir::Node& node)
      : bias(node.Float("bias", 0.0f)), lambda(node.Float("lambd", 0.5f)), floats(simd::Unary::kShrink, bias, lambda) {}
  template <typename T>
  T operator()(T x) const {
    const double value = static_cast<double>(x);
    const double above = value > double{lambda} ? value - double{bias} : 0.0;
    return NumberAs<T>(value < -double{lambda} ? value + double{bias} : above);
  }
  float bias;
  float lambda;
  simd::UnaryLoop floats;
};

std::unique_ptr<Kernel> MakeGelu(const KernelInit& init) {
  const std::string approximate = init.node().String("approximate", "none");
  if (approximate == "none") return std::make_unique<UnaryKernel<GeluExact, 16>>(init);
  if (approximate == "tanh") return std::make_unique<UnaryKernel<GeluTanh, 16>>(init);
  FailOp("approximate is '{}', expected none or tanh", approximate);
}

}  // namespace

void Register_activations(KernelRegistry& registry) {
  registry.Add<UnaryKernel<Relu, 1, float, double, Float16, BFloat16, int32_t, int64_t, int8_t, int16_t>>(
      "Relu", 1, kFloats | kSigned);
  registry.Add<UnaryKernel<LeakyRelu>>("LeakyRelu", 1, kFloats);
  registry.Add<UnaryKernel<Elu, 8>>("Elu", 1, kFloats);
  registry.Add<UnaryKernel<Selu, 8>>("Selu", 1, kFloats);
  registry.Add<UnaryKernel<Celu, 8>>("Celu", 12, kFloats);
  registry.Add("Gelu", "", {20, INT64_MAX, kFloats, MakeGelu, LayoutUse::kPassesOn});
  registry.Add<UnaryKernel<HardSigmoid>>("HardSigmoid", 1, kFloats);
  registry.Add<UnaryKernel<HardSwish>>("HardSwish", 14, kFloats);
  registry.Add<UnaryKernel<Mish, 32>>("Mish", 18, kFloats);
  registry.Add<UnaryKernel<Sigmoid, 8>>("Sigmoid", 1, kFloats);
  registry.Add<UnaryKernel<Softplus, 16>>("Softplus", 1, kFloats);
  registry.Add<UnaryKernel<Softsign, 2>>("Softsign", 1, kFloats);
  registry.Add<UnaryKernel<Swish, 8>>("Swish", 24, kFloats);
  registry.Add<UnaryKernel<ThresholdedRelu>>("ThresholdedRelu", 1, kFloats);
  registry.Add<UnaryKernel<Shrink, 1, float, double, Float16, BFloat16, int32_t, int64_t, int8_t, int16_t, uint8_t,
                           uint16_t, uint32_t, uint64_t>>("Shrink", 9, kNumbers);
}

}  // namespace epiphyte::cpu
