// ActivationStatistics: what has been seen of a value over all samples, and the range to quantise it with.
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

// Beyond it, a number stands for infinity: what an attention mask adds where nothing may be seen.
inline constexpr float kEndless = 1e30f;

class ActivationStatistics {
 public:
  // Percentiles need the histogram (256 KiB).
  explicit ActivationStatistics(bool with_histogram);

  // Endless numbers and NaN don't count.
  void Add(std::span<const float> values);

  // {0, 0} when nothing has been seen.
  Range MinMax() const;
  // The range without (100 - percent) / 2 percent of the numbers at either end, but within MinMax; precise to 1/128 of
  // MinMax's ends.
  Range Percentile(double percent) const;

 private:
  double LeastWith(uint64_t rank) const;  // lower end of the bucket of the number of that rank
  double MostWith(uint64_t rank) const;

  float low_ = 0, high_ = 0;
  uint64_t count_ = 0;
  // By the upper 16 bits of the float, in the order of the numbers: precise at every magnitude, and the same whatever
  // comes first.
  std::vector<uint32_t> histogram_;
};

}  // namespace epiphyte::test
