// AxisItems: a tensor as items along one axis, or as all its elements in order, and an output made from selected items:
// for Compress and Unique.
//
//   const AxisItems items(x, has_axis, axis);
//   std::vector<int64_t> places = …;  // each in [0, items.count)
//   items.Emit(context, x, places);   // output 0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {

// Item i is the block of outer x inner elements at position i of the axis.
struct AxisItems {
  // Throws kit::Error when the axis is not an axis of x. Without an axis, each element is an item.
  AxisItems(const Tensor& x, bool has_axis, int64_t of)
      : has_axis(has_axis),
        axis(has_axis ? kit::NormalizeAxis(of, x.rank()) : 0),
        count(has_axis ? x.dims[axis] : x.Count()),
        outer(has_axis ? x.dims.Count(0, axis) : 1),
        inner(has_axis ? x.dims.Count(axis + 1, x.rank()) : 1) {}

  // Makes output 0 from the items at `places`, in that order.
  void Emit(OpContext& context, const Tensor& x, const std::vector<int64_t>& places) const {
    const auto chosen = static_cast<int64_t>(places.size());
    Dims dims{chosen};
    if (has_axis) {
      dims = x.dims;
      dims[axis] = chosen;
    }
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      const T* from = source.data();
      T* to = target.data();
      // Copying a text may throw, which loop bodies must not, so texts are copied on one thread.
      const int64_t items = outer * chosen;
      const int64_t grain = std::is_same_v<T, std::string> ? items : MoveGrain(inner * static_cast<int64_t>(sizeof(T)));
      Parallel(context, items, grain, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end;) {
          const int64_t at = item % chosen, some = std::min(end - item, chosen - at);
          const T* const block = from + item / chosen * count * inner;
          const int64_t* const place = places.data() + at;
          if (inner == 1) {
            for (int64_t i = 0; i < some; ++i) to[item + i] = block[place[i]];
          } else {
            for (int64_t i = 0; i < some; ++i) std::copy_n(block + place[i] * inner, inner, to + (item + i) * inner);
          }
          item += some;
        }
      });
    });
  }

  bool has_axis;
  size_t axis;
  int64_t count;
  int64_t outer;
  int64_t inner;
};

}  // namespace epiphyte::cpu
