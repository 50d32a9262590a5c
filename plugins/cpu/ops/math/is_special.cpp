// IsInf and IsNaN.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

// Loops over floats and doubles, compiled for each CPU target: the oldest has no 64-bit comparison.
template <typename T>
struct RowLoops {
  static constexpr bool kIsFloat = std::is_same_v<T, float>;
  std::conditional_t<kIsFloat, simd::CompareLoop, simd::NumberComparison<double>> equal{simd::Comparison::kEqual};
  std::conditional_t<kIsFloat, simd::UnaryLoop, simd::NumberUnaryLoop<double>> abs{
      std::conditional_t<kIsFloat, std::integral_constant<simd::Unary, simd::Unary::kAbs>,
                         std::integral_constant<simd::NumberUnary, simd::NumberUnary::kAbs>>::value};
};

struct IsNaN {
  template <typename T>
  bool operator()(T x) const {
    return x != x;
  }
  template <typename T>
  void OfRow(const T* x, bool* y, int64_t n) const {
    constexpr int64_t kBlock = 4096;  // the results of a block stay in the L1 cache
    const RowLoops<T> loops;
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t end = std::min(n, at + kBlock);
      loops.equal(x + at, 1, x + at, 1, y + at, end - at);
      auto* const answers = reinterpret_cast<uint8_t*>(y);  // 1 or 0
      for (int64_t i = at; i < end; ++i) answers[i] ^= 1;
    }
  }
  // `infinity`: bits of positive infinity.
  bool OfBits(uint16_t bits, uint16_t infinity) const { return (bits & 0x7FFF) > infinity; }
};
// Branchless, so that the compiler vectorises it.
struct IsInf {
  explicit IsInf(const ir::Node& node)
      : positive(node.Int("detect_positive", 1) != 0), negative(node.Int("detect_negative", 1) != 0) {}
  template <typename T>
  bool operator()(T x) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return static_cast<bool>((positive & (x == kInfinity)) | (negative & (x == -kInfinity)));
  }
  template <typename T>
  void OfRow(const T* x, bool* y, int64_t n) const {
    constexpr int64_t kBlock = 512;
    const T infinity = positive ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    if (!positive && !negative) return (void)std::fill_n(y, n, false);
    const RowLoops<T> loops;
    if (positive != negative) return loops.equal(x, 1, &infinity, 0, y, n);
    T magnitudes[kBlock];
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t count = std::min(kBlock, n - at);
      loops.abs(x + at, magnitudes, count);
      loops.equal(magnitudes, 1, &infinity, 0, y + at, count);
    }
  }
  bool OfBits(uint16_t bits, uint16_t infinity) const {
    return static_cast<bool>((positive & (bits == infinity)) | (negative & (bits == (infinity | 0x8000))));
  }
  bool positive;
  bool negative;
};

template <typename Op>
class TestKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit TestKernel(const KernelInit& init) : name_(init.node().op_type), op_(MakeOp<Op>(init.node())) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    bool* y = context.Output(0, EP_TYPE_BOOL, x.dims).as<bool>();
    Dispatch<float, double, Float16, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>(
        x.type, name_, [&]<typename T>() {
          using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
          const T* const data = x.as<T>();
          VectorLoop<T>(context, x.Count(), 1, [&, op = op_](int64_t begin, int64_t end) {
            if constexpr (std::is_floating_point_v<T>) return op.OfRow(data + begin, y + begin, end - begin);
            if constexpr (kIsSmallFloat<T>) {
              constexpr uint16_t kInfinity = std::is_same_v<T, Float16> ? 0x7C00 : 0x7F80;
              Test(reinterpret_cast<const uint16_t*>(data) + begin, y + begin, end - begin,
                   [op](uint16_t bits) { return op.OfBits(bits, kInfinity); });
            } else {
              Test(data + begin, y + begin, end - begin, [op](T value) { return op(static_cast<C>(value)); });
            }
          });
        });
  }

 private:
  // __restrict: the rows do not overlap; otherwise the compiler does not vectorise.
  template <typename T, typename F>
  static void Test(const T* __restrict x, bool* __restrict y, int64_t n, const F& test) {
    for (int64_t i = 0; i < n; ++i) y[i] = test(x[i]);
  }

  std::string name_;
  Op op_;
};

}  // namespace

void Register_is_special(KernelRegistry& registry) {
  registry.Add<TestKernel<IsNaN>>("IsNaN", 9);
  registry.Add<TestKernel<IsInf>>("IsInf", 10);
}

}  // namespace epiphyte::cpu
