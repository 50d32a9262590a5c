// OrderedKeys: sorts numbers in ascending order together with their indices, by radix sort.
//
//     std::vector<OrderedKey<float>> keys = OrderedKeys(numbers, n);   // n below 2^32
//     // keys[0].index: index of the smallest number, the first of equal ones
//     // keys[i].bits == keys[j].bits: equal numbers
//
// NaN is the largest number and equal to itself; zeros of both signs are equal.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace epiphyte::cpu {

namespace key_order {
template <typename T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

// Maps numbers to unsigned ones in the same order.
template <typename T>
BitsOf<T> Ordered(T number) {
  using U = BitsOf<T>;
  constexpr U kSign = U(1) << (8 * sizeof(U) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (number != number) return static_cast<U>(~U(0));
    const U bits = std::bit_cast<U>(number == 0 ? T(0) : number);
    return bits & kSign ? ~bits : bits | kSign;
  } else {
    return std::is_signed_v<T> ? static_cast<U>(static_cast<U>(number) ^ kSign) : static_cast<U>(number);
  }
}
}  // namespace key_order

template <typename T>
struct OrderedKey {
  key_order::BitsOf<T> bits;
  uint32_t index;
};

template <typename T>
std::vector<OrderedKey<T>> OrderedKeys(const T* numbers, int64_t n) {
  using Key = OrderedKey<T>;
  constexpr size_t kDigits = sizeof(T);
  std::vector<Key> keys(static_cast<size_t>(n));
  std::array<std::array<uint32_t, 256>, kDigits> counts{};
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = {key_order::Ordered(numbers[i]), static_cast<uint32_t>(i)};
    for (size_t d = 0; d < kDigits; ++d) ++counts[d][keys[i].bits >> (8 * d) & 255];
  }
  // For few numbers, counting digits takes longer than comparisons.
  constexpr size_t kFew = 48;
  if (keys.size() <= kFew) {
    std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) { return a.bits < b.bits; });
    return keys;
  }
  std::vector<Key> next(keys.size());
  for (size_t d = 0; d < kDigits; ++d) {
    std::array<uint32_t, 256>& places = counts[d];
    if (places[keys[0].bits >> (8 * d) & 255] == keys.size()) continue;  // all keys have the same digit
    uint32_t place = 0;
    for (uint32_t& count : places) place += std::exchange(count, place);
    for (const Key& key : keys) next[places[key.bits >> (8 * d) & 255]++] = key;
    keys.swap(next);
  }
  return keys;
}

}  // namespace epiphyte::cpu
