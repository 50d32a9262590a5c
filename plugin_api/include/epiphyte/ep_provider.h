/* Provider: the functions a vendor implements.
 *
 * A provider is one use of a plugin by one session: its options are fixed, its kernels belong to it. The four calls
 * that matter are GetCapability, Compile, GetEpContextNodes and LoadContext. A table entry marked optional may be
 * null.
 *
 * Threads: one at a time for a provider's functions, except that Execute and CreateState run on many at once, also on
 * one kernel. States and kernels are released when no Execute uses them. Providers of one plugin run side by side.
 * Order: CreateProvider; GetCapability any number of times, a graph before those nested in it; LoadContext, Compile and
 * then GetEpContextNodes, each at most once; Execute …; the release functions. A session may be given up in between.
 * Errors: when a function returns a status, its outputs are ignored; only kernels that Compile or LoadContext filled in
 * are released all the same. A provider that the user listed ends the session; one that nobody listed is left out.
 * A kernel has one owner: what Compile and LoadContext give is in use nowhere else.
 */
#ifndef EPIPHYTE_EP_PROVIDER_H_
#define EPIPHYTE_EP_PROVIDER_H_

#include "ep_host.h"

EP_EXTERN_C_BEGIN

typedef struct EpPlugin EpPlugin;     /* the plugin's state, from EpPluginDescriptor::Initialize */
typedef struct EpProvider EpProvider; /* from CreateProvider */
typedef struct EpKernel EpKernel;     /* from Compile or LoadContext */
typedef struct EpKernelState EpKernelState;
typedef struct EpShareGroup EpShareGroup; /* a workspace that sessions share; see EpProviderConfig */

/* What a session asks of a provider.
 *
 * Options are the plugin's own, but for one: `device`, in a manifest, a policy file or a session, is the host's for
 * every provider. It says which of the plugin's devices to use, as an index, and arrives as the field `device`,
 * checked, never among the options. For a key that it doesn't know, or a value that it can't use, CreateProvider fails
 * with INVALID_ARGUMENT and a message that says what it takes; that message is what the user gets.
 *
 * Valid during CreateProvider only, except `thread_pool`: as long as the provider. */
typedef struct EpProviderConfig {
  uint32_t struct_size;
  uint32_t option_count;
  const EpKeyValue* options; /* manifest defaults, overridden by policy, overridden by the session; keys are unique */
  EpThreadPool* thread_pool;
  uint32_t device;           /* index into the devices that GetDevices reported */
  uint32_t context_enabled;  /* non-zero: GetEpContextNodes will be called after Compile */
  EpShareGroup* share_group; /* null: nothing is shared; see ep_share.h */
  uint32_t thread_count;     /* how many threads the session wants. There can be fewer: see GetThreadCount */
  uint32_t reserved;
} EpProviderConfig;

/* One graph to turn into one kernel. */
typedef struct EpPartitionInfo {
  uint32_t struct_size;
  uint32_t index;       /* counted through all Compile calls of this provider */
  const char* name;     /* unique in the model, the same for the same model and options */
  const EpGraph* graph; /* valid until Compile returns, and so is the data of its constants: copy what a kernel reads */
} EpPartitionInfo;

typedef struct EpProviderApi {
  uint32_t struct_size;
  uint32_t reserved;

  EpStatus*(EP_CALL* CreateProvider)(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider);
  void(EP_CALL* DestroyProvider)(EpProvider* provider);

  EpStatus*(EP_CALL* GetCapability)(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink);

  /* Fills kernels[i] from partitions[i]. Whatever was filled is released by the host, also after an error. */
  EpStatus*(EP_CALL* Compile)(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                              EpProgress* progress, EpKernel** kernels);

  /* Optional, with LoadContext. Called after Compile, which is left out when a session has nothing to compile. */
  EpStatus*(EP_CALL* GetEpContextNodes)(EpProvider* provider, EpContextSink* sink);

  /* Optional, with GetEpContextNodes. Fills kernels[i] from nodes[i], as Compile does. Blobs outlive the kernels. */
  EpStatus*(EP_CALL* LoadContext)(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                  const EpContextBlob* const* blobs, uint64_t blob_count, EpProgress* progress,
                                  EpKernel** kernels);

  void(EP_CALL* ReleaseKernel)(EpKernel* kernel);

  /* Optional pair: memory for one Execute at a time, which the host keeps and hands out again. Never null or shared. */
  EpStatus*(EP_CALL* CreateState)(EpKernel* kernel, EpKernelState** state);
  void(EP_CALL* ReleaseState)(EpKernel* kernel, EpKernelState* state);

  /* `state`: null without CreateState. Outputs have the kind, element type and static dims that the graph declares. */
  EpStatus*(EP_CALL* Execute)(EpKernel* kernel, EpKernelState* state, EpRun* run);
} EpProviderApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PROVIDER_H_ */
