// TypeSet: a set of element types as bits.
//
//     constexpr TypeSet kIndices = Types(EP_TYPE_INT32, EP_TYPE_INT64);
//     if (Contains(kIndices, x.type)) …
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <string>

#include "epiphyte/ep_type.h"

namespace epiphyte::kit {

using TypeSet = uint64_t;
constexpr TypeSet TypeBit(EpElementType type) { return TypeSet{1} << type; }
template <typename... T>
constexpr TypeSet Types(T... types) {
  return (TypeBit(types) | ... | 0);
}
constexpr bool Contains(TypeSet types, EpElementType type) { return type > 0 && type < 64 && (types >> type & 1) != 0; }

inline constexpr TypeSet kFloats = Types(EP_TYPE_FLOAT, EP_TYPE_DOUBLE, EP_TYPE_FLOAT16, EP_TYPE_BFLOAT16);
inline constexpr TypeSet kSigned = Types(EP_TYPE_INT8, EP_TYPE_INT16, EP_TYPE_INT32, EP_TYPE_INT64);
inline constexpr TypeSet kUnsigned = Types(EP_TYPE_UINT8, EP_TYPE_UINT16, EP_TYPE_UINT32, EP_TYPE_UINT64);
inline constexpr TypeSet kIntegers = kSigned | kUnsigned;
inline constexpr TypeSet kNumbers = kFloats | kIntegers;
// All defined types, without UNDEFINED.
inline constexpr TypeSet kAnyType = (TypeBit(EP_TYPE_INT2) << 1) - 2;

// The names of the types as text, for example "float, double or float16".
std::string TypeNames(TypeSet types);

}  // namespace epiphyte::kit
