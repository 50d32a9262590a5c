/* Provider: the functions a vendor implements.
 *
 * A provider is one use of a plugin by one session: its options are fixed, its kernels belong to it. The four calls
 * that matter are GetCapability, Compile, GetEpContextNodes and LoadContext. A table entry marked optional may be
 * null. [R211 R209]
 *
 * Threads: a provider's functions are called one at a time, on whichever thread, except that Execute, CreateState and
 * DescribeKernel run on many at once, also on one kernel. States and kernels are released when no Execute uses them.
 * Providers of one plugin run side by side. [R406]
 * Order: CreateProvider; GetCapability any number of times, with any graphs, without a lasting effect; LoadContext,
 * then Compile, each at most once; GetEpContextNodes at most once, after Compile; Execute …; ReleaseState,
 * ReleaseKernel, DestroyProvider. A session may be given up at any point, and goes on with the release functions then.
 * The provider that folds a session's constants, one that is made for that alone, compiles and executes once for each.
 * Errors: when a function returns a status, what it filled is ignored; only kernels that Compile or LoadContext filled
 * in are released all the same. A failed GetCapability claims nothing of that graph; Execute may be tried again; after
 * any other failure come only releases. A provider that the user listed ends the session; one that nobody listed is
 * left out, and its nodes go to the next. A failed LoadContext ends the session with INVALID_GRAPH, so that the
 * application knows to compile again.
 * After DEVICE_RESET: release functions still work, everything else may go on failing. A new session can help.
 * Handles: a kernel, a state and a provider have one owner. What is given is in use nowhere else, so no handle is given
 * out again before it was released. [R605 R733]
 */
#ifndef EPIPHYTE_EP_PROVIDER_H_
#define EPIPHYTE_EP_PROVIDER_H_

#include "ep_host.h"

EP_EXTERN_C_BEGIN

typedef struct EpPlugin EpPlugin;     /* the plugin's state, from EpPluginDescriptor::Initialize */
typedef struct EpProvider EpProvider; /* from CreateProvider */
typedef struct EpKernel EpKernel;     /* from Compile or LoadContext */
typedef struct EpKernelState EpKernelState;
typedef struct EpShareGroup EpShareGroup; /* a workspace that sessions share; see ep_share.h */

/* What a session asks of a provider.
 *
 * Options are the plugin's own, but for one: `device`, in a manifest, a policy file or a session, is the host's for
 * every provider. It says which of the plugin's devices to use, as an index or several with commas between them, and
 * arrives as the field `devices`, checked, never among the options. For a key that it doesn't know, or a value that it
 * can't use, CreateProvider fails with INVALID_ARGUMENT [R404] and a message that says what it takes; that message is
 * what the user gets. A plugin that declares its options (ep_options.h) gets each of them, with values that fit.
 *
 * Valid during CreateProvider only, except `thread_pool` and `share_group`: as long as the provider. */
typedef struct EpProviderConfig {
  uint32_t struct_size;
  uint32_t option_count;
  const EpKeyValue* options; /* manifest defaults, overridden by policy, overridden by the session; keys are unique */
  EpThreadPool* thread_pool; /* of the session */
  EpShareGroup* share_group; /* null: nothing is shared. [R405 R904 R1011] */
  const uint32_t* devices; /* indices into the devices that GetDevices reported, each once; the first is the main one */
  uint32_t device_count;   /* at least 1 */
  uint32_t context_enabled; /* non-zero: GetEpContextNodes will be called after Compile */
  uint32_t thread_count;    /* how many threads the session wants. There can be fewer: see GetThreadCount */
  uint32_t reserved;
} EpProviderConfig;

/* One graph to turn into one kernel. Valid until Compile returns, [R606] but for the name: as long as the provider. */
typedef struct EpPartitionInfo {
  uint32_t struct_size;
  uint32_t index;       /* counted through all partitions of this provider, from 0 */
  const char* name;     /* unique in the model, the same for the same model and options */
  const EpGraph* graph; /* and so is the data of its constants: retain (EpTaskApi) or copy what a kernel reads */
} EpPartitionInfo;

