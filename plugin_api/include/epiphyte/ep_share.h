/* Share groups: sessions that use the same weights.
 *
 * Sessions with ep.share_ep_contexts=1 form a group. EpProviderConfig::share_group is the plugin's handle to the group,
 * null without a group. The table below is the extension "ep.share_group/1" of EpHostInfo::GetExtension.
 *
 * Compiling: all sessions of the group compile into one payload. The last session writes it.
 * - GetEpContextNodes of an earlier session keeps its compiled graphs in the workspace and adds its nodes with
 *   main_context 1 and payload null; it begins no payload. [R901]
 * - GetEpContextNodes of the last session writes one payload that holds the graphs of all sessions, with identical
 *   weights stored once. [R902 R903] The host makes the nodes of all sessions refer to it, and publishes all models
 *   together.
 * Partition names are unique in the group.
 *
 * Loading: the host maps each payload once for the whole group and checks it once; every session's LoadContext gets the
 * same blob at the same address. A provider may keep graphs that this session did not ask for in the workspace, for a
 * later session. A group has any number of sessions, created and destroyed in any order. [R906]
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
  uint32_t compiling; /* non-zero: the contexts of this session go into the group's payload */
  uint32_t last;      /* with compiling: this session writes the payload */
  uint32_t reserved;
  const char* name; /* name of the group, "" for the default group; lives as long as the provider */
} EpShareInfo;

/* Creates the workspace. Called under the group's lock while GetWorkspace runs; it must not call GetWorkspace.
 * [R905] */
typedef EpStatus*(EP_CALL* EpMakeWorkspace)(void* user, void** workspace);
/* Frees the workspace. Called when no provider of the group uses it any more. */
typedef void(EP_CALL* EpFreeWorkspace)(void* workspace);

typedef struct EpShareApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* [any thread] */
  EpStatus*(EP_CALL* GetInfo)(const EpShareGroup* group, EpShareInfo* info);

  /* Gives the plugin's workspace in the group. The first call creates it; `release` runs once, after the last provider
   * of the plugin in this group is destroyed. The plugin defines the workspace's content and locks it, because
   * providers of the group may be used at the same time. [any thread; `make` runs under the group's lock] */
  EpStatus*(EP_CALL* GetWorkspace)(EpShareGroup* group, EpMakeWorkspace make, void* user, EpFreeWorkspace release,
                                   void** workspace);
} EpShareApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_SHARE_H_ */
