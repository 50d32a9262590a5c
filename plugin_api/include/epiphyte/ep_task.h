/* Task: the host's functions for a plugin that compiles, loads or saves.
 *
 * Compile, LoadContext and GetEpContextNodes may take minutes. Each gets a task, valid until it returns. [R607] Through
 * the task the plugin reports progress, learns that the user has cancelled, declines a partition that it can't compile
 * after all, and retains constants instead of copying them.
 *
 * Example
 *     for (uint64_t i = 0; i < count; ++i) {
 *       if (host->task->ReportProgress(task, i, count, partitions[i]->name) != 0) {
 *         return host->status->Create(EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
 *       }
 *       if (!FitsIntoTheChip(partitions[i])) {
 *         EpStatus* status = host->task->DeclinePartition(task, i, "needs 9 MiB of the chip's 8");
 *         if (status != NULL) return status;
 *         continue;
 *       }
 *       kernels[i] = …;
 *     }
 */
#ifndef EPIPHYTE_EP_TASK_H_
#define EPIPHYTE_EP_TASK_H_

#include "ep_graph.h"

EP_EXTERN_C_BEGIN

/* One call of Compile, LoadContext or GetEpContextNodes; never null. */
typedef struct EpTask EpTask;

/* A reference to the data of a constant. */
typedef struct EpConstant EpConstant;

/* Called once, on the thread that cancels. That thread waits for the listener: it must only tell the SDK to stop, and
 * return soon. */
typedef void(EP_CALL* EpCancelListener)(void* user);

typedef struct EpTaskApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Reports progress: `done` of `total` in a unit of the plugin's choice [R610]; `total` is 0 when it is not known.
   * `text` may be null; the user gets 256 bytes of it. Returns non-zero when the user has cancelled: then return
   * MODEL_LOAD_CANCELED soon. [R608] The application gets one report at a time, on the thread that made it, so this
   * call may wait for a report of another thread. Hold no lock that the application could need meanwhile, for example
   * in another session. [any thread, while the task runs] */
  uint32_t(EP_CALL* ReportProgress)(EpTask* task, uint64_t done, uint64_t total, const char* text);

  /* Returns non-zero when the user has cancelled. It reports nothing to the user, so it may be called often.
   * [any thread, while the task runs] */
  uint32_t(EP_CALL* IsCancelled)(const EpTask* task);

  /* For SDKs with a handle to abort: `listener` is called when the user cancels, or at once if the user has cancelled
   * already. A task has one listener. Null removes it and waits until it isn't running. It is not called after the task
   * has returned. The host learns of a cancellation only when progress is reported. A plugin that compiles for long in
   * one call of its SDK therefore reports from another thread meanwhile. [any thread, while the task runs] */
  EpStatus*(EP_CALL* SetCancelListener)(EpTask* task, EpCancelListener listener, void* user);

  /* Compile only: declines partitions[index]. Its nodes are offered to the providers that come after this one. The
   * placement report shows up to 512 bytes of `reason`. kernels[index] stays null, and so does the partition's entry in
   * EpContextSinkInfo::partition_names. If no other provider can run the nodes, the session fails with the reason. Each
   * partition may be declined at most once. [R611] [any thread, while the task runs] */
  EpStatus*(EP_CALL* DeclinePartition)(EpTask* task, uint64_t index, const char* reason);

  /* Compile and LoadContext: retains the data of a constant of the task's graphs, so that a kernel need not copy it.
   * The view in EpValueDefInfo::constant and all data behind it stay valid until ReleaseConstant. Each Retain needs one
   * Release. [R613] The host frees every constant that is not retained when the session is ready. A value that is not a
   * constant of the task's graphs gives INVALID_ARGUMENT. [R612] [any thread, while the task runs] */
  EpStatus*(EP_CALL* RetainConstant)(EpTask* task, const EpValueDef* value, EpConstant** constant);

  /* Call it in DestroyProvider at the latest; the host releases constants that are left then. Null is allowed.
   * [any thread] */
  void(EP_CALL* ReleaseConstant)(EpConstant* constant);

  /* Compile and LoadContext: the plugin no longer needs the data of a constant of the task's graphs, for example
   * because it has packed the data. It doesn't read the constant again in this task. [R615] Many weights are misaligned
   * in a model's file, and the host then shows an aligned copy. DropConstant frees that copy; otherwise all weights
   * would be in memory twice until the task ends. It has no effect on constants that were retained before.
   * INVALID_ARGUMENT as for RetainConstant. [R612] Hosts of ABI 0.2.0 lack this function: see EP_HAS_FIELD.
   * [any thread, while the task runs] */
  EpStatus*(EP_CALL* DropConstant)(EpTask* task, const EpValueDef* value);
} EpTaskApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_TASK_H_ */
