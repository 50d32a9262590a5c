#include "plugins/cpu/kernel/convert.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "epiphyte/kit/shape/number_text.hpp"
#include "plugins/cpu/simd/convert/convert.h"

namespace epiphyte::cpu {
namespace {

// True for types with loops in simd/convert/convert.h.
template <typename T>
constexpr bool kHasLoop = std::is_arithmetic_v<T> ? !std::is_same_v<T, float> : kIsSmallFloat<T>;

template <typename T>
void LoadAs(const T* from, int64_t n, float* to) {
  if constexpr (kHasLoop<T>) return simd::ConvertLoop<T, float>()(from, to, n);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

template <typename T>
void StoreAs(const float* from, int64_t n, T* to, const ConvertOptions& options) {
  if constexpr (kHasLoop<T>) return simd::ConvertLoop<float, T>()(from, to, n);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, Float8E8M0>) {
      to[i] = Float8E8M0(from[i], options.saturate, options.rounding);
    } else if constexpr (std::is_constructible_v<T, float, bool>) {
      to[i] = T(from[i], options.saturate);
    } else {
      to[i] = static_cast<T>(from[i]);
    }
  }
}

template <int kBits, bool kSigned>
void StorePackedFloats(const float* from, int64_t begin, int64_t n, uint8_t* to, const ConvertOptions& options) {
  constexpr float kLow = kSigned ? -static_cast<float>(1 << (kBits - 1)) : 0.0f;
  constexpr float kHigh = kLow + static_cast<float>((1 << kBits) - 1);
  for (int64_t i = 0; i < n; ++i) {
    if (options.low_bits) {
      StorePacked<kBits>(to, static_cast<uint64_t>(begin + i), static_cast<unsigned>(TruncateTo<int32_t>(from[i])));
      continue;
    }
    const float rounded = std::nearbyint(from[i]);
    const float clipped = rounded > kLow ? (rounded < kHigh ? rounded : kHigh) : kLow;  // NaN: the lowest
    StorePacked<kBits>(to, static_cast<uint64_t>(begin + i), static_cast<unsigned>(static_cast<int>(clipped)));
  }
}

// Clears the packed bytes of [begin, begin + n), because storing an element keeps the rest of its byte.
void ClearPacked(Tensor& tensor, int64_t begin, int64_t n) {
  const uint64_t first = ElementBytes(tensor.type, static_cast<uint64_t>(begin));
  const uint64_t last = ElementBytes(tensor.type, static_cast<uint64_t>(begin + n));
  std::memset(tensor.as<uint8_t>() + first, 0, last - first);
}

// Cast formats non-finite numbers by its own names.
template <typename F>
std::string Format(F value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  return kit::NumberText(value);
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <typename T>
T Parse(const std::string& text) {
  const std::string_view trimmed = Trim(text);
  T value{};
  const std::from_chars_result result = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  const bool whole = result.ptr == trimmed.data() + trimmed.size() && !trimmed.empty();
  if constexpr (std::is_integral_v<T>) {
    if (result.ec == std::errc() && whole) return value;
    return TruncateTo<T>(Parse<double>(text));
  } else {
    if (result.ec == std::errc::result_out_of_range && whole) {
      // The value is out of range. strtod tells overflow from underflow.
      return static_cast<T>(std::strtod(std::string(trimmed).c_str(), nullptr));
    }
    if (result.ec != std::errc() || !whole) FailOp("string '{}' is not a number", text.substr(0, 64));
    return value;
  }
}

}  // namespace

void LoadFloats(const Tensor& from, int64_t begin, int64_t n, float* to) {
  const uint8_t* packed = from.as<uint8_t>();
  const auto index = [begin](int64_t i) { return static_cast<uint64_t>(begin + i); };
  switch (from.type) {
    case EP_TYPE_UINT4:
      for (int64_t i = 0; i < n; ++i) to[i] = LoadPacked<4>(packed, index(i));
      return;
    case EP_TYPE_INT4:
      for (int64_t i = 0; i < n; ++i) to[i] = LoadPackedSigned<4>(packed, index(i));
      return;
    case EP_TYPE_UINT2:
      for (int64_t i = 0; i < n; ++i) to[i] = LoadPacked<2>(packed, index(i));
      return;
    case EP_TYPE_INT2:
      for (int64_t i = 0; i < n; ++i) to[i] = LoadPackedSigned<2>(packed, index(i));
      return;
    case EP_TYPE_FLOAT4E2M1:
      for (int64_t i = 0; i < n; ++i) {
        Float4E2M1 value;
        value.bits = LoadPacked<4>(packed, index(i));
        to[i] = static_cast<float>(value);
      }
      return;
    default:
      Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>(
          from.type, "conversion", [&]<typename T>() { LoadAs(from.as<T>() + begin, n, to); });
  }
}

void StoreFloats(const float* from, int64_t begin, int64_t n, Tensor& to, const ConvertOptions& options) {
  uint8_t* packed = to.as<uint8_t>();
  switch (to.type) {
    case EP_TYPE_UINT4: ClearPacked(to, begin, n); return StorePackedFloats<4, false>(from, begin, n, packed, options);
    case EP_TYPE_INT4: ClearPacked(to, begin, n); return StorePackedFloats<4, true>(from, begin, n, packed, options);
    case EP_TYPE_UINT2: ClearPacked(to, begin, n); return StorePackedFloats<2, false>(from, begin, n, packed, options);
    case EP_TYPE_INT2: ClearPacked(to, begin, n); return StorePackedFloats<2, true>(from, begin, n, packed, options);
    case EP_TYPE_FLOAT4E2M1:
      ClearPacked(to, begin, n);
      for (int64_t i = 0; i < n; ++i)
        StorePacked<4>(packed, static_cast<uint64_t>(begin + i), Float4E2M1(from[i]).bits);
      return;
    default:
      Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
               uint64_t, bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>(
          to.type, "conversion", [&]<typename T>() { StoreAs(from, n, to.as<T>() + begin, options); });
  }
}

std::string FormatFloat(float value) { return Format(value); }
std::string FormatFloat(double value) { return Format(value); }
double ParseFloat(const std::string& text) { return Parse<double>(text); }
int64_t ParseInteger(const std::string& text) { return Parse<int64_t>(text); }
uint64_t ParseUnsigned(const std::string& text) { return Parse<uint64_t>(text); }

}  // namespace epiphyte::cpu
