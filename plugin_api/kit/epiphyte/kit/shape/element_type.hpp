// Element types: their sizes and names. Packed types (int4, uint4 and narrower) hold several elements a byte.
//
//   kit::ElementBytes(EP_TYPE_INT4, 5);  // 3
//   kit::TypeName(EP_TYPE_FLOAT16);      // "float16"
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <cstdint>
#include <string>

#include "epiphyte/ep_type.h"

namespace epiphyte::kit {

// Bytes of `count` elements; packed types round up. 0 for strings, which have no fixed size, and for invalid types.
uint64_t ElementBytes(EpElementType type, uint64_t count);
// The type's name in ONNX; "type 99" for an unknown number.
std::string TypeName(EpElementType type);
// True for a type that ONNX defines, except UNDEFINED.
bool IsElementType(EpElementType type);

}  // namespace epiphyte::kit
