// TopK.
#include <algorithm>
#include <numeric>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"

namespace epiphyte::cpu {
namespace {

// The k first of `count` keys, in the order of the comparison if `sorted`. Equal keys: the lower index comes first.
// NaN counts as the largest value.
template <typename C>
void Select(const C* keys, int64_t count, int64_t k, bool largest, bool sorted, std::vector<int64_t>& order) {
  const auto before = [=](int64_t a, int64_t b) {
    const C& x = keys[a];
    const C& y = keys[b];
    if constexpr (std::is_floating_point_v<C>) {
      const bool x_nan = x != x, y_nan = y != y;
      if (x_nan != y_nan) return x_nan == largest;
      if (x_nan) return a < b;
    }
    if (x == y) return a < b;
    return largest ? x > y : x < y;
  };
  if (k == 1 && count > 0) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i)
      if (before(i, best)) best = i;
    order.assign(1, best);
    return;
  }
  order.resize(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + k;
  if (k < count) std::nth_element(order.begin(), middle, order.end(), before);
  if (sorted) {
    std::sort(order.begin(), middle, before);
  } else {
    std::sort(order.begin(), middle);
  }
}

class TopKKernel : public Kernel {
 public:
  explicit TopKKernel(const KernelInit& init)
      : version_(init.node().since_version),
        axis_(init.node().Int("axis", -1)),
        largest_(init.node().Int("largest", 1) != 0),
        sorted_(init.node().Int("sorted", 1) != 0),
        k_(init.node().Int("k", 0)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const size_t axis = kit::NormalizeAxis(axis_, x.rank());
    const int64_t k = version_ < 10 ? k_ : IntegerParameter(context, 1, "K");
    const int64_t dim = x.dims[axis];
    if (k < 0 || k > dim) FailOp("K {} found for a dimension of {}, a value in [0, {}] expected", k, dim, dim);
    Dims dims = x.dims;
    dims[axis] = k;
    DispatchNumbers(x.type, "TopK", [&]<typename T>() { Choose<T>(context, x, axis, k, dims); });
  }

 private:
  template <typename T>
  void Choose(OpContext& context, const Tensor& x, size_t axis, int64_t k, const Dims& dims) const {
    using C = Compute<T>;
    const int64_t dim = x.dims[axis], inner = x.dims.Count(axis + 1, x.rank());
    const int64_t outer = x.dims.Count(0, axis);
    T* values = context.Output(0, x.type, dims).template as<T>();
    int64_t* indices = context.Output(1, EP_TYPE_INT64, dims).template as<int64_t>();
    const T* from = x.as<T>();
    if (k == 0) return;
    Parallel(context, outer * inner, std::max<int64_t>(1, 4096 / dim), [&](int64_t begin, int64_t end) {
      std::vector<C> keys;
      std::vector<int64_t> order;
      if (inner != 1 || kIsSmallFloat<T>) keys.resize(static_cast<size_t>(dim));
      for (int64_t item = begin; item < end; ++item) {
        const T* row = from + item / inner * dim * inner + item % inner;
        const C* key = keys.data();
        if constexpr (std::is_same_v<C, T>) {
          if (inner == 1) key = row;
        }
        if (key == keys.data())
          for (int64_t i = 0; i < dim; ++i) keys[static_cast<size_t>(i)] = static_cast<C>(row[i * inner]);
        Select(key, dim, k, largest_, sorted_, order);
        const int64_t out = item / inner * k * inner + item % inner;
        for (int64_t i = 0; i < k; ++i) {
          const int64_t at = order[static_cast<size_t>(i)];
          values[out + i * inner] = row[at * inner];
          indices[out + i * inner] = at;
        }
      }
    });
  }

  int64_t version_;
  int64_t axis_;
  bool largest_;
  bool sorted_;
  int64_t k_;
};

}  // namespace

void Register_top_k(KernelRegistry& registry) { registry.Add<TopKKernel>("TopK", 1, kNumbers); }

}  // namespace epiphyte::cpu
