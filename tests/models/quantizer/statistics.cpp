#include "tests/models/quantizer/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace epiphyte::test {
namespace {

constexpr size_t kBuckets = 1 << 16;
constexpr uint32_t kSign = 0x80000000u;

// Maps a float to an integer that keeps the order of floats, and back.
uint32_t ToOrdered(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
float FromOrdered(uint32_t ordered) {
  return std::bit_cast<float>((ordered & kSign) != 0 ? ordered & ~kSign : ~ordered);
}

size_t BucketWith(const std::vector<uint32_t>& histogram, uint64_t rank) {
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < histogram.size(); ++bucket) {
    seen += histogram[bucket];
    if (seen > rank) return bucket;
  }
  return histogram.size() - 1;
}

}  // namespace

ActivationStatistics::ActivationStatistics(bool with_histogram) : histogram_(with_histogram ? kBuckets : 0) {}

void ActivationStatistics::Add(std::span<const float> values) {
  for (const float value : values) {
    if (!(std::fabs(value) < kEndless)) continue;
    low_ = count_ == 0 ? value : std::min(low_, value);
    high_ = count_ == 0 ? value : std::max(high_, value);
    ++count_;
    if (!histogram_.empty()) ++histogram_[ToOrdered(value) >> 16];
  }
}

Range ActivationStatistics::MinMax() const { return {double{low_}, double{high_}}; }

double ActivationStatistics::LeastWith(uint64_t rank) const {
  return double{FromOrdered(static_cast<uint32_t>(BucketWith(histogram_, rank)) << 16)};
}

double ActivationStatistics::MostWith(uint64_t rank) const {
  return double{FromOrdered((static_cast<uint32_t>(BucketWith(histogram_, rank)) << 16) | 0xffffu)};
}

Range ActivationStatistics::Percentile(double percent) const {
  if (count_ == 0) return {};
  const double tail = static_cast<double>(count_) * (100 - percent) / 200;
  const uint64_t left_out = std::min(static_cast<uint64_t>(tail), (count_ - 1) / 2);
  return {std::max(LeastWith(left_out), double{low_}), std::min(MostWith(count_ - 1 - left_out), double{high_})};
}

}  // namespace epiphyte::test
