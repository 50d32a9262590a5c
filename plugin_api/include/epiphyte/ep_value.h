/* Values: what flows through a graph at run time, and what a constant holds.
 *
 * A view describes memory that somebody else owns. Each function that hands out a view states how long it lives.
 */
#ifndef EPIPHYTE_EP_VALUE_H_
#define EPIPHYTE_EP_VALUE_H_

#include "ep_type.h"

EP_EXTERN_C_BEGIN

/* A dense tensor in row-major order without padding. */
typedef struct EpTensorView {
  uint32_t struct_size;
  EpElementType element_type;
  uint32_t rank;
  uint32_t reserved;
  const int64_t* dims;    /* `rank` entries, each >= 0 */
  uint64_t element_count; /* product of dims */
  uint64_t byte_size;     /* of `data`; for strings element_count * sizeof(EpString) */
  const void* data;       /* strings: const EpString[element_count]; may be null when byte_size is 0 */
} EpTensorView;

/* Any ONNX value. */
typedef struct EpValueView {
  uint32_t struct_size;
  EpTypeKind kind; /* EP_KIND_UNKNOWN: an empty optional */
  const EpTensorView* tensor;                  /* kind TENSOR */
  const struct EpValueView* const* elements;   /* kind SEQUENCE: `element_count` elements; MAP: {keys, values} */
  uint64_t element_count;                      /* of `elements` */
  EpElementType element_type;                  /* SEQUENCE of tensors: their element type, also when it is empty */
  uint32_t reserved;
} EpValueView;

/* A value that is owned through a reference count by the host. */
typedef struct EpValue EpValue;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_VALUE_H_ */
