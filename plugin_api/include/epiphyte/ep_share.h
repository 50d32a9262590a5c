/* Share groups: sessions that use the same weights.
 *
 * Sessions with ep.share_ep_contexts=1 form a group. EpProviderConfig::share_group is their plugin's handle to it, null
 * without a group; the table below is the extension "ep.share_group/1" of EpHostInfo::GetExtension.
 *
 * Compiling: all sessions of the group compile into one payload, which the last session writes.
 * - GetEpContextNodes of an earlier session keeps what it compiled in the workspace and adds its nodes with
 *   main_context 1 and payload null; it begins no payload. [R901]
 * - GetEpContextNodes of the last session writes one payload that holds the graphs of all sessions, [R902 R903]
 *   identical weights once. The host makes the nodes of all sessions refer to it, and publishes all models together.
 * Partition names are unique in the group.
 *
 * Loading: the host maps each payload once for the whole group and checks it once; every session's LoadContext gets
 * the same blob at the same address, wherever it lies. A provider may keep graphs that this session did not ask for in
 * the workspace and give them to a later session. Any number of sessions, created and destroyed in any order. [R906]
 *
 * Example
 *     const EpShareApi* share = (const EpShareApi*)host->GetExtension(host, EP_SHARE_EXTENSION);
 *     void* workspace = NULL;
 *     if (share != NULL && config->share_group != NULL) {
 *       EpStatus* status = share->GetWorkspace(config->share_group, MakeWorkspace, plugin, FreeWorkspace, &workspace);
 *       if (status != NULL) return status;
 *     }
 */
#ifndef EPIPHYTE_EP_SHARE_H_
#define EPIPHYTE_EP_SHARE_H_

#include "ep_provider.h"

EP_EXTERN_C_BEGIN

#define EP_SHARE_EXTENSION "ep.share_group/1"

typedef struct EpShareInfo {
  uint32_t struct_size;
  uint32_t compiling; /* non-zero: this session's contexts go into the group's payload */
  uint32_t last;      /* with compiling: this session writes the payload */
  uint32_t reserved;
  const char* name; /* of the group, "" for the default one; valid as long as the provider */
} EpShareInfo;

/* Called under the group's lock, while GetWorkspace runs; must not call GetWorkspace itself. [R905] */
typedef EpStatus*(EP_CALL* EpMakeWorkspace)(void* user, void** workspace);
/* Called when no provider of the group uses the workspace any more. */
typedef void(EP_CALL* EpFreeWorkspace)(void* workspace);

typedef struct EpShareApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* [any thread] */
  EpStatus*(EP_CALL* GetInfo)(const EpShareGroup* group, EpShareInfo* info);

  /* The plugin's own workspace in the group. The first call makes it; `release` runs once, after the last provider of
   * the plugin in this group is destroyed. What the workspace holds is the plugin's affair, and so is locking it:
   * providers of the group may be used at the same time. [any thread; `make` runs under the group's lock] */
  EpStatus*(EP_CALL* GetWorkspace)(EpShareGroup* group, EpMakeWorkspace make, void* user, EpFreeWorkspace release,
                                   void** workspace);
} EpShareApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_SHARE_H_ */
