/* Host tables: every function of the host that a plugin may call.
 *
 * The host hands one EpHostInfo to EpPluginQuery and to Initialize. It and all tables it leads to stay valid, at the
 * same address, for the life of the process. A process may hold several hosts. Each has its own EpHostInfo, and its
 * handles are invalid for the other hosts. A plugin therefore stores the host in the object that Initialize creates,
 * not in a global.
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

/* No pointer of this struct is null. The functions accept only handles that this host gave. [R1012] */
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

  /* Returns the table of an optional feature. Returns null for an id that this host doesn't know, for a null id, and
   * for an EpHostInfo of another host. Ids look like "ep.run_limits/1". The table of an id changes only by growing at
   * its end. [any thread] */
  const void*(EP_CALL* GetExtension)(const struct EpHostInfo* host, const char* id);
} EpHostInfo;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_HOST_H_ */
