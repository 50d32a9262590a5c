// Candidates for the first k elements of a row, found without sorting; for TopK.
//
// Elements are compared by keys: integers that are in descending order where TopK's elements are. The row is dealt into
// `groups` sets, and the greatest key of each set is taken. The k-th greatest of those is a bound that at least k keys
// of the row reach, and few more.
//
//     simd::GroupLargest(x, n, largest, bounds, groups);
//     std::nth_element(bounds, bounds + k - 1, bounds + groups, std::greater<>());
//     const int64_t count = simd::CollectFrom(x, n, largest, bounds[k - 1], indices);   // room for n
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace epiphyte::cpu::simd {

// The smallest elements come first if `largest` is false. Zeros of both signs are equal, and NaN is above infinity.
template <typename T>
using TopKey = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
template <typename T>
TopKey<T> TopKeyOf(T x, bool largest) {
  using K = TopKey<T>;
  K key;
  if constexpr (std::is_floating_point_v<T>) {
    const K bits = std::bit_cast<K>(x + T(0));  // the addition turns -0 into +0
    key = x != x ? std::numeric_limits<K>::max() : bits < 0 ? bits ^ std::numeric_limits<K>::max() : bits;
  } else {
    key = x;
  }
  return largest ? key : ~key;
}

// bounds[g] = the greatest key of x[g], x[g + groups], x[g + 2 groups] …; groups a multiple of kKeyGroups, and at most
// n.
inline constexpr int64_t kKeyGroups = 16;
void GroupLargest(const float* x, int64_t n, bool largest, int32_t* bounds, int64_t groups);
void GroupLargest(const double* x, int64_t n, bool largest, int64_t* bounds, int64_t groups);
void GroupLargest(const int32_t* x, int64_t n, bool largest, int32_t* bounds, int64_t groups);
void GroupLargest(const int64_t* x, int64_t n, bool largest, int64_t* bounds, int64_t groups);

// Writes the indices of the elements with keys of at least `least`, in ascending order, and returns their number;
// n < 2^31.
int64_t CollectFrom(const float* x, int64_t n, bool largest, int32_t least, int32_t* indices);
int64_t CollectFrom(const double* x, int64_t n, bool largest, int64_t least, int32_t* indices);
int64_t CollectFrom(const int32_t* x, int64_t n, bool largest, int32_t least, int32_t* indices);
int64_t CollectFrom(const int64_t* x, int64_t n, bool largest, int64_t least, int32_t* indices);

}  // namespace epiphyte::cpu::simd
