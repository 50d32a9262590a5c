// Unique.
#include <algorithm>
#include <numeric>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/key_order.h"
#include "plugins/cpu/ops/shape/axis_items.h"

namespace epiphyte::cpu {
namespace {

// Order for sorting: NaN is the largest value and equal to itself.
template <typename T>
int Compare(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
  }
  return a < b ? -1 : static_cast<int>(b < a);
}

// Calls body(keys) with comparable elements; 16-bit floats are widened.
template <typename Body>
void WithKeys(OpContext& context, const Tensor& x, Body&& body) {
  if (x.type == EP_TYPE_STRING) return body(x.strings->data());
  if (x.type == EP_TYPE_BOOL) return body(x.as<uint8_t>());
  DispatchNumbers(x.type, "Unique", [&]<typename T>() {
    if constexpr (kIsSmallFloat<T>) {
      const int64_t count = x.Count();
      auto* wide = static_cast<float*>(context.Scratch(static_cast<uint64_t>(count + 1) * sizeof(float)));
      for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<float>(x.as<T>()[i]);
      body(static_cast<const float*>(wide));
    } else {
      body(x.as<T>());
    }
  });
}

class UniqueKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit UniqueKernel(const KernelInit& init)
      : has_axis_(init.node().Has("axis")),
        axis_(init.node().Int("axis", 0)),
        sorted_(init.node().Int("sorted", 1) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const AxisItems items(x, has_axis_, axis_);
    const int64_t dim = items.count, inner = items.inner;

    Groups found;
    WithKeys(context, x, [&](const auto* keys) {
      using T = std::remove_cvref_t<decltype(*keys)>;
      if constexpr (std::is_arithmetic_v<T>) {
        if (items.outer * inner == 1 && dim <= UINT32_MAX) {
          const std::vector<OrderedKey<T>> order = OrderedKeys(keys, dim);
          return found.Fill(
              dim, [&](size_t i) { return static_cast<int64_t>(order[i].index); },
              [&](size_t i) { return order[i].bits != order[i - 1].bits; });
        }
      }
      const auto compare = [&](int64_t a, int64_t b) {
        for (int64_t o = 0; o < items.outer; ++o)
          for (int64_t i = 0; i < inner; ++i)
            if (int c = Compare(keys[(o * dim + a) * inner + i], keys[(o * dim + b) * inner + i]); c != 0) return c;
        return 0;
      };
      std::vector<int64_t> order(static_cast<size_t>(dim));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
      found.Fill(
          dim, [&](size_t i) { return order[i]; }, [&](size_t i) { return compare(order[i - 1], order[i]) != 0; });
    });
    std::vector<int64_t>&first = found.first, &group = found.group, &counts = found.counts;
    if (!sorted_) {
      // Groups in the order of their first appearance.
      std::vector<int64_t> by_appearance(first.size());
      std::iota(by_appearance.begin(), by_appearance.end(), 0);
      std::sort(by_appearance.begin(), by_appearance.end(),
                [&](int64_t a, int64_t b) { return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)]; });
      std::vector<int64_t> number(first.size()), new_first, new_counts;
      for (int64_t old : by_appearance) {
        number[static_cast<size_t>(old)] = static_cast<int64_t>(new_first.size());
        new_first.push_back(first[static_cast<size_t>(old)]);
        new_counts.push_back(counts[static_cast<size_t>(old)]);
      }
      for (int64_t& g : group) g = number[static_cast<size_t>(g)];
      first = std::move(new_first);
      counts = std::move(new_counts);
    }

    items.Emit(context, x, first);
    Emit(context, 1, first);
    Emit(context, 2, group);
    Emit(context, 3, counts);
  }

 private:
  // Groups of equal items, numbered in sorted order.
  struct Groups {
    std::vector<int64_t> group;  // group of each item
    std::vector<int64_t> first;  // first item of each group
    std::vector<int64_t> counts;

    // at(i): the i-th item in order; differs(i): true when it differs from the previous one.
    template <typename At, typename Differs>
    void Fill(int64_t count, const At& at, const Differs& differs) {
      group.resize(static_cast<size_t>(count));
      for (size_t i = 0; i < group.size(); ++i) {
        const int64_t item = at(i);
        if (i == 0 || differs(i)) {
          first.push_back(item);
          counts.push_back(0);
        }
        group[static_cast<size_t>(item)] = static_cast<int64_t>(first.size()) - 1;
        ++counts.back();
      }
    }
  };

  static void Emit(OpContext& context, size_t output, const std::vector<int64_t>& values) {
    if (!context.HasOutput(output)) return;
    Tensor& y = context.Output(output, EP_TYPE_INT64, Dims{static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), y.as<int64_t>());
  }

  bool has_axis_;
  int64_t axis_;
  bool sorted_;
};

}  // namespace

void Register_unique(KernelRegistry& registry) { registry.Add<UniqueKernel>("Unique"); }

}  // namespace epiphyte::cpu
