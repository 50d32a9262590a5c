/* Run limits: the memory that a run may use.
 *
 * Sessions limit the bytes of one value and of a whole run (session.max_value_bytes, session.max_run_bytes; the
 * defaults depend on the machine's memory). The host checks outputs that are made through EpRunApi. A kernel that
 * allocates memory of a data-dependent size (values inside a partition, scratch) must announce it first. The table
 * below is the extension "ep.run_limits/1" of EpHostInfo::GetExtension, null on hosts without limits.
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

  /* Counts `bytes` of the kernel's own memory, for one value or buffer, until ReturnMemory or the end of this Execute.
   * If it returns a status (FAIL, with size, limit and option), don't allocate and return the status from Execute.
   * [Execute's thread] */
  EpStatus*(EP_CALL* TakeMemory)(EpRun* run, uint64_t bytes);
  void(EP_CALL* ReturnMemory)(EpRun* run, uint64_t bytes);
} EpRunLimitsApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_RUN_LIMITS_H_ */
