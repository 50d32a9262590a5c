// Helpers for the references of several families: element-wise functions, and shapes that broadcast.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "host/conformance/operators/array.h"
#include "host/conformance/operators/random.h"

namespace epiphyte::operators {

// Returns function(x[i]) as elements of `type`, by default of x's type.
template <typename F>
Array Map(const Array& x, const F& function, DataType type = DataType::kUndefined) {
  Array y(type == DataType::kUndefined ? x.type : type, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) y[i] = function(x[i]);
  return y;
}

// Returns the shape to which both broadcast.
inline Dims Spread(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) throw std::logic_error("shapes that don't fit");
    dims[dims.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return dims;
}

// Return NaN if either argument is NaN.
inline Number LargerOf(Number a, Number b) { return std::isnan(a) || a >= b ? a : b; }
inline Number SmallerOf(Number a, Number b) { return std::isnan(a) || a <= b ? a : b; }

// Returns the array's element for an index of the shape to which it broadcasts.
inline const Number& SpreadAt(const Array& array, const Dims& index) {
  int64_t at = 0;
  const size_t skipped = index.size() - array.dims.size();
  for (size_t axis = 0; axis < array.dims.size(); ++axis)
    at = at * array.dims[axis] + (array.dims[axis] == 1 ? 0 : index[skipped + axis]);
  return array[at];
}

inline Array SpreadTo(const Array& array, const Dims& dims) {
  Array spread(array.type, dims);
  ForEachIndex(dims, [&](const Dims& index, int64_t i) { spread[i] = SpreadAt(array, index); });
  return spread;
}

// Returns a shape that broadcasts to `dims`: some leading axes are omitted, and others have one element.
inline Dims PartOf(Random& random, const Dims& dims) {
  if (random.Chance(40)) return dims;
  Dims part = dims;
  for (int64_t& dim : part)
    if (random.Chance(30)) dim = 1;
  const auto left_out = random.Chance(40) ? random.Int(0, static_cast<int64_t>(dims.size())) : 0;
  part.erase(part.begin(), part.begin() + left_out);
  return part;
}

}  // namespace epiphyte::operators
