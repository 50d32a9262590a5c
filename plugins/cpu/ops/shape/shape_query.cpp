// Operators that report a shape: Shape, Size.
#include <algorithm>

#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {
namespace {

class ShapeKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kTakesAny;
  explicit ShapeKernel(const KernelInit& init)
      : start_(init.node().Int("start", 0)), end_(init.node().Int("end", INT64_MAX)) {}
  void Run(OpContext& context) const override {
    const Dims& dims = context.AnyLayoutInput(0).dims;
    const int64_t rank = static_cast<int64_t>(dims.size());
    const auto clamp = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t start = clamp(start_);
    const int64_t count = std::max<int64_t>(0, clamp(end_) - start);
    Tensor& shape = context.Output(0, EP_TYPE_INT64, Dims{count});
    std::copy_n(dims.begin() + start, count, shape.as<int64_t>());
  }

 private:
  int64_t start_;
  int64_t end_;
};

class SizeKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kTakesAny;
  explicit SizeKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const int64_t count = context.AnyLayoutInput(0).Count();
    *context.Output(0, EP_TYPE_INT64, Dims{}).as<int64_t>() = count;
  }
};

}  // namespace

void Register_shape_query(KernelRegistry& registry) {
  registry.Add<ShapeKernel>("Shape");
  registry.Add<SizeKernel>("Size");
}

}  // namespace epiphyte::cpu
