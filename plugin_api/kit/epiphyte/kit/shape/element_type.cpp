#include "epiphyte/kit/shape/element_type.hpp"

#include <iterator>

namespace epiphyte::kit {

uint64_t ElementBytes(EpElementType type, uint64_t count) {
  switch (type) {
    case EP_TYPE_UINT8:
    case EP_TYPE_INT8:
    case EP_TYPE_BOOL:
    case EP_TYPE_FLOAT8E4M3FN:
    case EP_TYPE_FLOAT8E4M3FNUZ:
    case EP_TYPE_FLOAT8E5M2:
    case EP_TYPE_FLOAT8E5M2FNUZ:
    case EP_TYPE_FLOAT8E8M0: return count;
    case EP_TYPE_UINT16:
    case EP_TYPE_INT16:
    case EP_TYPE_FLOAT16:
    case EP_TYPE_BFLOAT16: return count * 2;
    case EP_TYPE_FLOAT:
    case EP_TYPE_INT32:
    case EP_TYPE_UINT32: return count * 4;
    case EP_TYPE_INT64:
    case EP_TYPE_UINT64:
    case EP_TYPE_DOUBLE:
    case EP_TYPE_COMPLEX64: return count * 8;
    case EP_TYPE_COMPLEX128: return count * 16;
    case EP_TYPE_UINT4:
    case EP_TYPE_INT4:
    case EP_TYPE_FLOAT4E2M1: return (count + 1) / 2;
    case EP_TYPE_UINT2:
    case EP_TYPE_INT2: return (count + 3) / 4;
    default: return 0;
  }
}

std::string TypeName(EpElementType type) {
  static constexpr const char* kNames[] = {
      "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};
  if (type < 0 || type >= static_cast<EpElementType>(std::size(kNames))) return "type " + std::to_string(type);
  return kNames[type];
}

bool IsElementType(EpElementType type) { return type > EP_TYPE_UNDEFINED && type <= EP_TYPE_INT2; }

}  // namespace epiphyte::kit
