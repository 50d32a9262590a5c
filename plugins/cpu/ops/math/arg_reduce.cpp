// ArgMax and ArgMin: where along an axis the extreme element is.
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/arg_extreme.h"

namespace epiphyte::cpu {
namespace {

// Whether b takes a's place: it is more extreme, or equal and later when the last one counts. As in numpy the first NaN
// wins over everything.
template <bool kLargest, bool kLast, typename T>
bool Replaces(T a, T b) {
  if (a != a) return kLast && b != b;
  if (b != b) return true;
  if (kLast && b == a) return true;
  return kLargest ? b > a : b < a;
}

template <bool kLargest, bool kLast>
void FindFloats(OpContext& context, const kit::AxisView& view, const float* x, int64_t* y) {
  constexpr simd::Extreme kWhich{kLargest, kLast};
  ParallelLoop(context, view.outer * view.inner, view.size, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin / view.inner, column = begin % view.inner;
      const int64_t columns = std::min(end - begin, view.inner - column);
      const float* const base = x + row * view.size * view.inner + column;
      if (view.inner == 1) {
        y[begin] = simd::ArgExtreme(base, view.size, kWhich);
      } else {
        simd::ArgExtremes(base, view.size, view.inner, columns, kWhich, y + begin);
      }
      begin += columns;
    }
  });
}

template <bool kLargest, bool kLast, typename T>
void FindAlong(OpContext& context, const kit::AxisView& view, const T* x, int64_t* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (view.size <= INT32_MAX) return FindFloats<kLargest, kLast>(context, view, x, y);
  }
  using C = Compute<T>;
  ParallelLoop(context, view.outer * view.inner, view.size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* base = x + i / view.inner * view.size * view.inner + i % view.inner;
      int64_t best = 0;
      C value = static_cast<C>(base[0]);
      for (int64_t j = 1; j < view.size; ++j) {
        const C candidate = static_cast<C>(base[j * view.inner]);
        if (Replaces<kLargest, kLast>(value, candidate)) best = j, value = candidate;
      }
      y[i] = best;
    }
  });
}

template <bool kLargest>
class ArgKernel : public Kernel {
 public:
  explicit ArgKernel(const KernelInit& init)
      : name_(init.node().op_type),
        axis_(init.node().Int("axis", 0)),
        keep_(init.node().Int("keepdims", 1) != 0),
        last_(init.node().Int("select_last_index", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() == 0) {  // numpy takes a scalar for a vector of one element
      *context.Output(0, EP_TYPE_INT64, {}).as<int64_t>() = 0;
      return;
    }
    const size_t axis = kit::NormalizeAxis(axis_, x.rank());
    const kit::AxisView view(x.dims, axis);
    Dims out;
    for (size_t i = 0; i < x.rank(); ++i) {
      if (i != axis) out.push_back(x.dims[i]);
      if (i == axis && keep_) out.push_back(1);
    }
    int64_t* y = context.Output(0, EP_TYPE_INT64, out).as<int64_t>();
    if (view.outer * view.inner == 0) return;
    if (view.size == 0) FailOp("axis {} of the input is empty, so it has no extreme", axis_);
    DispatchNumbers(x.type, name_, [&]<typename T>() {
      if (last_) {
        FindAlong<kLargest, true>(context, view, x.as<T>(), y);
      } else {
        FindAlong<kLargest, false>(context, view, x.as<T>(), y);
      }
    });
  }

 private:
  std::string name_;
  int64_t axis_;
  bool keep_;
  bool last_;
};

}  // namespace

void Register_arg_reduce(KernelRegistry& registry) {
  registry.Add<ArgKernel<true>>("ArgMax", 1, kNumbers);
  registry.Add<ArgKernel<false>>("ArgMin", 1, kNumbers);
}

}  // namespace epiphyte::cpu
