// ArgMax and ArgMin: index of the extreme element along an axis.
#include <vector>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/reduce/arg_extreme.h"

namespace epiphyte::cpu {
namespace {

// True when b replaces a: it is more extreme, or it is equal and the last index counts. As in numpy, the first NaN
// precedes all numbers.
template <bool kLargest, bool kLast, typename T>
bool Replaces(T a, T b) {
  if (a != a) return kLast && b != b;
  if (b != b) return true;
  if (kLast && b == a) return true;
  return kLargest ? b > a : b < a;
}

template <typename T>
inline constexpr bool kHasColumns =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
template <typename T>
inline constexpr bool kHasRows = kHasColumns<T> || std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>;
// Types with values that are exact in float.
template <typename T>
inline constexpr bool kFitsFloat = kIsSmallFloat<T> || (std::is_integral_v<T> && sizeof(T) <= 2);

template <typename T>
void LoadAsFloats(const T* x, float* y, int64_t n) {
  if constexpr (kIsSmallFloat<T>) {
    SmallFloats<T>().load(x, y, n);
  } else {
    std::copy_n(x, n, y);
  }
}

// Index of the extreme element in one row.
template <bool kLargest, bool kLast, typename T>
int64_t FindInRow(const T* x, int64_t n) {
  constexpr simd::Extreme kWhich{kLargest, kLast};
  if constexpr (kHasRows<T>) {
    return simd::ArgExtreme(x, n, kWhich);
  } else if constexpr (kFitsFloat<T>) {
    float block[kFloatBlock], value = 0;
    int64_t best = -1;
    ForEachFloatBlock(n, [&](int64_t at, int64_t count) {
      LoadAsFloats(x + at, block, count);
      const int64_t found = simd::ArgExtreme(static_cast<const float*>(block), count, kWhich);
      if (best < 0 || Replaces<kLargest, kLast>(value, block[found])) best = at + found, value = block[found];
    });
    return best;
  } else {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
      if (Replaces<kLargest, kLast>(x[best], x[i])) best = i;
    return best;
  }
}

// Index of the extreme element in each of `columns` adjacent columns of n elements with stride `stride`.
template <bool kLargest, bool kLast, typename T>
void FindInColumns(const T* x, int64_t n, int64_t stride, int64_t columns, int64_t* y) {
  constexpr simd::Extreme kWhich{kLargest, kLast};
  constexpr int64_t kMostFloats = int64_t{1} << 16, kFewColumns = 16;
  if constexpr (kHasColumns<T>) {
    if (n <= INT32_MAX) return simd::ArgExtremes(x, n, stride, columns, kWhich, y);
  } else if constexpr (kFitsFloat<T>) {
    if (n <= kMostFloats / kFewColumns) {
      const int64_t tile = std::min(kMostFloats / n, columns);
      std::vector<float> block(static_cast<size_t>(n * tile));
      for (int64_t first = 0; first < columns; first += tile) {
        const int64_t width = std::min(tile, columns - first);
        for (int64_t i = 0; i < n; ++i) LoadAsFloats(x + i * stride + first, block.data() + i * width, width);
        simd::ArgExtremes(static_cast<const float*>(block.data()), n, width, width, kWhich, y + first);
      }
      return;
    }
  }
  using C = Compute<T>;
  for (int64_t c = 0; c < columns; ++c) {
    int64_t best = 0;
    C value = static_cast<C>(x[c]);
    for (int64_t i = 1; i < n; ++i) {
      const C candidate = static_cast<C>(x[i * stride + c]);
      if (Replaces<kLargest, kLast>(value, candidate)) best = i, value = candidate;
    }
    y[c] = best;
  }
}

template <bool kLargest, bool kLast, typename T>
void FindAlong(OpContext& context, const kit::AxisView& view, const T* x, int64_t* y) {
  VectorLoop<T>(context, view.outer * view.inner, view.size, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t row = begin / view.inner, column = begin % view.inner;
      const int64_t columns = std::min(end - begin, view.inner - column);
      const T* const base = x + row * view.size * view.inner + column;
      if (view.inner == 1) {
        y[begin] = FindInRow<kLargest, kLast>(base, view.size);
      } else {
        FindInColumns<kLargest, kLast>(base, view.size, view.inner, columns, y + begin);
      }
      begin += columns;
    }
  });
}

template <bool kLargest>
class ArgKernel : public Kernel {
 public:
  explicit ArgKernel(const KernelInit& init)
      : name_(init.node().op_type),
        axis_(init.node().Int("axis", 0)),
        keep_(kit::CheckedKeepDims(init.node().Int("keepdims", 1))),
        last_(init.node().Int("select_last_index", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() == 0) {  // as in numpy, a scalar is a vector of one element
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
