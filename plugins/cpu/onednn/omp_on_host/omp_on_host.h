/* The part of OpenMP that oneDNN uses, on the host's threads.
 *
 * Debian's oneDNN runs its loops through libgomp, which would start threads of its own beside the host's. This small
 * library defines the few libgomp functions that oneDNN calls. The plugin names it before oneDNN among the libraries it
 * needs, so that the loader finds these definitions first when it binds oneDNN, within the plugin's own scope only.
 * Where the program itself has libgomp in its global scope, oneDNN is bound to that: EpiphyteOmpProbe tells.
 */
#ifndef EPIPHYTE_OMP_ON_HOST_H_
#define EPIPHYTE_OMP_ON_HOST_H_

#include "epiphyte/ep_services.h"

#define EPIPHYTE_OMP_EXPORT __attribute__((visibility("default")))

EP_EXTERN_C_BEGIN

/* Which threads parallel regions of the calling thread use. Null services: the calling thread alone. `threads` 0: as
 * many as the pool has, which is asked when oneDNN first wants to know, since that starts them. */
typedef struct EpiphyteOmpTeam {
  const EpServicesApi* services;
  EpThreadPool* pool;
  uint32_t threads;
  /* Non-zero: members of parallel regions don't wait for each other. Then a region doesn't wait for its threads either:
   * whoever is there does its members' work, and all of it is the calling thread's while others use the pool. */
  uint32_t independent;
} EpiphyteOmpTeam;

/* Sets the calling thread's team and returns the one before. [any thread] */
EPIPHYTE_OMP_EXPORT EpiphyteOmpTeam EpiphyteOmpSetTeam(EpiphyteOmpTeam team);

/* Sets the calling thread's EpiphyteOmpTeam::independent and returns the one before. [any thread] */
EPIPHYTE_OMP_EXPORT uint32_t EpiphyteOmpSetIndependent(uint32_t independent);

/* How often the calling thread asked for its number of threads: rises when oneDNN is bound to this library. */
EPIPHYTE_OMP_EXPORT uint64_t EpiphyteOmpProbe(void);

EP_EXTERN_C_END

#endif /* EPIPHYTE_OMP_ON_HOST_H_ */
