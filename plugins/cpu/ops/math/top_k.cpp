// TopK: maps elements to integer keys in the requested order. A bound on the keys leaves few elements to sort.
#include <algorithm>
#include <bit>
#include <compare>
#include <functional>
#include <vector>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/simd/reduce/top_keys.h"

namespace epiphyte::cpu {
namespace {

// Type in which the SIMD loops compare an element: float, double or an integer type.
template <typename T>
auto ToComparable(T x) {
  if constexpr (std::is_same_v<T, double>) {
    return x;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return std::bit_cast<int64_t>(x ^ (uint64_t{1} << 63));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::conditional_t<(sizeof(T) < 4) || std::is_same_v<T, int32_t>, int32_t, int64_t>>(x);
  } else {
    return static_cast<float>(x);
  }
}
template <typename T>
using Comparable = decltype(ToComparable(T()));

// A key with its index. Ascending order puts the greatest keys first, and equal keys in the order of their indices.
struct Ranked {
  int64_t key, index;
  static Ranked Of(int64_t key, int64_t index) { return {~key, index}; }
  int64_t Index() const { return index; }
  auto operator<=>(const Ranked&) const = default;
};
// Ranked as one number, for 32-bit keys and indices.
struct SmallRanked {
  uint64_t number;
  static SmallRanked Of(int32_t key, int64_t index) {
    const auto descending = std::bit_cast<uint32_t>(~key) ^ 0x80000000u;
    return {uint64_t{descending} << 32 | static_cast<uint64_t>(index)};
  }
  int64_t Index() const { return static_cast<int64_t>(number & 0xFFFFFFFFu); }
  auto operator<=>(const SmallRanked&) const = default;
};

// Selects the first k of n elements, k > 0: in ranked order if `sorted`, otherwise by index.
template <typename R, typename C>
void Choose(const C* x, int64_t n, int64_t k, bool largest, bool sorted, std::vector<R>& ranked) {
  using K = simd::TopKey<C>;
  const int64_t groups = std::max<int64_t>(32, (2 * k + simd::kKeyGroups - 1) / simd::kKeyGroups * simd::kKeyGroups);
  ranked.clear();
  if (n / 4 >= groups) {
    std::vector<K> bounds(static_cast<size_t>(groups));
    simd::GroupLargest(x, n, largest, bounds.data(), groups);
    std::nth_element(bounds.begin(), bounds.begin() + (k - 1), bounds.end(), std::greater<K>());
    constexpr int64_t kPiece = 1024;
    int32_t found[kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
      const int64_t count =
          simd::CollectFrom(x + i, std::min(kPiece, n - i), largest, bounds[static_cast<size_t>(k - 1)], found);
      for (int64_t f = 0; f < count; ++f)
        ranked.push_back(R::Of(simd::TopKeyOf(x[i + found[f]], largest), i + found[f]));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) ranked.push_back(R::Of(simd::TopKeyOf(x[i], largest), i));
  }
  const auto end = ranked.begin() + k;
  if (end != ranked.end()) std::nth_element(ranked.begin(), end, ranked.end());
  if (sorted) {
    std::sort(ranked.begin(), end);
  } else {
    std::sort(ranked.begin(), end, [](const R& a, const R& b) { return a.Index() < b.Index(); });
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
    DispatchNumbers(x.type, "TopK", [&]<typename T>() {
      if (sizeof(Comparable<T>) == 4 && dim <= UINT32_MAX) {
        if constexpr (sizeof(Comparable<T>) == 4) ChooseRows<T, SmallRanked>(context, x, axis, k, dims);
      } else {
        ChooseRows<T, Ranked>(context, x, axis, k, dims);
      }
    });
  }

 private:
  template <typename T, typename R>
  void ChooseRows(OpContext& context, const Tensor& x, size_t axis, int64_t k, const Dims& dims) const {
    const int64_t dim = x.dims[axis], inner = x.dims.Count(axis + 1, x.rank());
    const int64_t outer = x.dims.Count(0, axis);
    T* values = context.Output(0, x.type, dims).template as<T>();
    int64_t* indices = context.Output(1, EP_TYPE_INT64, dims).template as<int64_t>();
    const T* from = x.as<T>();
    if (k == 0) return;
    constexpr int64_t kShare = 16384;
    Parallel(context, outer * inner, std::max<int64_t>(1, kShare / dim), [&](int64_t begin, int64_t end) {
      std::vector<Comparable<T>> gathered;
      std::vector<R> ranked;
      for (int64_t item = begin; item < end; ++item) {
        const T* row = from + item / inner * dim * inner + item % inner;
        const Comparable<T>* numbers = nullptr;
        if constexpr (std::is_same_v<T, Comparable<T>>)
          if (inner == 1) numbers = row;
        if (numbers == nullptr) {
          gathered.resize(static_cast<size_t>(dim));
          for (int64_t i = 0; i < dim; ++i) gathered[static_cast<size_t>(i)] = ToComparable(row[i * inner]);
          numbers = gathered.data();
        }
        Choose(numbers, dim, k, largest_, sorted_, ranked);
        const int64_t out = item / inner * k * inner + item % inner;
        for (int64_t i = 0; i < k; ++i) {
          const int64_t at = ranked[static_cast<size_t>(i)].Index();
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
