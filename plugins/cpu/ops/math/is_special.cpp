// IsInf and IsNaN.
#include <cmath>

#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

struct IsNaN {
  template <typename T>
  bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  explicit IsInf(const ir::Node& node)
      : positive(node.Int("detect_positive", 1) != 0), negative(node.Int("detect_negative", 1) != 0) {}
  template <typename T>
  bool operator()(T x) const {
    return std::isinf(x) && (x > 0 ? positive : negative);
  }
  bool positive;
  bool negative;
};

template <typename Op>
class TestKernel : public Kernel {
 public:
  static FloatUse FloatUseOf(const ir::Node&) { return FloatUse::kOwnBits; }

  explicit TestKernel(const KernelInit& init) : name_(init.node().op_type), op_(MakeOp<Op>(init.node())) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    bool* y = context.Output(0, EP_TYPE_BOOL, x.dims).as<bool>();
    Dispatch<float, double, Float16, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>(
        x.type, name_, [&]<typename T>() {
          using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
          const T* data = x.as<T>();
          ParallelLoop(context, x.Count(), 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) y[i] = op_(static_cast<C>(data[i]));
          });
        });
  }

 private:
  std::string name_;
  Op op_;
};

}  // namespace

void Register_is_special(KernelRegistry& registry) {
  registry.Add<TestKernel<IsNaN>>("IsNaN", 9);
  registry.Add<TestKernel<IsInf>>("IsInf", 10);
}

}  // namespace epiphyte::cpu
