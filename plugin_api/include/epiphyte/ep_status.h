/* Status: how every call reports failure.
 *
 * A function returns `EpStatus*`; null means success. A status is made through the host, so that it lives in the
 * host's heap; the caller of the failing function releases it. Its message says what was found, what was expected and
 * what to do about it, in one line.
 *
 * Example (plugin side)
 *     if (rank != 4) return host->status->Create(EP_STATUS_NOT_IMPLEMENTED, "Conv: rank 5 found, rank 4 expected");
 */
#ifndef EPIPHYTE_EP_STATUS_H_
#define EPIPHYTE_EP_STATUS_H_

#include "ep_abi.h"

EP_EXTERN_C_BEGIN

typedef struct EpStatus EpStatus;

/* The numbers are ONNX Runtime's, so that applications can keep their tables. */
typedef int32_t EpStatusCode;
#define EP_STATUS_OK 0
#define EP_STATUS_FAIL 1
#define EP_STATUS_INVALID_ARGUMENT 2
#define EP_STATUS_NO_SUCHFILE 3
#define EP_STATUS_NO_MODEL 4
#define EP_STATUS_ENGINE_ERROR 5
#define EP_STATUS_RUNTIME_EXCEPTION 6
#define EP_STATUS_INVALID_PROTOBUF 7
#define EP_STATUS_MODEL_LOADED 8
#define EP_STATUS_NOT_IMPLEMENTED 9
#define EP_STATUS_INVALID_GRAPH 10
#define EP_STATUS_EP_FAIL 11
#define EP_STATUS_MODEL_LOAD_CANCELED 12
#define EP_STATUS_MODEL_REQUIRES_COMPILATION 13
#define EP_STATUS_NOT_FOUND 14

typedef struct EpStatusApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Makes a status. `message` is copied; null counts as empty. Never returns null: when memory is short it returns a
   * preallocated status. [any thread] */
  EpStatus*(EP_CALL* Create)(EpStatusCode code, const char* message);

  /* [any thread] */
  EpStatusCode(EP_CALL* GetCode)(const EpStatus* status);

  /* Zero-terminated, valid until Release. [any thread] */
  const char*(EP_CALL* GetMessage)(const EpStatus* status);

  /* Null is allowed. Once for each status: what is no status any more is reported and ignored. [any thread] */
  void(EP_CALL* Release)(EpStatus* status);
} EpStatusApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_STATUS_H_ */
