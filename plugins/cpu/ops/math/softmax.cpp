// Softmax, LogSoftmax and Hardmax. Since opset 13 along one axis; before that over everything from the axis on.
#include <cmath>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/softmax_row.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/vector_math.h"

namespace epiphyte::cpu {
namespace {

enum class Mode { kSoftmax, kLogSoftmax, kHardmax };

constexpr int64_t kCost = 16;

// Any type and stride; x and y may be the same.
template <typename T>
void StridedRow(Mode mode, const T* x, T* y, int64_t n, int64_t stride) {
  using C = Compute<T>;
  C largest = static_cast<C>(x[0]);
  int64_t where = 0;
  for (int64_t i = 1; i < n; ++i) {
    const C value = static_cast<C>(x[i * stride]);
    if (value > largest || (value != value && largest == largest)) largest = value, where = i;
  }
  if (mode == Mode::kHardmax) {
    for (int64_t i = 0; i < n; ++i) y[i * stride] = T(i == where ? 1.0f : 0.0f);
    return;
  }
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += vm::Exp(static_cast<C>(x[i * stride]) - largest);
  const C log = std::log(sum);
  for (int64_t i = 0; i < n; ++i) {
    const C shifted = static_cast<C>(x[i * stride]) - largest;
    y[i * stride] = static_cast<T>(mode == Mode::kSoftmax ? vm::Exp(shifted) / sum : shifted - log);
  }
}

template <Mode kMode>
class SoftmaxKernel : public Kernel {
 public:
  explicit SoftmaxKernel(const KernelInit& init)
      : name_(init.node().op_type),
        flattens_(init.node().since_version < 13),
        axis_(init.node().Int("axis", flattens_ ? 1 : -1)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const void* data = x.data;
    Dims dims = x.dims;
    // A scalar is a vector of one element; before opset 13 the axis may be the rank: then every element is alone.
    if (dims.empty() || (flattens_ && axis_ == static_cast<int64_t>(dims.size()))) dims.push_back(1);
    kit::AxisView view(dims, kit::NormalizeAxis(axis_, dims.size()));
    if (flattens_) {
      view.size *= view.inner;
      view.inner = 1;
    }
    Tensor& y = OutputLike(context, 0, x);
    if (y.Count() == 0) return;
    DispatchFloats(y.type, name_, [&]<typename T>() {
      ParallelLoop(context, view.outer * view.inner, view.size * kCost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t offset = i / view.inner * view.size * view.inner + i % view.inner;
          RunRow(static_cast<const T*>(data) + offset, y.as<T>() + offset, view);
        }
      });
    });
  }

 private:
  template <typename T>
  static void RunRow(const T* x, T* y, const kit::AxisView& view) {
    if constexpr (std::is_same_v<T, float> && kMode != Mode::kHardmax) {
      if (view.inner == 1) {
        return kMode == Mode::kSoftmax ? SoftmaxRow(x, y, view.size) : LogSoftmaxRow(x, y, view.size);
      }
    }
    StridedRow(kMode, x, y, view.size, view.inner);
  }

  std::string name_;
  bool flattens_;
  int64_t axis_;
};

}  // namespace

void Register_softmax(KernelRegistry& registry) {
  registry.Add<SoftmaxKernel<Mode::kSoftmax>>("Softmax", 1, kFloats);
  registry.Add<SoftmaxKernel<Mode::kLogSoftmax>>("LogSoftmax", 1, kFloats);
  registry.Add<SoftmaxKernel<Mode::kHardmax>>("Hardmax", 1, kFloats);
}

}  // namespace epiphyte::cpu
