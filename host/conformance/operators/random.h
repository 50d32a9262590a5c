// Random: the random numbers for cases. A seed gives the same numbers on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "host/conformance/operators/array.h"

namespace epiphyte::operators {

// Distribution of random elements.
enum class Draw {
  kPlain,     // within ±8, or 0 to 16 if unsigned, so that long sums and products stay exact or accurate
  kUnit,      // floats in ±1, for long chains of products; integers as kPlain
  kPositive,  // floats from 1/16 to 8; integers from 1
  kAll,       // the whole range, sometimes NaN, infinities, zeros of both signs, extremes and subnormal numbers
  kFinite,    // kAll without NaN and infinities
  kFew,       // few different numbers, to test ties
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // `special_percent` is the percentage of NaN, infinities, zeros of either sign and subnormal numbers among the floats
  // that Values draws from kPlain, kUnit and kAll.
  Random(uint64_t seed, int special_percent) : state_(seed), special_percent_(special_percent) {}

  // From now on, floats are float32 multiples of 1/16 or 1/128 that fit into 8 bits (quantized_form.h).
  void DrawOnGrid() { is_on_grid_ = true; }

  uint64_t Bits();
  int64_t Int(int64_t least, int64_t most);  // both limits included
  bool Chance(int percent) { return Int(0, 99) < percent; }
  Number Real(Number least, Number most);
  template <typename T>
  T Pick(std::initializer_list<T> list) {
    return list.begin()[Int(0, static_cast<int64_t>(list.size()) - 1)];
  }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(Int(0, static_cast<int64_t>(list.size()) - 1))];
  }
  template <typename T>
  void Shuffle(std::vector<T>* list) {
    for (size_t i = list->size(); i > 1; --i)
      std::swap((*list)[i - 1], (*list)[static_cast<size_t>(Int(0, static_cast<int64_t>(i) - 1))]);
  }

  // Returns a size of a dimension: usually small, often 1, rarely 0 or near the width of a vector.
  int64_t Size(int64_t most);
  int64_t SizeButNotZero(int64_t most);
  // Returns a shape of at most `most` elements. One in ten approaches that limit; the others are small.
  Dims Shape(int64_t least_rank, int64_t most_rank, int64_t most = 20000);
  Dims ShapeWithoutZero(int64_t least_rank, int64_t most_rank, int64_t most = 20000);
  // Returns some of 0 … rank-1, without repetition, in random order.
  std::vector<int64_t> Axes(int64_t rank, int64_t least = 0);
  // Returns the axis itself, or the same axis as a negative number.
  int64_t MaybeNegative(int64_t axis, int64_t rank) { return Chance(40) ? axis - rank : axis; }

  Array Values(DataType type, const Dims& dims, Draw draw);
  // Returns integers in a range.
  Array Integers(DataType type, const Dims& dims, int64_t least, int64_t most);

  // Returns a float type, most often float.
  DataType FloatType();
  DataType IntegerType();
  DataType NumberType();
  // Returns any type for elements that are only moved.
  DataType AnyType();

 private:
  Number Value(DataType type, Draw draw);
  Number Special(DataType type);
  Number OnGrid(Draw draw);
  Dims ShapeOf(int64_t least_rank, int64_t most_rank, int64_t most, bool zeros);

  uint64_t state_;
  int special_percent_ = 0;
  bool is_on_grid_ = false;
};

}  // namespace epiphyte::operators
