// Dispatch: maps an element type known at run time to a C++ type.
//
//     Dispatch<float, double, Float16>(x.type, "Relu", [&]<typename T>() { Relu(x.as<T>(), y.as<T>(), count); });
//
// The lambda is instantiated for each listed type. Any other type at run time is an error that names both.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "epiphyte/kit/shape/float_types.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

using kit::BFloat16;
using kit::Float16;
using kit::Float4E2M1;
using kit::Float8;
using kit::Float8E4M3FN;
using kit::Float8E4M3FNUZ;
using kit::Float8E5M2;
using kit::Float8E5M2FNUZ;
using kit::Float8E8M0;
using kit::LoadPacked;
using kit::LoadPackedSigned;
using kit::StorePacked;

// EP_TYPE_* value of a C++ type. Packed types have none, because a byte holds several elements.
template <typename T>
inline constexpr ElementType kTypeOf = EP_TYPE_UNDEFINED;
template <>
inline constexpr ElementType kTypeOf<float> = EP_TYPE_FLOAT;
template <>
inline constexpr ElementType kTypeOf<double> = EP_TYPE_DOUBLE;
template <>
inline constexpr ElementType kTypeOf<Float16> = EP_TYPE_FLOAT16;
template <>
inline constexpr ElementType kTypeOf<BFloat16> = EP_TYPE_BFLOAT16;
template <>
inline constexpr ElementType kTypeOf<int8_t> = EP_TYPE_INT8;
template <>
inline constexpr ElementType kTypeOf<int16_t> = EP_TYPE_INT16;
template <>
inline constexpr ElementType kTypeOf<int32_t> = EP_TYPE_INT32;
template <>
inline constexpr ElementType kTypeOf<int64_t> = EP_TYPE_INT64;
template <>
inline constexpr ElementType kTypeOf<uint8_t> = EP_TYPE_UINT8;
template <>
inline constexpr ElementType kTypeOf<uint16_t> = EP_TYPE_UINT16;
template <>
inline constexpr ElementType kTypeOf<uint32_t> = EP_TYPE_UINT32;
template <>
inline constexpr ElementType kTypeOf<uint64_t> = EP_TYPE_UINT64;
template <>
inline constexpr ElementType kTypeOf<bool> = EP_TYPE_BOOL;
template <>
inline constexpr ElementType kTypeOf<std::string> = EP_TYPE_STRING;
template <>
inline constexpr ElementType kTypeOf<std::complex<float>> = EP_TYPE_COMPLEX64;
template <>
inline constexpr ElementType kTypeOf<std::complex<double>> = EP_TYPE_COMPLEX128;
template <>
inline constexpr ElementType kTypeOf<Float8E4M3FN> = EP_TYPE_FLOAT8E4M3FN;
template <>
inline constexpr ElementType kTypeOf<Float8E4M3FNUZ> = EP_TYPE_FLOAT8E4M3FNUZ;
template <>
inline constexpr ElementType kTypeOf<Float8E5M2> = EP_TYPE_FLOAT8E5M2;
template <>
inline constexpr ElementType kTypeOf<Float8E5M2FNUZ> = EP_TYPE_FLOAT8E5M2FNUZ;
template <>
inline constexpr ElementType kTypeOf<Float8E8M0> = EP_TYPE_FLOAT8E8M0;

template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;

// The type to compute in: float for the 16-bit formats, otherwise the type itself.
template <typename T>
using Compute = std::conditional_t<kIsSmallFloat<T>, float, T>;

// Calls body.template operator()<T>() for the T of Ts that is `type`.
template <typename... Ts, typename Body>
void Dispatch(ElementType type, std::string_view what, Body&& body) {
  const bool found = ((type == kTypeOf<Ts> ? (body.template operator()<Ts>(), true) : false) || ...);
  if (!found) NotImplemented("{} has no kernel for {}", what, TypeName(type));
}

template <typename Body>
void DispatchFloats(ElementType type, std::string_view what, Body&& body) {
  Dispatch<float, double, Float16, BFloat16>(type, what, std::forward<Body>(body));
}
template <typename Body>
void DispatchIntegers(ElementType type, std::string_view what, Body&& body) {
  Dispatch<int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t, uint64_t>(type, what,
                                                                                     std::forward<Body>(body));
}
template <typename Body>
void DispatchNumbers(ElementType type, std::string_view what, Body&& body) {
  Dispatch<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t, int8_t, uint16_t, int16_t, uint32_t, uint64_t>(
      type, what, std::forward<Body>(body));
}

}  // namespace epiphyte::cpu
