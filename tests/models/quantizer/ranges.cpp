#include "tests/models/quantizer/ranges.h"

#include <algorithm>

namespace epiphyte::test {
namespace {

// Distance of a masked score from the lowest score. e^-8 is less than half a quantum of Softmax's 8 bits, so that the
// masked score becomes 0.
constexpr double kMaskDepth = 8;

}  // namespace

QuantizedRanges::QuantizedRanges(const GraphIndex& index, const QuantizedPlacement& placement,
                                 const ActivationMap& seen, const QuantizeOptions& options)
    : seen_(seen), options_(options) {
  const int count = index.graph().node_size();
  for (int n = 0; n < count; ++n) {
    if (!placement.IsQuantized(n) || !placement.Moves(n)) continue;
    for (const std::string& output : index.node(n).output()) moved_from_[output] = SourceOf(index.node(n).input(0));
  }
  for (int n = 0; n < count; ++n) {
    if (!placement.IsQuantized(n)) continue;
    const onnx::NodeProto& node = index.node(n);
    for (const auto* values : {&node.input(), &node.output()}) {
      for (const std::string& value : *values) {
        if (seen.contains(value) && !placement.IsMask(value)) Widen(SourceOf(value), Measured(SourceOf(value)));
      }
    }
    for (int i = 0; node.op_type() == "Add" && i < 2; ++i) {
      if (placement.IsMask(node.input(i))) AddMaskedScores(node, node.input(i), node.input(1 - i));
    }
  }
  for (const auto& [value, range] : ranges_) linear_[value] = ChooseLinear(range, options.activations);
}

const std::string& QuantizedRanges::SourceOf(const std::string& value) const {
  const auto moved = moved_from_.find(value);
  return moved == moved_from_.end() ? value : moved->second;
}

Range QuantizedRanges::Measured(const std::string& value) const {
  const ActivationStatistics& statistics = seen_.at(value);
  return options_.calibration == Calibration::kPercentile ? statistics.Percentile(options_.percentile)
                                                          : statistics.MinMax();
}

void QuantizedRanges::Widen(const std::string& value, Range range) {
  const auto [known, added] = ranges_.try_emplace(value, range);
  known->second.low = std::min(known->second.low, range.low);
  known->second.high = std::max(known->second.high, range.high);
}

// The range of the sum extends kMaskDepth below the lowest score. The mask's range covers the distance from the highest
// score to that bound.
void QuantizedRanges::AddMaskedScores(const onnx::NodeProto& add, const std::string& mask, const std::string& scores) {
  Range sum = Measured(add.output(0));
  sum.low -= kMaskDepth;
  Widen(add.output(0), sum);
  Widen(mask, {sum.low - Measured(SourceOf(scores)).high, 0});
}

}  // namespace epiphyte::test
