/* Values: the data of a graph at run time and of its constants.
 *
 * A view describes memory that it does not own. [R711] Each function that returns a view states how long it lives.
 */
#ifndef EPIPHYTE_EP_VALUE_H_
#define EPIPHYTE_EP_VALUE_H_

#include "ep_type.h"

EP_EXTERN_C_BEGIN

/* An allocation of device memory. The struct is private to the plugin that made it. */
typedef struct EpBuffer EpBuffer;

/* A dense tensor in row-major order without padding.
 *
 * Location: if `buffer` is null, the tensor is in host memory at `data`. Otherwise it begins `offset` bytes into
 * `buffer`, in memory number `memory` of the plugin's device number `device`, and `data` is null. Device memory is
 * always a buffer and an offset, never an address. Constants are in host memory, and so are all tensors of a plugin
 * that does not use device memory. In host memory `offset`, `device` and `memory` are 0. */
typedef struct EpTensorView {
  uint32_t struct_size;
  EpElementType element_type;
  uint32_t rank; /* at most EP_MAX_RANK */
  uint32_t reserved;
  const int64_t* dims; /* `rank` entries, each >= 0; may be null at rank 0 */
  /* Strings: const EpString[element_count]. May be null when byte_size is 0. [R724] Memory of the host is aligned to 64
   * bytes; memory of an application is aligned as the application did. */
  const void* data;
  EpBuffer* buffer;
  uint32_t device;
  uint32_t memory;
  uint64_t offset;
  uint64_t element_count; /* product of dims, 1 at rank 0 */
  uint64_t byte_size;     /* bytes of the data; for strings element_count * sizeof(EpString) */
} EpTensorView;

/* Any ONNX value. */
typedef struct EpValueView {
  uint32_t struct_size;
  EpTypeKind kind;                           /* EP_KIND_UNKNOWN: an empty optional */
  const EpTensorView* tensor;                /* kind TENSOR, else null */
  const struct EpValueView* const* elements; /* kind SEQUENCE: `element_count` elements; MAP: {keys, values} */
  uint64_t element_count;                    /* number of `elements` */
  EpElementType element_type;                /* SEQUENCE of tensors: their element type, also when it is empty */
  uint32_t reserved;
} EpValueView;

/* A value that the host owns. It is reference-counted. */
typedef struct EpValue EpValue;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_VALUE_H_ */
