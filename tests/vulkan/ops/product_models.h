// Parts of models as text, and small numbers, for tests of matrix products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/vulkan/ops/operator_harness.h"

namespace epiphyte::test {

// Returns a shape as text: "[2,3]", or "" without dimensions.
inline std::string ShapeName(const std::vector<int64_t>& dims) {
  if (dims.empty()) return "";
  std::string name = "[";
  for (size_t i = 0; i < dims.size(); ++i) name += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return name + "]";
}

// Returns numbers from -1 to 1 in steps of 1/64.
inline std::vector<double> SmallNumbers(const std::vector<int64_t>& dims, uint32_t seed) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers.push_back((static_cast<double>(seed >> 16) / 512 - 64) / 64);
    numbers.back() = static_cast<double>(static_cast<int>(numbers.back() * 64)) / 64;
  }
  return numbers;
}
inline ValuePtr Scaled(const std::vector<int64_t>& dims, uint32_t seed, DataType type = DataType::kFloat) {
  return Numbers(type, dims, SmallNumbers(dims, seed));
}

// Returns the text of an initializer with such numbers: "float[2,2] w = {0.5, …}".
inline std::string Initializer(const std::string& name, const std::vector<int64_t>& dims, uint32_t seed = 7) {
  std::string text = "float" + ShapeName(dims) + " " + name + " = {";
  const std::vector<double> numbers = SmallNumbers(dims, seed);
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "}";
}

}  // namespace epiphyte::test
