// Clip: bounds are attributes before opset 11 and optional scalar inputs since then.
#include <limits>
#include <optional>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

// Clips a number. NaN stays NaN; if the bounds cross, the upper one wins.
template <typename C>
struct ClipTo {
  C low;
  C high;
  C operator()(C x) const {
    const C above = x < low ? low : x;
    return above > high ? high : above;
  }
};
// Clips floats.
struct ClipFloats {
  simd::UnaryLoop floats;
};

// Clips other numbers with SIMD loops.
template <typename T>
void ClipRow(const ClipTo<T>& clip, const T* x, T* y, int64_t n) {
  constexpr int64_t kBlock = 1024;
  const simd::NumberLoop<T> at_least(simd::NumberFunction::kMax), at_most(simd::NumberFunction::kMin);
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    at_least(x + at, 1, &clip.low, 0, y + at, count);
    at_most(y + at, 1, &clip.high, 0, y + at, count);
  }
}

template <typename C>
C Lowest() {
  return std::is_floating_point_v<C> ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
}
template <typename C>
C Highest() {
  return std::is_floating_point_v<C> ? std::numeric_limits<C>::infinity() : std::numeric_limits<C>::max();
}

class ClipKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit ClipKernel(const KernelInit& init) : from_attributes_(init.node().since_version < 11) {
    if (!from_attributes_) return;
    if (init.node().Has("min")) low_ = init.node().Float("min", 0);
    if (init.node().Has("max")) high_ = init.node().Float("max", 0);
  }

  void Run(OpContext& context) const override {
    const Tensor& x = DenseInput(context, 0);
    const void* data = x.data;
    const TypeSet type = TypeBit(x.type);
    const Tensor* low = from_attributes_ ? nullptr : OptionalParameter(context, 1, "min", type);
    const Tensor* high = from_attributes_ ? nullptr : OptionalParameter(context, 2, "max", type);
    Tensor& y = OutputLike(context, 0, x);
    DispatchNumbers(y.type, "Clip", [&]<typename T>() {
      using C = Compute<T>;
      ClipTo<C> clip{Lowest<C>(), Highest<C>()};
      if (low_) clip.low = SaturateTo<C>(*low_);
      if (high_) clip.high = SaturateTo<C>(*high_);
      if (low != nullptr) clip.low = static_cast<C>(*low->as<T>());
      if (high != nullptr) clip.high = static_cast<C>(*high->as<T>());
      // ONNX's text is silent about a bound that is NaN; NumPy, and with it ONNX's reference evaluator, gives NaN.
      if (clip.low != clip.low || clip.high != clip.high) {
        std::fill_n(y.as<T>(), y.Count(), static_cast<T>(std::numeric_limits<C>::quiet_NaN()));
        return;
      }
      const auto run = [&](const auto& op) {
        ParallelLoop(context, y.Count(), 1, [&](int64_t begin, int64_t end) {
          Apply(op, static_cast<const T*>(data) + begin, y.as<T>() + begin, end - begin);
        });
      };
      if constexpr (std::is_same_v<C, float>) {
        run(ClipFloats{simd::UnaryLoop(simd::Unary::kClip, clip.low, clip.high)});
      } else if constexpr (simd::kHasNumberLoops<T>) {
        VectorLoop<T>(context, y.Count(), 1, [&](int64_t begin, int64_t end) {
          ClipRow(clip, static_cast<const T*>(data) + begin, y.as<T>() + begin, end - begin);
        });
      } else {
        run(clip);
      }
    });
  }

 private:
  bool from_attributes_;
  std::optional<float> low_;
  std::optional<float> high_;
};

}  // namespace

void Register_clip(KernelRegistry& registry) { registry.Add<ClipKernel>("Clip", 1, kNumbers); }

}  // namespace epiphyte::cpu