/* EpKernelInfo::flags */
#define EP_KERNEL_EXCLUSIVE 1u /* the host lets one Execute of this provider in at a time: it needs no lock */
#define EP_KERNEL_ASYNC 2u /* Execute only submits to the run's stream, and the work is done later; see ep_device.h */

/* A set of memories that a kernel can use: this bit for host memory, bit i + 1 for memory i of its device. */
#define EP_MEMORIES_HOST 1u

/* What the host is to know of a kernel. Zero, but for struct_size, when DescribeKernel is called: one that executes
 * before Execute returns, all of its values in host memory. The arrays stay valid, and as they are, until the kernel is
 * released; [R1266] one that is null or shorter says nothing of the values that it doesn't cover, longer than there are
 * values none is. [R1263] Memories, ASYNC and aliases are for plugins with the extension of ep_device.h. [R1261] */
typedef struct EpKernelInfo {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t device; /* where the kernel runs: one of EpProviderConfig::devices [R1262] */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t reserved;
  const uint32_t* input_memories;  /* `input_count` sets: where the kernel can read that input. Only tensors of numbers
                                    * are anywhere but in host memory. 0: host memory. [R1264 R1267] */
  const uint32_t* output_memories; /* `output_count` sets: where the kernel can write that output. 0: host memory */
  const int32_t* output_aliases;   /* `output_count`: the input over which that output can be written, or -1. [R1265]
                                    * Where nobody else wants that input any more, EpDeviceRunApi::AllocateOutput may
                                    * give its memory [R1269] */
} EpKernelInfo;

typedef struct EpProviderApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* A missing or wrong option is the user's: INVALID_ARGUMENT. Success gives a provider. [R402 R403] */
  EpStatus*(EP_CALL* CreateProvider)(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider);
  /* After all kernels were released. Blobs and retained constants stay until it returns. */
  void(EP_CALL* DestroyProvider)(EpProvider* provider);

  /* Claims nodes of `graph`, which with its nodes is valid until the call returns. */
  EpStatus*(EP_CALL* GetCapability)(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink);

  /* Fills kernels[i] from partitions[i], `count` of each; kernels are null before. Whatever was filled is released by
   * the host, also after an error. A partition that can't be compiled after all may be declined through `task`. */
  EpStatus*(EP_CALL* Compile)(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                              EpTask* task, EpKernel** kernels); /* [R602 R603 R604] */

  /* Optional, with LoadContext. Called after Compile, which is left out when a session has nothing to compile. */
  EpStatus*(EP_CALL* GetEpContextNodes)(EpProvider* provider, EpContextSink* sink, EpTask* task); /* [R212 R214] */

  /* Optional, with GetEpContextNodes. Fills kernels[i] from nodes[i], as Compile does. [R814] Infos and nodes are valid
   * until the call returns, the blobs' bytes until DestroyProvider does. [R817] */
  EpStatus*(EP_CALL* LoadContext)(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                  const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task,
                                  EpKernel** kernels); /* [R815 R818] */

  void(EP_CALL* ReleaseKernel)(EpKernel* kernel);

  /* Optional pair: memory for one Execute at a time, which the host keeps and hands out again. Never null or shared. */
  EpStatus*(EP_CALL* CreateState)(EpKernel* kernel, EpKernelState** state); /* [R213 R732] */
  void(EP_CALL* ReleaseState)(EpKernel* kernel, EpKernelState* state);

  /* `state`: null without CreateState. Sets every output, [R703] with the kind, element type and static dims that the
   * graph declares; the host checks. [R706 R707 R708 R721] */
  EpStatus*(EP_CALL* Execute)(EpKernel* kernel, EpKernelState* state, EpRun* run); /* [R702 R719] */

  /* Optional. Says what the host is to know of a kernel; called once for each, after Compile or LoadContext. [R614] */
  EpStatus*(EP_CALL* DescribeKernel)(EpKernel* kernel, EpKernelInfo* info);
} EpProviderApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PROVIDER_H_ */
