/* Status: how every call reports failure.
 *
 * A function returns `EpStatus*`; null means success. A status is made through the host, so that it lives in the host's
 * heap. [R1002] The caller of the failing function releases it. The host releases statuses that plugins return. A
 * plugin releases statuses that it gets from the host and does not return. [R1003] The message says what was found,
 * what was expected and what to do about it, in one line of at most 4096 bytes. The host cuts a longer one and replaces
 * characters that can't be printed.
 *
 * Example (plugin side)
 *     if (rank != 4) return host->status->Create(EP_STATUS_NOT_IMPLEMENTED, "Conv: rank 5 found, rank 4 expected");
 */
#ifndef EPIPHYTE_EP_STATUS_H_
#define EPIPHYTE_EP_STATUS_H_

#include "ep_abi.h"

EP_EXTERN_C_BEGIN

/* A plugin that gets a status from the host and can do nothing about it returns it as its own result. [R722] */
typedef struct EpStatus EpStatus;

/* Codes below 1000 have ONNX Runtime's numbers, present and future ones, so that applications can keep their tables.
 * Codes from 1000 on are Epiphyte's own. The application gets the plugin's code, except where a comment says that the
 * host gives its own. An unknown code counts as EP_FAIL.
 *
 * Choose the code by the remedy. The caller can correct the call: INVALID_ARGUMENT, NO_SUCHFILE, NOT_FOUND. The model
 * or the context is wrong: INVALID_GRAPH. The feature is missing: NOT_IMPLEMENTED. The machine failed: OUT_OF_MEMORY,
 * DEVICE_RESET, TIMEOUT, ENGINE_ERROR. The plugin failed: EP_FAIL. */
typedef int32_t EpStatusCode;

/* Success is a null status. No status has this code: Create replaces it by FAIL. */
#define EP_STATUS_OK 0

/* No other code fits, and the cause is unknown or lies outside of the plugin: a write failed, a system call failed. For
 * a defect or a limit of the plugin itself use EP_FAIL. */
#define EP_STATUS_FAIL 1

/* The caller can correct it: an option, a type or shape of an input of a run, a null pointer. For something wrong in
 * the model's graph or in a context use INVALID_GRAPH. For a valid request that the plugin does not support use
 * NOT_IMPLEMENTED. */
#define EP_STATUS_INVALID_ARGUMENT 2

/* A file that was named by its path is not there. For a name that is no path (a device, an input) use NOT_FOUND. For a
 * file that is there and damaged use INVALID_GRAPH. */
#define EP_STATUS_NO_SUCHFILE 3

/* Used by the host only, never by a plugin. Listed because ONNX Runtime has the number. */
#define EP_STATUS_NO_MODEL 4

/* A vendor's runtime, driver or library returned an error and can still be used. Put its name and its own code into the
 * message. When the device is lost use DEVICE_RESET, when it gave no answer TIMEOUT, when its memory is used up
 * OUT_OF_MEMORY. */
#define EP_STATUS_ENGINE_ERROR 5

/* An unexpected exception. The host uses the code for its own exceptions. A plugin that catches one at the boundary
 * uses EP_FAIL, as the kit does, or the code of the cause where that is known. */
#define EP_STATUS_RUNTIME_EXCEPTION 6

/* Used by the host only: the bytes are not an ONNX model. A plugin that reads damaged bytes uses INVALID_GRAPH. */
#define EP_STATUS_INVALID_PROTOBUF 7

/* Used by the host only, never by a plugin. Listed because ONNX Runtime has the number. */
#define EP_STATUS_MODEL_LOADED 8

/* A valid request that the plugin does not support: a rank, a type, an option of an operator that was claimed and turns
 * out not to fit. In Compile, DeclinePartition is better: it gives the partition to the next provider, and a status
 * fails the session. For a request that no provider could fulfil use INVALID_GRAPH or INVALID_ARGUMENT. */
#define EP_STATUS_NOT_IMPLEMENTED 9

/* The model or the context is wrong: damaged, stale, made for other hardware or by another version. The application can
 * compile the source model again. The host reports every failure of LoadContext with this code, except
 * MODEL_LOAD_CANCELED. For a wrong input of a run use INVALID_ARGUMENT. */
#define EP_STATUS_INVALID_GRAPH 10

/* The provider failed, and the cause is the provider: a defect, an unexpected exception, an internal limit. The host
 * uses it for plugins that break a rule of these headers. For a failure of the vendor's runtime use ENGINE_ERROR. */
#define EP_STATUS_EP_FAIL 11

/* The user cancelled while a session was created: ReportProgress returned nonzero. For a run that was cancelled use
 * CANCELED. */
#define EP_STATUS_MODEL_LOAD_CANCELED 12

/* Used by the host only: session.disable_model_compile is 1, and a provider would have to compile. */
#define EP_STATUS_MODEL_REQUIRES_COMPILATION 13

/* A thing that was asked for by name or number is not there: a device, an extension. From GetDevices it means that
 * there is no device, and the plugin's state is NoDevice. For a file use NO_SUCHFILE. */
#define EP_STATUS_NOT_FOUND 14

/* The device is lost, and the contents of its memory are gone. Only a new session can help. While the device works on,
 * use ENGINE_ERROR. */
#define EP_STATUS_DEVICE_RESET 15

/* The memory of the host or the device is used up, or the session reached its limit of device memory. Fewer concurrent
 * runs may help. */
#define EP_STATUS_OUT_OF_MEMORY 1000

/* A run was cancelled. For the creation of a session use MODEL_LOAD_CANCELED. */
#define EP_STATUS_CANCELED 1001

/* The device did not answer in time, or a wait with a timeout ended. The work may still finish. When the device is
 * known to be lost, use DEVICE_RESET. */
#define EP_STATUS_TIMEOUT 1002

typedef struct EpStatusApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Makes a status. `message` is copied; null counts as empty. Never returns null: when memory is short it returns a
   * preallocated status. [any thread] */
  EpStatus*(EP_CALL* Create)(EpStatusCode code, const char* message); /* [R1006] */

  /* Returns OK for a null status. [any thread] */
  EpStatusCode(EP_CALL* GetCode)(const EpStatus* status);

  /* The message is zero-terminated, never null, and valid until Release. [any thread] */
  const char*(EP_CALL* GetMessage)(const EpStatus* status);

  /* Release each status once; null is allowed. A second release is reported and ignored. [R1005] [any thread] */
  void(EP_CALL* Release)(EpStatus* status); /* [R1004] */
} EpStatusApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_STATUS_H_ */
