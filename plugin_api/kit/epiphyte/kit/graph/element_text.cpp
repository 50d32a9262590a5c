#include "epiphyte/kit/graph/element_text.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/shape/float_types.hpp"
#include "epiphyte/kit/shape/number_text.hpp"

namespace epiphyte::kit::ir {
namespace {

template <typename T>
bool Parse(std::string_view text, T* number) {
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, *number);
  return result.ec == std::errc() && result.ptr == end && !text.empty();
}

template <typename T>
T Load(const Tensor& tensor, uint64_t i) {
  T element;
  std::memcpy(&element, tensor.as<char>() + i * sizeof(T), sizeof(T));
  return element;
}

template <typename T>
void Store(T element, uint64_t i, void* data) {
  std::memcpy(static_cast<char*>(data) + i * sizeof(T), &element, sizeof(T));
}

template <typename T>
bool ParseInto(std::string_view text, uint64_t i, void* data) {
  T element{};
  if constexpr (sizeof(T) == 1) {
    int number = 0;  // an int, because a char would not be parsed as a number
    if (!Parse(text, &number) || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
      return false;
    element = static_cast<T>(number);
  } else if (!Parse(text, &element)) {
    return false;
  }
  Store(element, i, data);
  return true;
}

template <typename T>
bool ParseRounded(std::string_view text, uint64_t i, void* data) {
  float number = 0;
  if (!Parse(text, &number)) return false;
  Store(T(number), i, data);
  return true;
}

template <int kBits>
bool ParsePacked(std::string_view text, int lowest, uint64_t i, void* data) {
  int number = 0;
  if (!Parse(text, &number) || number < lowest || number >= lowest + (1 << kBits)) return false;
  StorePacked<kBits>(static_cast<uint8_t*>(data), i, static_cast<unsigned>(number));
  return true;
}

}  // namespace

bool ParseNumber(std::string_view text, float* number) { return Parse(text, number); }
bool ParseInteger(std::string_view text, int64_t* number) { return Parse(text, number); }

EpElementType ComponentOf(EpElementType type) {
  if (type == EP_TYPE_COMPLEX64) return EP_TYPE_FLOAT;
  return type == EP_TYPE_COMPLEX128 ? EP_TYPE_DOUBLE : EP_TYPE_UNDEFINED;
}

std::string ElementText(const Tensor& tensor, uint64_t i) {
  const auto pair = [](const std::string& real, const std::string& imaginary) {
    return "(" + real + "," + imaginary + ")";
  };
  double number = 0;
  switch (tensor.type) {
    case EP_TYPE_BOOL: return std::to_string(Load<uint8_t>(tensor, i));
    case EP_TYPE_UINT64: return std::to_string(Load<uint64_t>(tensor, i));
    case EP_TYPE_INT64: return std::to_string(Load<int64_t>(tensor, i));
    case EP_TYPE_COMPLEX64:
      return pair(NumberText(Load<float>(tensor, i * 2)), NumberText(Load<float>(tensor, i * 2 + 1)));
    case EP_TYPE_COMPLEX128:
      return pair(NumberText(Load<double>(tensor, i * 2)), NumberText(Load<double>(tensor, i * 2 + 1)));
    case EP_TYPE_FLOAT: return NumberText(Load<float>(tensor, i));
    default: return NumberAt(tensor, static_cast<size_t>(i), &number) ? NumberText(number) : "?";
  }
}

bool ParseElement(std::string_view text, EpElementType type, uint64_t i, void* data) {
  switch (type) {
    case EP_TYPE_FLOAT: return ParseInto<float>(text, i, data);
    case EP_TYPE_DOUBLE: return ParseInto<double>(text, i, data);
    case EP_TYPE_FLOAT16: return ParseRounded<Float16>(text, i, data);
    case EP_TYPE_BFLOAT16: return ParseRounded<BFloat16>(text, i, data);
    case EP_TYPE_FLOAT8E4M3FN: return ParseRounded<Float8E4M3FN>(text, i, data);
    case EP_TYPE_FLOAT8E4M3FNUZ: return ParseRounded<Float8E4M3FNUZ>(text, i, data);
    case EP_TYPE_FLOAT8E5M2: {
      float number = 0;
      if (!Parse(text, &number)) return false;
      Store(Float8E5M2(number, !std::isinf(number)), i, data);  // keeps infinities, which the type has
      return true;
    }
    case EP_TYPE_FLOAT8E5M2FNUZ: return ParseRounded<Float8E5M2FNUZ>(text, i, data);
    case EP_TYPE_FLOAT8E8M0: {
      float number = 0;
      if (!Parse(text, &number)) return false;
      // Rounding down keeps the smallest value, 2^-127. As a float it is subnormal, and rounding up would double it.
      Store(Float8E8M0(number, true, Float8E8M0::Rounding::kDown), i, data);
      return true;
    }
    case EP_TYPE_FLOAT4E2M1: {
      float number = 0;
      if (!Parse(text, &number)) return false;
      StorePacked<4>(static_cast<uint8_t*>(data), i, Float4E2M1(number).bits);
      return true;
    }
    case EP_TYPE_BOOL: return (text == "0" || text == "1") && ParseInto<uint8_t>(text, i, data);
    case EP_TYPE_UINT8: return ParseInto<uint8_t>(text, i, data);
    case EP_TYPE_INT8: return ParseInto<int8_t>(text, i, data);
    case EP_TYPE_UINT16: return ParseInto<uint16_t>(text, i, data);
    case EP_TYPE_INT16: return ParseInto<int16_t>(text, i, data);
    case EP_TYPE_UINT32: return ParseInto<uint32_t>(text, i, data);
    case EP_TYPE_INT32: return ParseInto<int32_t>(text, i, data);
    case EP_TYPE_UINT64: return ParseInto<uint64_t>(text, i, data);
    case EP_TYPE_INT64: return ParseInto<int64_t>(text, i, data);
    case EP_TYPE_UINT4: return ParsePacked<4>(text, 0, i, data);
    case EP_TYPE_INT4: return ParsePacked<4>(text, -8, i, data);
    case EP_TYPE_UINT2: return ParsePacked<2>(text, 0, i, data);
    case EP_TYPE_INT2: return ParsePacked<2>(text, -2, i, data);
    default: return false;
  }
}

}  // namespace epiphyte::kit::ir
