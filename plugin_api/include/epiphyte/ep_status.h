/* Status: how every call reports failure.
 *
 * A function returns `EpStatus*`; null means success. A status is made through the host, [R1002] so that it lives in
 * the host's heap; the caller of the failing function releases it: [R1003] the host those that plugins return, a plugin
 * those that it gets from the host and does not return. Its message says what was found, what was expected and what to
 * do about it, in one line of at most 4096 bytes; the host cuts what is longer and replaces what can't be printed.
 *
 * Example (plugin side)
 *     if (rank != 4) return host->status->Create(EP_STATUS_NOT_IMPLEMENTED, "Conv: rank 5 found, rank 4 expected");
 */
#ifndef EPIPHYTE_EP_STATUS_H_
#define EPIPHYTE_EP_STATUS_H_

#include "ep_abi.h"

EP_EXTERN_C_BEGIN

typedef struct EpStatus EpStatus; /* one that a call got and can do nothing about is its own result [R722] */

/* Below 1000 the numbers are ONNX Runtime's, those that it has and those that it will get, so that applications can
 * keep their tables; from 1000 on they are Epiphyte's own. The application gets the plugin's code, except where a
 * comment says that the host gives its own. An unknown code counts as EP_FAIL. */
typedef int32_t EpStatusCode;
#define EP_STATUS_OK 0                   /* never in a status; Create makes FAIL of it */
#define EP_STATUS_FAIL 1                 /* none of the others */
#define EP_STATUS_INVALID_ARGUMENT 2     /* the caller can mend it: an option, an input's type or shape */
#define EP_STATUS_NO_SUCHFILE 3          /* a file that was named is not there */
#define EP_STATUS_NO_MODEL 4             /* the host's */
#define EP_STATUS_ENGINE_ERROR 5         /* a vendor's runtime or driver failed, and works on */
#define EP_STATUS_RUNTIME_EXCEPTION 6    /* an exception that nobody expected */
#define EP_STATUS_INVALID_PROTOBUF 7     /* the host's */
#define EP_STATUS_MODEL_LOADED 8         /* the host's */
#define EP_STATUS_NOT_IMPLEMENTED 9      /* what was claimed can't be done after all */
#define EP_STATUS_INVALID_GRAPH 10       /* the model or the context is wrong: stale, damaged, for other hardware */
#define EP_STATUS_EP_FAIL 11             /* the provider failed for reasons of its own */
#define EP_STATUS_MODEL_LOAD_CANCELED 12 /* making the session was cancelled */
#define EP_STATUS_MODEL_REQUIRES_COMPILATION 13 /* the host's */
#define EP_STATUS_NOT_FOUND 14                  /* something that was asked for by name is not there */
#define EP_STATUS_DEVICE_RESET 15               /* the device is lost; only a new session can help */
#define EP_STATUS_OUT_OF_MEMORY 1000            /* of the host or the device; less work at once may help */
#define EP_STATUS_CANCELED 1001                 /* a run was cancelled */
#define EP_STATUS_TIMEOUT 1002                  /* the device did not answer in time */

typedef struct EpStatusApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Makes a status. `message` is copied; null counts as empty. Never returns null: when memory is short it returns a
   * preallocated status. [any thread] */
  EpStatus*(EP_CALL* Create)(EpStatusCode code, const char* message); /* [R1006] */

  /* OK for null. [any thread] */
  EpStatusCode(EP_CALL* GetCode)(const EpStatus* status);

  /* Zero-terminated, never null, valid until Release. [any thread] */
  const char*(EP_CALL* GetMessage)(const EpStatus* status);

  /* Null is allowed. Once for each status: [R1005] what is no status any more is reported and ignored. [any thread] */
  void(EP_CALL* Release)(EpStatus* status); /* [R1004] */
} EpStatusApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_STATUS_H_ */
