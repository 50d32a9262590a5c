// Array: a tensor for the reference implementations. Every element is a Number, whatever the element type.
//
//   Array x(DataType::kFloat16, {2, 3});
//   x[4] = Round(DataType::kFloat16, 0.1L);
//   std::string bytes = Encode(x);
//
// The conversions here are written from the definitions of the formats, independently of the product's conversions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/graph/type.h"

namespace epiphyte::operators {

using core::DataType;

// Holds every element of every type exactly.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);

using Dims = std::vector<int64_t>;

int64_t CountOf(const Dims& dims);
// Returns, for each axis, the number of elements from one index to the next.
Dims StridesOf(const Dims& dims);

struct Array {
  Array() = default;
  Array(DataType element_type, Dims shape);  // all elements are 0
  Array(DataType element_type, Dims shape, std::vector<Number> numbers);

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t count() const { return static_cast<int64_t>(values.size()); }
  Number& operator[](int64_t i) { return values[static_cast<size_t>(i)]; }
  const Number& operator[](int64_t i) const { return values[static_cast<size_t>(i)]; }
  Number& At(const Dims& index);
  const Number& At(const Dims& index) const;

  DataType type = DataType::kFloat;
  Dims dims;
  std::vector<Number> values;  // row-major
};

Array Int64Array(const std::vector<int64_t>& values);  // one-dimensional
Array Scalar(DataType type, Number value);

bool IsFloat(DataType type);     // float, double, and the 8-bit and 16-bit floats
bool IsInteger(DataType type);   // signed or unsigned, of any width
bool IsUnsigned(DataType type);  // integers only

// Return the least and the largest finite number.
Number Lowest(DataType type);
Number Highest(DataType type);
// Return, for a float type, the step from 1 to the next number, and the smallest number above 0.
Number Epsilon(DataType type);
Number Smallest(DataType type);

// Returns the nearest element, with ties to even. Past the largest element, the result is infinity if the type has one,
// else NaN. For integer types the value must be in range.
Number Round(DataType type, Number value);
// Returns the low bits of an integer, as an integer of the type.
Number Wrap(DataType type, __int128 value);

// Convert between elements and their bytes in memory. A string is the number in decimal. A complex number has the
// negated number as imaginary part. `kString` has no bytes: see TextOf.
std::string Encode(const Array& array);
std::vector<Number> Decode(DataType type, int64_t count, const void* bytes);
std::string TextOf(Number value);

// Calls body(index, i) for each index of the shape in order; i is the row-major position.
template <typename Body>
void ForEachIndex(const Dims& dims, Body&& body) {
  const int64_t count = CountOf(dims);
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    body(index, i);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace epiphyte::operators
