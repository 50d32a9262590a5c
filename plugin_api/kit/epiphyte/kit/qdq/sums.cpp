#include "epiphyte/kit/qdq/sums.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit::qdq {
namespace {

// Greatest distance between a number of the type and the zero point.
int64_t Farthest(EpElementType type, int64_t zero) { return std::max(zero - LowestOf(type), HighestOf(type) - zero); }

int64_t Farthest(const Quantization& quantization) {
  int64_t farthest = 0;
  const size_t zeros =
      quantization.zero_point.type == EP_TYPE_UNDEFINED ? 1 : static_cast<size_t>(quantization.zero_point.Count());
  for (size_t i = 0; i < zeros; ++i)
    farthest = std::max(farthest, Farthest(quantization.type, quantization.ZeroPoint(i)));
  return farthest;
}

// Σ |qw - wz| for each output; empty when the numbers are not available.
std::vector<int64_t> MagnitudesOf(const ir::Tensor* numbers, const Quantization& w, const Sums& sums) {
  if (numbers == nullptr || (numbers->type != EP_TYPE_INT8 && numbers->type != EP_TYPE_UINT8)) return {};
  const AxisView view =
      w.Count() == 1 ? AxisView(Dims{numbers->Count()}, 0) : AxisView(numbers->dims, static_cast<size_t>(w.axis));
  std::vector<int64_t> magnitudes(static_cast<size_t>(sums.outputs));
  for (int64_t i = 0; i < numbers->Count(); ++i) {
    const int64_t number =
        numbers->type == EP_TYPE_INT8 ? int64_t{numbers->as<int8_t>()[i]} : int64_t{numbers->as<uint8_t>()[i]};
    const int64_t zero = w.ZeroPoint(w.Count() == 1 ? 0 : static_cast<size_t>(i / view.inner % view.size));
    magnitudes[static_cast<size_t>(sums.output_of(i))] += std::abs(number - zero);
  }
  return magnitudes;
}

}  // namespace

bool HoldsSums(const ir::Graph& graph, int32_t weights, const Quantization& x, const Quantization& w,
               std::span<const int32_t> bias, const Sums& sums) {
  if (sums.outputs == 0) return true;
  const int64_t of_x = Farthest(x);
  const auto fits = [&](int64_t magnitude, int64_t added) {
    return magnitude <= (INT32_MAX - std::abs(added)) / std::max<int64_t>(of_x, 1);
  };
  int64_t most_added = 0;
  for (const int64_t added : bias) most_added = std::max(most_added, std::abs(added));
  uint64_t count = 0;
  if (!CountElements(graph.values[static_cast<size_t>(weights)].dims, &count)) return false;
  if (fits(static_cast<int64_t>(count) / sums.outputs * Farthest(w), most_added)) return true;
  const std::vector<int64_t> magnitudes = MagnitudesOf(ir::ElementsOf(graph, weights), w, sums);
  for (size_t i = 0; i < magnitudes.size(); ++i)
    if (!fits(magnitudes[i], bias.empty() ? 0 : bias[i % bias.size()])) return false;
  return !magnitudes.empty();
}

}  // namespace epiphyte::kit::qdq
