// Softmax, LogSoftmax and Hardmax: along one axis since opset 13; before that over all dimensions from the axis on.
#include <algorithm>
#include <cmath>
#include <vector>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/math/softmax_float.h"
#include "plugins/cpu/simd/elementwise/number_rows.h"
#include "plugins/cpu/simd/reduce/arg_extreme.h"
#include "plugins/cpu/simd/reduce/reduce.h"

namespace epiphyte::cpu {
namespace {

enum class Mode { kSoftmax, kLogSoftmax, kHardmax };

// Writes 1 at the first largest element, or at the first NaN. x and y may be equal.
template <typename T>
void HardmaxRow(const T* x, T* y, int64_t n, int64_t stride) {
  using C = Compute<T>;
  if constexpr (std::is_same_v<T, float>) {
    if (stride == 1) {
      const int64_t where = simd::ArgExtreme(x, n, {.largest = true, .last = false});
      std::fill_n(y, n, 0.0f);
      y[where] = 1;
      return;
    }
  }
  C largest = static_cast<C>(x[0]);
  int64_t where = 0;
  for (int64_t i = 1; i < n; ++i) {
    const C value = static_cast<C>(x[i * stride]);
    if (value > largest || (value != value && largest == largest)) largest = value, where = i;
  }
  for (int64_t i = 0; i < n; ++i) y[i * stride] = T(i == where ? 1.0f : 0.0f);
}

using cpu::SoftmaxRow;
void SoftmaxRow(const double* x, double* y, int64_t n, bool logarithm) {
  const simd::NumberLoop<double> subtract(simd::NumberFunction::kSub), divide(simd::NumberFunction::kDiv);
  const simd::NumberUnaryLoop<double> exponential(simd::NumberUnary::kExp);
  const simd::DoubleReduceLoop add(simd::Reduction::kSum);
  const double largest = simd::DoubleReduceLoop(simd::Reduction::kLargest)(x, n);
  double sum = 0;
  constexpr int64_t kBlock = 256;
  double block[kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    double* const values = logarithm ? block : y + at;
    subtract(x + at, 1, &largest, 0, values, count);
    exponential(values, values, count);
    sum += add(values, count);
  }
  if (!logarithm) return divide(y, 1, &sum, 0, y, n);
  const double log = std::log(sum);
  subtract(x, 1, &largest, 0, y, n);
  subtract(y, 1, &log, 0, y, n);
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
    // A scalar is a vector of one element. Before opset 13, the axis may equal the rank; each element is then its own
    // row.
    if (dims.empty() || (flattens_ && axis_ == static_cast<int64_t>(dims.size()))) dims.push_back(1);
    kit::AxisView view(dims, kit::NormalizeAxis(axis_, dims.size()));
    if (flattens_) {
      view.size *= view.inner;
      view.inner = 1;
    }
    Tensor& y = OutputLike(context, 0, x);
    if (y.Count() == 0) return;
    if (y.type == EP_TYPE_FLOAT && kMode != Mode::kHardmax)
      return SoftmaxAlong(context, view, static_cast<const float*>(data), y.as<float>(), kMode == Mode::kLogSoftmax);
    DispatchFloats(y.type, name_, [&]<typename T>() {
      ParallelLoop(context, view.outer * view.inner, view.size * kSoftmaxCost, [&](int64_t begin, int64_t end) {
        Rows<T> rows;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t offset = i / view.inner * view.size * view.inner + i % view.inner;
          RunRow(static_cast<const T*>(data) + offset, y.as<T>() + offset, view.size, view.inner, rows);
        }
      });
    });
  }

 private:
  // Scratch memory: gathers rows that are not contiguous, and converts 16-bit rows to floats.
  template <typename T>
  struct Rows {
    std::vector<T> gathered;
    std::vector<Compute<T>> wide;
  };

  template <typename T>
  static void RunRow(const T* x, T* y, int64_t n, int64_t stride, Rows<T>& rows) {
    if constexpr (kMode == Mode::kHardmax) {
      HardmaxRow(x, y, n, stride);
    } else if (stride == 1) {
      RunTogether(x, y, n, rows);
    } else {
      rows.gathered.resize(static_cast<size_t>(n));
      T* row = rows.gathered.data();
      for (int64_t i = 0; i < n; ++i) row[i] = x[i * stride];
      RunTogether(row, row, n, rows);
      for (int64_t i = 0; i < n; ++i) y[i * stride] = row[i];
    }
  }
  template <typename T>
  static void RunTogether(const T* x, T* y, int64_t n, Rows<T>& rows) {
    constexpr bool kLogarithm = kMode == Mode::kLogSoftmax;
    if constexpr (kIsSmallFloat<T>) {
      rows.wide.resize(static_cast<size_t>(n));
      const SmallFloats<T> small;
      small.load(x, rows.wide.data(), n);
      SoftmaxRow(rows.wide.data(), rows.wide.data(), n, kLogarithm);
      small.store(rows.wide.data(), y, n);
    } else {
      SoftmaxRow(x, y, n, kLogarithm);
    }
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
