/* The part of OpenMP that oneDNN uses, on the host's threads.
 *
 * Debian's oneDNN runs its loops through libgomp, which would start its own threads in addition to the host's. This
 * small library defines the few libgomp functions that oneDNN calls. The plugin lists it before oneDNN among its needed
 * libraries, so the loader binds oneDNN to these definitions, within the plugin's own scope only. If the program itself
 * has libgomp in its global scope, oneDNN is bound to that one instead: EpiphyteOmpProbe tells.
 */
#ifndef EPIPHYTE_OMP_ON_HOST_H_
#define EPIPHYTE_OMP_ON_HOST_H_

#include "epiphyte/ep_services.h"

#define EPIPHYTE_OMP_EXPORT __attribute__((visibility("default")))

EP_EXTERN_C_BEGIN

/* The threads for parallel regions of the calling thread. Null services: the calling thread alone. `threads` 0: all
 * threads of the pool. The pool is queried only when oneDNN asks for their number, because the query starts them. */
typedef struct EpiphyteOmpTeam {
  const EpServicesApi* services;
  EpThreadPool* pool;
  uint32_t threads;
  /* Non-zero: members of parallel regions don't wait for each other. A region then does not wait for threads either:
   * the available threads run all members. While other callers use the pool, the calling thread runs all of them. */
  uint32_t independent;
} EpiphyteOmpTeam;

/* Sets the calling thread's team and returns the one before. [any thread] */
EPIPHYTE_OMP_EXPORT EpiphyteOmpTeam EpiphyteOmpSetTeam(EpiphyteOmpTeam team);

/* Sets the calling thread's EpiphyteOmpTeam::independent and returns the one before. [any thread] */
EPIPHYTE_OMP_EXPORT uint32_t EpiphyteOmpSetIndependent(uint32_t independent);

/* Number of times that the calling thread asked for its number of threads: it rises when oneDNN is bound to this
 * library. */
EPIPHYTE_OMP_EXPORT uint64_t EpiphyteOmpProbe(void);

EP_EXTERN_C_END

#endif /* EPIPHYTE_OMP_ON_HOST_H_ */
