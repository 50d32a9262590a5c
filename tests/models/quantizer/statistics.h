// ActivationStatistics collects the numbers of a value over all samples, and gives the range to quantize it with.
//
//   ActivationStatistics statistics(/*with_histogram=*/true);
//   for (const auto& sample : samples) statistics.Add(sample);
//   const Range range = statistics.Percentile(99.99);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/models/quantizer/linear.h"

namespace epiphyte::test {

// Bound above which a number stands for infinity, as an attention mask adds it to hidden scores.
inline constexpr float kEndless = 1e30f;

class ActivationStatistics {
 public:
  // Percentile needs the histogram, which takes 256 KiB.
  explicit ActivationStatistics(bool with_histogram);

  // Adds numbers; endless ones (kEndless) and NaN are ignored.
  void Add(std::span<const float> values);

  // Returns the range of all numbers; {0, 0} when there are none.
  Range MinMax() const;
  // Returns the range without (100 - percent) / 2 percent of the numbers at each end, and within MinMax. Its relative
  // error is up to 1/128.
  Range Percentile(double percent) const;

 private:
  double LeastWith(uint64_t rank) const;  // lower bound of the bucket with the number of that rank
  double MostWith(uint64_t rank) const;

  float low_ = 0, high_ = 0;
  uint64_t count_ = 0;
  // Numbers are counted by the upper 16 bits of the float, in the order of floats. This is precise at every magnitude,
  // and doesn't depend on the order of samples.
  std::vector<uint32_t> histogram_;
};

}  // namespace epiphyte::test
