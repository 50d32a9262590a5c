// QuantizedRanges holds the scale and zero point of each quantized value.
//
//   const QuantizedRanges ranges(index, placement, seen, options);
//   const Linear& x = ranges.Of("x");
#pragma once

#include <map>
#include <string>

#include "tests/models/quantizer/placement.h"
#include "tests/models/quantizer/quantize.h"

namespace epiphyte::test {

class QuantizedRanges {
 public:
  QuantizedRanges(const GraphIndex& index, const QuantizedPlacement& placement, const ActivationMap& seen,
                  const QuantizeOptions& options);

  const Linear& Of(const std::string& value) const { return linear_.at(SourceOf(value)); }
  // The value from which `value` is made by operators that only move elements. All values on that path have one scale.
  const std::string& SourceOf(const std::string& value) const;

 private:
  Range Measured(const std::string& value) const;
  void Widen(const std::string& value, Range range);
  void AddMaskedScores(const onnx::NodeProto& add, const std::string& mask, const std::string& scores);

  const ActivationMap& seen_;
  const QuantizeOptions& options_;
  std::map<std::string, std::string> moved_from_;
  std::map<std::string, Range> ranges_;  // key: name of the source
  std::map<std::string, Linear> linear_;
};

}  // namespace epiphyte::test
