#include "epiphyte/kit/shape/range.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {
namespace {

[[noreturn]] void FailDelta() { FailArgument("a delta of 0 found, another number expected"); }

// `distance` must be above 0.
int64_t Steps(uint64_t distance, uint64_t step) {
  const uint64_t steps = (distance - 1) / step;
  if (steps >= uint64_t{1} << 57) FailArgument("a range of ", steps, " steps found, fewer than 2^57 expected");
  return static_cast<int64_t>(steps) + 1;
}

}  // namespace

int64_t RangeCount(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) FailDelta();
  const bool up = delta > 0;
  if (up ? limit <= start : limit >= start) return 0;
  // The distance of two 64-bit numbers may need all 64 bits of an unsigned integer.
  const uint64_t low = static_cast<uint64_t>(up ? start : limit), high = static_cast<uint64_t>(up ? limit : start);
  return Steps(high - low, up ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta));
}

int64_t RangeCount(uint64_t start, uint64_t limit, uint64_t delta) {
  if (delta == 0) FailDelta();
  return limit <= start ? 0 : Steps(limit - start, delta);
}

int64_t RangeCount(double start, double limit, double delta) {
  if (delta == 0) FailDelta();
  const double steps = std::ceil((limit - start) / delta);
  if (!(steps < 0x1p57)) FailArgument("a range of ", std::to_string(steps), " steps found, fewer than 2^57 expected");
  return static_cast<int64_t>(std::max(steps, 0.0));
}

}  // namespace epiphyte::kit
