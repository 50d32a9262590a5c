/* Types: element types, tensor shapes and the nested ONNX types.
 *
 * Element types have the numbers of ONNX's TensorProto.DataType; a plugin claims no node with types that it doesn't
 * know. [R515] Bool is one byte, 0 or 1. A complex number is the real part, then the imaginary part. 4-bit types are
 * packed two to a byte, the first element in the low half, and 2-bit types four to a byte, the first in the lowest
 * bits. A tensor of these types takes whole bytes. The unused bits of the last byte have no meaning; a writer sets them
 * to 0.
 */
#ifndef EPIPHYTE_EP_TYPE_H_
#define EPIPHYTE_EP_TYPE_H_

#include "ep_abi.h"

EP_EXTERN_C_BEGIN

typedef int32_t EpElementType;
#define EP_TYPE_UNDEFINED 0
#define EP_TYPE_FLOAT 1
#define EP_TYPE_UINT8 2
#define EP_TYPE_INT8 3
#define EP_TYPE_UINT16 4
#define EP_TYPE_INT16 5
#define EP_TYPE_INT32 6
#define EP_TYPE_INT64 7
#define EP_TYPE_STRING 8
#define EP_TYPE_BOOL 9
#define EP_TYPE_FLOAT16 10
#define EP_TYPE_DOUBLE 11
#define EP_TYPE_UINT32 12
#define EP_TYPE_UINT64 13
#define EP_TYPE_COMPLEX64 14
#define EP_TYPE_COMPLEX128 15
#define EP_TYPE_BFLOAT16 16
#define EP_TYPE_FLOAT8E4M3FN 17
#define EP_TYPE_FLOAT8E4M3FNUZ 18
#define EP_TYPE_FLOAT8E5M2 19
#define EP_TYPE_FLOAT8E5M2FNUZ 20
#define EP_TYPE_UINT4 21
#define EP_TYPE_INT4 22
#define EP_TYPE_FLOAT4E2M1 23
#define EP_TYPE_FLOAT8E8M0 24
#define EP_TYPE_UINT2 25
#define EP_TYPE_INT2 26

/* A kind that the reader doesn't know counts as UNKNOWN: the value's type is not known. */
typedef uint32_t EpTypeKind;
#define EP_KIND_UNKNOWN 0u
#define EP_KIND_TENSOR 1u
#define EP_KIND_SPARSE_TENSOR 2u
#define EP_KIND_SEQUENCE 3u
#define EP_KIND_OPTIONAL 4u
#define EP_KIND_MAP 5u

/* Maximum number of dimensions of a tensor; a higher rank is refused. [R709] */
#define EP_MAX_RANK 64

/* A value's static type. The graph that it came from owns it, and it lives as long as that graph. */
typedef struct EpTypeInfo {
  uint32_t struct_size;
  EpTypeKind kind;
  EpElementType element_type; /* tensor: the element; map: the key; otherwise EP_TYPE_UNDEFINED */
  int32_t rank;               /* tensor: number of dimensions, -1 when unknown */
  const int64_t* dims;        /* `rank` entries, -1 where the size is not known before the run; may be null at rank 0 */
  const char* const* dim_names;     /* `rank` entries or null; an entry is null where the dimension has no symbol */
  const struct EpTypeInfo* element; /* sequence, optional: the element's type; map: the value's type; else null */
} EpTypeInfo;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_TYPE_H_ */
