#include "plugins/vulkan/ops/nn/row_parameters.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

std::vector<uint32_t> RowNorm::Words() const {
  return {Word(rows),
          Word(size),
          Word(epsilon),
          Word(parameters.row_period),
          Word(parameters.row_parameters),
          Word(parameters.repeated),
          Word(parameters.period)};
}

std::optional<ParameterPlace> ParameterPlace::OfRow(const Dims& all, const Dims& row) {
  // Dimensions of 1 in front of the row's are dropped.
  size_t above = all.size() > row.size() ? all.size() - row.size() : 0;
  while (above > 0 && all[above - 1] == 1) --above;
  const Dims parameters = above == 0 && all.size() > row.size()
                              ? Dims(std::span<const int64_t>(all).subspan(all.size() - row.size()))
                              : all;
  if (parameters.size() > row.size()) return {};
  Dims own(row.size(), 1);
  std::copy(parameters.begin(), parameters.end(), own.end() - parameters.size());
  // `own` must have dimensions of 1, then those of the row, then dimensions of 1.
  ParameterPlace place;
  size_t first = 0;
  while (first < row.size() && own[first] == 1) ++first;
  size_t last = row.size();
  while (last > first && own[last - 1] == 1) --last;
  for (size_t i = 0; i < row.size(); ++i) {
    const bool inside = i >= first && i < last;
    if (own[i] != 1 && own[i] != row[i])
      kit::FailArgument("scale or bias of shape ", kit::ShapeText(parameters), " does not broadcast to ",
                        kit::ShapeText(row));
    if (inside && own[i] != row[i]) return {};
  }
  place.period = std::max<int64_t>(row.Count(first, last), 1);
  place.repeated = std::max<int64_t>(row.Count(last, row.size()), 1);
  return place;
}

}  // namespace epiphyte::vulkan
