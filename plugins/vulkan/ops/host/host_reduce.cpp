#include "plugins/vulkan/ops/host/host_reduce.h"

#include <algorithm>
#include <limits>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/strides.hpp"

namespace epiphyte::vulkan {
namespace {

enum class Reduction { kSum, kProduct, kMaximum, kMinimum };

Reduction ReductionOf(std::string_view op_type) {
  if (op_type == "ReduceSum") return Reduction::kSum;
  if (op_type == "ReduceProd") return Reduction::kProduct;
  if (op_type == "ReduceMax") return Reduction::kMaximum;
  if (op_type == "ReduceMin") return Reduction::kMinimum;
  kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, op_type, " is not computed on the host");
}

int64_t Combine(Reduction reduction, int64_t a, int64_t b) {
  // Integers wrap around, which C++ defines for unsigned ones only.
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (reduction) {
    case Reduction::kSum: return static_cast<int64_t>(x + y);
    case Reduction::kProduct: return static_cast<int64_t>(x * y);
    case Reduction::kMaximum: return std::max(a, b);
    case Reduction::kMinimum: return std::min(a, b);
  }
  return a;
}

double Combine(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kSum: return a + b;
    case Reduction::kProduct: return a * b;
    case Reduction::kMaximum: return b > a || b != b ? b : a;
    case Reduction::kMinimum: return b < a || b != b ? b : a;
  }
  return a;
}

struct IntegerRange {
  int64_t least;
  int64_t most;
};
IntegerRange RangeOf(EpElementType type) {
  const auto bits = static_cast<int>(8 * kit::ElementBytes(type, 1));
  if (type == EP_TYPE_BOOL) return {0, 1};
  if (type == EP_TYPE_UINT64) return {0, -1};  // the bits of 0 and of 2^64 - 1
  if (kit::Contains(kit::kUnsigned, type)) return {0, (int64_t{1} << bits) - 1};
  return {INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits)};
}

// The result of a reduction over no elements.
template <typename Value>
Value Neutral(Reduction reduction, EpElementType type) {
  if (reduction == Reduction::kSum) return 0;
  if (reduction == Reduction::kProduct) return 1;
  const bool maximum = reduction == Reduction::kMaximum;
  if constexpr (std::is_same_v<Value, double>) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return maximum ? -kInfinity : kInfinity;
  } else {
    return maximum ? RangeOf(type).least : RangeOf(type).most;
  }
}

template <typename Value>
void Reduce(Reduction reduction, EpElementType type, const std::vector<Value>& from, const std::vector<int64_t>& places,
            std::vector<Value>& to) {
  std::fill(to.begin(), to.end(), Neutral<Value>(reduction, type));
  for (size_t i = 0; i < from.size(); ++i) {
    const auto at = static_cast<size_t>(places[i]);
    to[at] = Combine(reduction, to[at], from[i]);
  }
  for (Value& value : to) {
    if constexpr (std::is_same_v<Value, double>)
      value = HoldFloat(type, value);
    else
      value = HoldInteger(type, value);
  }
}

}  // namespace

std::vector<HostTensor> ReduceOnHost(const ir::Node& node, HostInputs inputs) {
  const Reduction reduction = ReductionOf(node.op_type);
  const HostTensor& x = *inputs[0];
  const std::vector<int64_t> attribute = node.Ints("axes");
  Dims axes{std::span<const int64_t>(attribute)};
  if (const HostTensor* given = HostInput(inputs, 1)) axes = HostDims(*given, "axes");
  std::vector<bool> reduced;
  if (axes.empty())
    reduced.assign(x.dims.size(), node.Int("noop_with_empty_axes", 0) == 0);
  else
    reduced = kit::AxesMask(axes, x.dims.size());

  const Dims kept = kit::ReducedDims(x.dims, reduced, true);
  HostTensor y = HostZeros(x.type, kept);
  const std::vector<int64_t> places = BroadcastPositions(kept, x.dims);
  if (x.IsFloat())
    Reduce(reduction, x.type, x.floats, places, y.floats);
  else
    Reduce(reduction, x.type, x.ints, places, y.ints);
  y.dims = kit::ReducedDims(x.dims, reduced, kit::CheckedKeepDims(node.Int("keepdims", 1)));
  return {std::move(y)};
}

}  // namespace epiphyte::vulkan
