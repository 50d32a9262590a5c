/* Host tables: everything a plugin may call.
 *
 * The host hands one EpHostInfo to EpPluginQuery and to Initialize. It and all tables it leads to stay valid, at the
 * same address, for the life of the process. A process may hold several hosts, each with an EpHostInfo of its own and
 * with handles that mean nothing to the others: a plugin keeps the host in what Initialize makes, not in a global.
 */
#ifndef EPIPHYTE_EP_HOST_H_
#define EPIPHYTE_EP_HOST_H_

#include "ep_capability.h"
#include "ep_context.h"
#include "ep_graph.h"
#include "ep_run.h"
#include "ep_services.h"
#include "ep_status.h"
#include "ep_task.h"

EP_EXTERN_C_BEGIN

/* No pointer in it is null. Its functions take handles that this host gave. [R1012] */
typedef struct EpHostInfo {
  uint32_t struct_size;
  uint32_t abi_min; /* the ABI versions that this host speaks, EP_MAKE_ABI_VERSION each */
  uint32_t abi_max;
  uint32_t reserved;
  const char* host_name; /* "epiphyte" */
  const char* host_version;
  const EpStatusApi* status;
  const EpServicesApi* services;
  const EpGraphApi* graph;
  const EpCapabilityApi* capability;
  const EpTaskApi* task;
  const EpContextApi* context;
  const EpRunApi* run;

  /* A table of a feature that came later, or null: for an id that this host doesn't know, for null, and for a host that
   * is another's. Ids look like "ep.run_limits/1"; the table of an id never changes but by growing. [any thread] */
  const void*(EP_CALL* GetExtension)(const struct EpHostInfo* host, const char* id);
} EpHostInfo;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_HOST_H_ */
