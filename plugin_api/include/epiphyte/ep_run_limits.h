/* Run limits: how much memory a run may use.
 *
 * Sessions limit the bytes of one value and of a whole run (session.max_value_bytes, session.max_run_bytes; by default
 * from the machine's memory). Outputs that are made through EpRunApi are checked by the host. A plugin whose kernels
 * take memory of their own that depends on the data (values inside a partition, scratch) says so before it allocates:
 * the table below is the extension "ep.run_limits/1" of EpHostInfo::GetExtension, null on hosts that have no limits.
 *
 * Example
 *     const EpRunLimitsApi* limits = (const EpRunLimitsApi*)host->GetExtension(host, EP_RUN_LIMITS_EXTENSION);
 *     if (limits != NULL) {
 *       EpStatus* status = limits->TakeMemory(run, bytes);
 *       if (status != NULL) return status;
 *     }
 *     buffer = malloc(bytes);
 */
#ifndef EPIPHYTE_EP_RUN_LIMITS_H_
#define EPIPHYTE_EP_RUN_LIMITS_H_

#include "ep_run.h"

EP_EXTERN_C_BEGIN

#define EP_RUN_LIMITS_EXTENSION "ep.run_limits/1"

typedef struct EpRunLimitsApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Counts `bytes` of the kernel's own memory, for one value or buffer, as long as this Execute runs or until
   * ReturnMemory. A status (FAIL, with size, limit and option) means: don't allocate, and return it from Execute.
   * [Execute's thread] */
  EpStatus*(EP_CALL* TakeMemory)(EpRun* run, uint64_t bytes);
  void(EP_CALL* ReturnMemory)(EpRun* run, uint64_t bytes);
} EpRunLimitsApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_RUN_LIMITS_H_ */
