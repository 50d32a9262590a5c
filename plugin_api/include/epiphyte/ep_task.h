/* Task: what a plugin may ask of the host while it compiles, loads or saves.
 *
 * Compile, LoadContext and GetEpContextNodes may take minutes. Each gets a task, valid until it returns: [R607] through
 * it the plugin says how far it is, hears that the user has cancelled, gives a partition back that it can't compile
 * after all, and keeps the data of constants instead of copying it.
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

/* Called once, on the thread that cancels, which waits for it: it must only tell the SDK to give up, and return soon.
 */
typedef void(EP_CALL* EpCancelListener)(void* user);

typedef struct EpTaskApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Says how far the task is: `done` of `total` [R610] in a unit of the plugin's, `total` 0 when it is not known;
   * `text`, of which the user gets 256 bytes, may be null. Returns non-zero when the user has cancelled: then return
   * MODEL_LOAD_CANCELED soon. [R608] The application hears one report at a time, on the thread that made it, so this
   * may wait for one of another thread: hold no lock that the application could need in the meantime, in another
   * session, say. [any thread, while the task runs] */
  uint32_t(EP_CALL* ReportProgress)(EpTask* task, uint64_t done, uint64_t total, const char* text);

  /* Non-zero when the user has cancelled. Says nothing to the user, so it may be asked often. [any thread, while the
   * task runs] */
  uint32_t(EP_CALL* IsCancelled)(const EpTask* task);

  /* For SDKs with a handle to abort: `listener` is called when the user cancels, at once if that has happened already.
   * One for each task; null takes it away, and waits until it isn't running. After the task has returned it is not
   * called any more. The user is heard when somebody reports progress, so a plugin that compiles for long in one call
   * of its SDK reports from a thread of its own meanwhile. [any thread, while the task runs] */
  EpStatus*(EP_CALL* SetCancelListener)(EpTask* task, EpCancelListener listener, void* user);

  /* Compile only: gives partitions[index] back. Its nodes are offered to the providers that come after this one, and
   * `reason`, of which the report gets 512 bytes, is in the placement report. kernels[index] stays null, and
   * so is the partition's entry in EpContextSinkInfo::partition_names. If nobody else can run the nodes, the session
   * fails with the reason. Each partition at most once. [R611] [any thread, while the task runs] */
  EpStatus*(EP_CALL* DeclinePartition)(EpTask* task, uint64_t index, const char* reason);

  /* Compile and LoadContext: keeps the data of a constant of the task's graphs, so that a kernel need not copy it. The
   * view in EpValueDefInfo::constant, with all that it points to, stays valid until ReleaseConstant; each Retain has
   * one Release of its own. [R613] Constants that nobody retains are freed once the session is made. INVALID_ARGUMENT
   * for a value that is no constant or not of the task's. [R612] [any thread, while the task runs] */
  EpStatus*(EP_CALL* RetainConstant)(EpTask* task, const EpValueDef* value, EpConstant** constant);

  /* At the latest in DestroyProvider; what is left then is released by the host. Null is allowed. [any thread] */
  void(EP_CALL* ReleaseConstant)(EpConstant* constant);

  /* Compile and LoadContext: the plugin is through with the data of a constant of the task's graphs, having packed it,
   * say, and doesn't read it again in this task. [R615] Many weights lie in a model's file at addresses that their type
   * doesn't divide, and what the host shows is an aligned copy: this frees it, where else all weights would be in
   * memory twice until the task ends. Nothing is taken from who has retained the constant before. INVALID_ARGUMENT as
   * for RetainConstant [R612]. Hosts of ABI 0.2.0 didn't have it: see EP_HAS_FIELD. [any thread, while the task runs]
   */
  EpStatus*(EP_CALL* DropConstant)(EpTask* task, const EpValueDef* value);
} EpTaskApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_TASK_H_ */
