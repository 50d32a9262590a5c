// CumSum and CumProd: cumulative sums and products along an axis.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"

namespace epiphyte::cpu {
namespace {

template <typename Op, int kInitial>
class CumulativeKernel : public Kernel {
 public:
  explicit CumulativeKernel(const KernelInit& init)
      : name_(init.node().op_type),
        exclusive_(init.node().Int("exclusive", 0) != 0),
        reverse_(init.node().Int("reverse", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const kit::AxisView view(x.dims, kit::NormalizeAxis(IntegerParameter(context, 1, "axis"), x.rank()));
    Tensor& y = context.Output(0, x.type, x.dims);
    Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>(
        x.type, name_, [&]<typename T>() { Accumulate(context, view, x.as<T>(), y.as<T>()); });
  }

 private:
  template <typename T>
  void Accumulate(OpContext& context, const kit::AxisView& view, const T* x, T* y) const {
    if (view.outer * view.size * view.inner == 0) return;  // empty tensor
    if (view.inner > 1) return AccumulateRows(context, view, x, y);
    // Each step depends on the previous one, so several lines are computed together.
    constexpr int64_t kLines = 8;
    ParallelLoop(context, view.outer, view.size, [&](int64_t begin, int64_t end) {
      int64_t i = begin;
      for (; i + kLines <= end; i += kLines) AccumulateLines<kLines>(x + i * view.size, y + i * view.size, view.size);
      for (; i < end; ++i) AccumulateLines<1>(x + i * view.size, y + i * view.size, view.size);
    });
  }
  // Accumulates contiguous lines of n elements.
  template <int64_t kLines, typename T>
  void AccumulateLines(const T* x, T* y, int64_t n) const {
    using C = Compute<T>;
    C totals[kLines];
    std::fill_n(totals, kLines, static_cast<C>(kInitial));
    const bool exclusive = exclusive_;
    const int64_t step = reverse_ ? -1 : 1;
    int64_t at = reverse_ ? n - 1 : 0;
    for (int64_t j = 0; j < n; ++j, at += step) {
      for (int64_t line = 0; line < kLines; ++line) {
        const C next = Op()(totals[line], static_cast<C>(x[line * n + at]));
        y[line * n + at] = static_cast<T>(exclusive ? totals[line] : next);
        totals[line] = next;
      }
    }
  }

  // True for types with SIMD loops that add a row of x to the previous result row.
  template <typename T>
  static constexpr bool kHasRows = std::is_same_v<T, float> || simd::kHasNumberLoops<T>;
  template <typename T>
  void AddRows(const kit::AxisView& view, const T* x, T* y, int64_t columns) const {
    const auto loop = [] {
      if constexpr (std::is_same_v<T, float>) {
        return simd::BinaryLoop(Op::kFloats);
      } else {
        return simd::NumberLoop<T>(Op::kOthers);
      }
    }();
    const int64_t step = reverse_ ? -view.inner : view.inner;
    const int64_t first = reverse_ ? (view.size - 1) * view.inner : 0;
    const T* from = x + first;
    T* to = y + first;
    if (exclusive_) {
      std::fill_n(to, columns, static_cast<T>(kInitial));
    } else {
      std::copy_n(from, columns, to);
      from += step;
    }
    for (int64_t j = 1; j < view.size; ++j, from += step, to += step) loop(to, 1, from, 1, to + step, columns);
  }

  // Accumulates adjacent columns together, in memory order.
  template <typename T>
  void AccumulateRows(OpContext& context, const kit::AxisView& view, const T* x, T* y) const {
    // Rows that are soon read again stay in the L1 cache.
    constexpr int64_t kMostColumns = kHasRows<T> ? int64_t{16384} / static_cast<int64_t>(sizeof(T)) : 256;
    using C = Compute<T>;
    // With little computation, a thread takes many adjacent columns, because narrow pieces of rows would stall on
    // memory. Data in one thread's cache is not worth a second thread.
    constexpr int64_t kFewestColumns = 1024, kInCache = 1 << 19;
    const int64_t count = view.outer * view.inner, threads = context.thread_count();
    int64_t grain = std::max<int64_t>(1, kGrain / view.size);
    if constexpr (kHasRows<T>) {
      const bool in_cache = count * view.size * static_cast<int64_t>(sizeof(T)) <= kInCache;
      grain = std::max(grain, in_cache ? kFewestColumns : std::min(kFewestColumns, (count + threads - 1) / threads));
    }
    context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        const int64_t column = i % view.inner, columns = std::min({end - i, view.inner - column, kMostColumns});
        const int64_t base = i / view.inner * view.size * view.inner + column;
        if constexpr (kHasRows<T>) {
          AddRows(view, x + base, y + base, columns);
        } else {
          C totals[kMostColumns];
          std::fill_n(totals, columns, static_cast<C>(kInitial));
          for (int64_t j = 0; j < view.size; ++j) {
            const int64_t at = base + (reverse_ ? view.size - 1 - j : j) * view.inner;
            if (exclusive_) {
              for (int64_t c = 0; c < columns; ++c) {
                const C value = static_cast<C>(x[at + c]);
                y[at + c] = static_cast<T>(totals[c]);
                totals[c] = Op()(totals[c], value);
              }
            } else {
              for (int64_t c = 0; c < columns; ++c) {
                totals[c] = Op()(totals[c], static_cast<C>(x[at + c]));
                y[at + c] = static_cast<T>(totals[c]);
              }
            }
          }
        }
        i += columns;
      }
    });
  }

  std::string name_;
  bool exclusive_;
  bool reverse_;
};

}  // namespace

void Register_cumulative(KernelRegistry& registry) {
  constexpr TypeSet kTypes = kFloats | Types(EP_TYPE_INT32, EP_TYPE_INT64, EP_TYPE_UINT32, EP_TYPE_UINT64);
  registry.Add<CumulativeKernel<Add, 0>>("CumSum", 11, kTypes);
  registry.Add<CumulativeKernel<Mul, 1>>("CumProd", 26, kTypes);
}

}  // namespace epiphyte::cpu
