/* Values: what flows through a graph at run time, and what a constant holds.
 *
 * A view describes memory that somebody else owns. [R711] Each function that hands out a view states how long it lives.
 */
#ifndef EPIPHYTE_EP_VALUE_H_
#define EPIPHYTE_EP_VALUE_H_

#include "ep_type.h"

EP_EXTERN_C_BEGIN

/* A piece of a device's memory, as the plugin that made it knows it. */
typedef struct EpBuffer EpBuffer;

/* A dense tensor in row-major order without padding.
 *
 * Where it is: `buffer` null means host memory at `data`. Otherwise the tensor begins `offset` bytes into `buffer`, in
 * memory number `memory` of the plugin's device number `device`, and `data` is null: a buffer and an offset, never an
 * address. Constants, and all tensors of a plugin that has not asked for device memory, are in host memory; there
 * `offset`, `device` and `memory` are 0. */
typedef struct EpTensorView {
  uint32_t struct_size;
  EpElementType element_type;
  uint32_t rank; /* at most EP_MAX_RANK */
  uint32_t reserved;
  const int64_t* dims; /* `rank` entries, each >= 0; may be null at rank 0 */
  const void* data;    /* strings: const EpString[element_count]; may be null when byte_size is 0. [R724] What the host
                        * allocated is aligned to 64 bytes, an application's own memory as the application did */
  EpBuffer* buffer;
  uint32_t device;
  uint32_t memory;
  uint64_t offset;
  uint64_t element_count; /* product of dims, 1 at rank 0 */
  uint64_t byte_size;     /* of the data; for strings element_count * sizeof(EpString) */
} EpTensorView;

/* Any ONNX value. */
typedef struct EpValueView {
  uint32_t struct_size;
  EpTypeKind kind;                           /* EP_KIND_UNKNOWN: an empty optional */
  const EpTensorView* tensor;                /* kind TENSOR, else null */
  const struct EpValueView* const* elements; /* kind SEQUENCE: `element_count` elements; MAP: {keys, values} */
  uint64_t element_count;                    /* of `elements` */
  EpElementType element_type;                /* SEQUENCE of tensors: their element type, also when it is empty */
  uint32_t reserved;
} EpValueView;

/* A value that is owned through a reference count by the host. */
typedef struct EpValue EpValue;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_VALUE_H_ */
