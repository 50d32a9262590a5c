// Helpers for the tests of operators that move data.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {

// Returns 0, 1, 2, … as elements of type T.
template <typename T>
std::vector<T> Counting(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  return values;
}

// Returns the message with which a run fails; "" when it succeeds.
inline std::string Failure(OpRunner& runner) {
  try {
    runner.Run();
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

// Makes a tensor of a packed type (2 or 4 bits) from elements that take a byte each.
inline cpu::Datum Packed(cpu::ElementType type, const Shape& dims, const std::vector<uint8_t>& elements) {
  cpu::Datum datum = MakeDatum(type, dims, nullptr);
  std::memset(datum.tensor.data, 0, datum.tensor.Bytes());
  const size_t a_byte = type == EP_TYPE_UINT2 || type == EP_TYPE_INT2 ? 4 : 2;
  for (size_t i = 0; i < elements.size(); ++i)
    datum.tensor.as<uint8_t>()[i / a_byte] |= static_cast<uint8_t>(elements[i] << (i % a_byte * (8 / a_byte)));
  return datum;
}
inline std::vector<int> Unpacked(const cpu::Tensor& tensor) {
  const int64_t a_byte = tensor.type == EP_TYPE_UINT2 || tensor.type == EP_TYPE_INT2 ? 4 : 2;
  const int64_t bits = 8 / a_byte;
  std::vector<int> elements;
  for (int64_t i = 0; i < tensor.Count(); ++i)
    elements.push_back(tensor.as<uint8_t>()[i / a_byte] >> (i % a_byte * bits) & ((1 << bits) - 1));
  return elements;
}

}  // namespace epiphyte::test
