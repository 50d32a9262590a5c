// Random: the numbers that cases are made of. The same ones for a seed everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "host/conformance/operators/array.h"

namespace epiphyte::operators {

// Distribution of random elements.
enum class Draw {
  kPlain,     // within ±8, or 0 to 16 without a sign: what sums and products of many stay exact or near enough for
  kUnit,      // floats in ±1, for long chains of products; integers as kPlain
  kPositive,  // floats from 1/16 to 8; integers from 1
  kAll,       // the whole range, and now and then NaN, infinities, zeros of both signs, extremes and subnormal numbers
  kFinite,    // kAll without NaN and infinities
  kFew,       // few different ones: for ties
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // `special_percent`: percentage of NaN, infinities, zeros of either sign and subnormal numbers among the floats that
  // Values draws from kPlain, kUnit and kAll.
  Random(uint64_t seed, int special_percent) : state_(seed), special_percent_(special_percent) {}

  // From now on floats are float32 multiples of 1/16 or 1/128 that fit into 8 bits; see quantized_form.h.
  void DrawOnGrid() { is_on_grid_ = true; }

  uint64_t Bits();
  int64_t Int(int64_t least, int64_t most);  // both included
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

  // One dimension: mostly few elements, often 1, seldom 0 and around the widths of vectors.
  int64_t Size(int64_t most);
  int64_t SizeButNotZero(int64_t most);
  // A shape of at most so many elements. One in ten goes as far as `most`; the others are small.
  Dims Shape(int64_t least_rank, int64_t most_rank, int64_t most = 20000);
  Dims ShapeWithoutZero(int64_t least_rank, int64_t most_rank, int64_t most = 20000);
  // Some of 0 … rank-1 in random order, none twice.
  std::vector<int64_t> Axes(int64_t rank, int64_t least = 0);
  // The axis itself, or as a negative number.
  int64_t MaybeNegative(int64_t axis, int64_t rank) { return Chance(40) ? axis - rank : axis; }

  Array Values(DataType type, const Dims& dims, Draw draw);
  // Integers of a range.
  Array Integers(DataType type, const Dims& dims, int64_t least, int64_t most);

  // float more often than the others.
  DataType FloatType();
  DataType IntegerType();
  DataType NumberType();
  // Any type of elements that can be moved.
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
