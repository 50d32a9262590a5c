#include "epiphyte/kit/shape/pad.hpp"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit {

PadMode PadModeOf(std::string_view name) {
  if (name == "constant") return PadMode::kConstant;
  if (name == "reflect") return PadMode::kReflect;
  if (name == "edge") return PadMode::kEdge;
  if (name == "wrap") return PadMode::kWrap;
  FailArgument("mode '", name, "' found, constant, reflect, edge or wrap expected");
}

Pads::Pads(size_t rank, std::span<const int64_t> pads, std::span<const int64_t> axes)
    : before(rank, 0), after(rank, 0) {
  const Dims which = NormalizeAxes(axes, rank);
  if (pads.size() != 2 * which.size())
    FailArgument(pads.size(), " pads found, two for each of ", which.size(), " axes expected");
  for (size_t i = 0; i < which.size(); ++i) {
    before[static_cast<size_t>(which[i])] = pads[i];
    after[static_cast<size_t>(which[i])] = pads[i + which.size()];
  }
}

Pads::Pads(size_t rank, std::span<const int64_t> pads) : before(rank, 0), after(rank, 0) {
  if (pads.size() != 2 * rank) FailArgument(pads.size(), " pads found, two for each of ", rank, " axes expected");
  for (size_t i = 0; i < rank; ++i) {
    before[i] = pads[i];
    after[i] = pads[i + rank];
  }
}

std::vector<int64_t> PadMap(PadMode mode, int64_t dim, int64_t before, int64_t after, int64_t size) {
  return PadMap(mode, dim, before, after, size, 0, size);
}

std::vector<int64_t> PadMap(PadMode mode, int64_t dim, int64_t before, int64_t after, int64_t size, int64_t begin,
                            int64_t end) {
  const int64_t first = std::max<int64_t>(0, -before);
  const int64_t kept = std::max<int64_t>(0, dim - first - std::max<int64_t>(0, -after));
  if (kept == 0 && mode != PadMode::kConstant && size > 0)
    FailArgument("an empty dimension found, something to pad with in this mode expected");
  std::vector<int64_t> map(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = i - std::max<int64_t>(before, 0);
    if (at < 0 || at >= kept) {
      switch (mode) {
        case PadMode::kConstant: at = -1 - first; break;
        case PadMode::kEdge: at = std::clamp<int64_t>(at, 0, kept - 1); break;
        case PadMode::kWrap: at = (at % kept + kept) % kept; break;
        case PadMode::kReflect: {
          if (-kept < at && at < 2 * kept - 1) {  // a single reflection needs no division
            at = at < 0 ? -at : 2 * (kept - 1) - at;
            break;
          }
          const int64_t period = std::max<int64_t>(2 * (kept - 1), 1);
          at = (at % period + period) % period;
          if (at >= kept) at = period - at;
          break;
        }
      }
    }
    map[static_cast<size_t>(i - begin)] = at + first;
  }
  return map;
}

Dims PaddedDims(const Dims& x, const Dims& before, const Dims& after) {
  Dims dims = x;
  constexpr int64_t kMost = int64_t{1} << 57;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::max(before[i], after[i]) > kMost || std::min(before[i], after[i]) < -kMost)
      FailArgument("pads ", before[i], " and ", after[i], " found, numbers within 2^57 expected");
    dims[i] = CheckedAdd(CheckedAdd(x[i], before[i]), after[i]);
    if (dims[i] < 0)
      FailArgument("pads ", before[i], " and ", after[i], " found for a dimension of ", x[i],
                   ", at least 0 left expected");
  }
  CheckedCount(dims);
  return dims;
}

std::pair<int64_t, int64_t> CenterPads(int64_t dim, int64_t wanted) {
  const int64_t missing = wanted - dim;
  // Halves are rounded towards the front, both for padding and for cropping.
  const int64_t before = missing >= 0 ? missing / 2 : -(-missing / 2);
  return {before, missing - before};
}

}  // namespace epiphyte::kit
