/* Provider: the functions a vendor implements.
 *
 * A provider is one use of a plugin by one session. Its options are fixed, and it owns its kernels. The four main calls
 * are GetCapability, Compile, GetEpContextNodes and LoadContext. A table entry marked optional may be null. [R211 R209]
 *
 * Threads: the host calls a provider's functions one at a time, on any thread. Exceptions are Execute, CreateState and
 * DescribeKernel: they run on many threads at once, also on one kernel. States and kernels are released when no Execute
 * uses them. Providers of one plugin run side by side. [R406]
 *
 * Order: CreateProvider; GetCapability any number of times, with any graphs, without a lasting effect; LoadContext,
 * then Compile, each at most once; GetEpContextNodes at most once, after Compile; Execute …; ReleaseState,
 * ReleaseKernel, DestroyProvider. A session may be abandoned at any point; only release functions follow then.
 * Exception: a provider that the host creates only to fold a session's constants compiles and executes once for each
 * constant.
 *
 * Errors: when a function returns a status, the host ignores what it filled. Exception: kernels that Compile or
 * LoadContext filled in are released. A failed GetCapability claims nothing of that graph. A failed Execute may be
 * tried again. After any other failure only release functions are called. A failure of a provider that the user listed
 * ends the session. A failed provider that the user did not list is left out, and its nodes go to the next provider. A
 * failed LoadContext ends the session with INVALID_GRAPH, so that the application knows to compile again.
 *
 * After DEVICE_RESET: release functions still work; all other functions may keep failing. A new session can help.
 *
 * Handles: a kernel, a state and a provider have one owner. A plugin returns no handle again before the host has
 * released it. [R605 R733]
 */
#ifndef EPIPHYTE_EP_PROVIDER_H_
#define EPIPHYTE_EP_PROVIDER_H_

#include "ep_host.h"

EP_EXTERN_C_BEGIN

typedef struct EpPlugin EpPlugin;     /* the plugin's state, returned by EpPluginDescriptor::Initialize */
typedef struct EpProvider EpProvider; /* returned by CreateProvider */
typedef struct EpKernel EpKernel;     /* returned by Compile or LoadContext */
typedef struct EpKernelState EpKernelState;
typedef struct EpShareGroup EpShareGroup; /* a workspace that sessions share; see ep_share.h */

/* A session's settings for a provider.
 *
 * The plugin defines its options, with one exception: `device`, in a manifest, a policy file or a session, belongs to
 * the host for every provider. It selects devices of the plugin, as one index or several separated by commas. It
 * arrives checked, as the field `devices`, never among the options. For a key that it doesn't know, or a value that it
 * can't use, CreateProvider fails with INVALID_ARGUMENT. [R404] The message says what the option accepts, and the user
 * gets that message. A plugin that declares its options (ep_options.h) gets each of them, with valid values.
 *
 * The struct is valid during CreateProvider only. Exceptions: `thread_pool` and `share_group` live as long as the
 * provider. */
typedef struct EpProviderConfig {
  uint32_t struct_size;
  uint32_t option_count;
  const EpKeyValue* options; /* manifest defaults, overridden by policy, overridden by the session; keys are unique */
  EpThreadPool* thread_pool; /* the session's pool */
  EpShareGroup* share_group; /* null: the session shares nothing [R405 R904 R1011] */
  const uint32_t* devices; /* indices into the devices that GetDevices reported, each once; the first is the main one */
  uint32_t device_count;   /* at least 1 */
  uint32_t context_enabled; /* non-zero: GetEpContextNodes will be called after Compile */
  uint32_t thread_count;    /* number of threads that the session wants. The pool can have fewer: see GetThreadCount */
  uint32_t reserved;
} EpProviderConfig;

/* One graph to compile into one kernel. Valid until Compile returns; the name lives as long as the provider. [R606] */
typedef struct EpPartitionInfo {
  uint32_t struct_size;
  uint32_t index;       /* counts all partitions of this provider, from 0 */
  const char* name;     /* unique in the model, the same for the same model and options */
  const EpGraph* graph; /* constants live as long as the graph: retain (EpTaskApi) or copy those that a kernel reads */
} EpPartitionInfo;

/* EpKernelInfo::flags */
#define EP_KERNEL_EXCLUSIVE 1u /* the host runs one Execute of this provider at a time, so the kernel needs no lock */
#define EP_KERNEL_ASYNC 2u     /* Execute only submits to the run's stream; the work completes later (ep_device.h) */

/* A set of memories that a kernel can use: this bit is host memory, bit i + 1 is memory i of the kernel's device. */
#define EP_MEMORIES_HOST 1u

/* Description of a kernel for the host. All fields but struct_size are zero when DescribeKernel is called. Zero means
 * that the kernel finishes before Execute returns, with all of its values in host memory. The arrays stay valid and
 * unchanged until the kernel is released. [R1266] A null or short array says nothing of the values that it doesn't
 * cover. No array is longer than the number of values. [R1263] Memories, ASYNC and aliases require the extension of
 * ep_device.h. [R1261] */
typedef struct EpKernelInfo {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t device; /* the kernel's device: one of EpProviderConfig::devices [R1262] */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t reserved;
  /* `input_count` sets: the memories from which the kernel can read each input; 0 means host memory. Only numeric
   * tensors can be outside of host memory. [R1264 R1267] */
  const uint32_t* input_memories;
  /* `output_count` sets: the memories to which the kernel can write each output; 0 means host memory. */
  const uint32_t* output_memories;
  /* `output_count` entries: the input that each output may overwrite in place, or -1. [R1265] When that input has no
   * other reader left, EpDeviceRunApi::AllocateOutput may give its memory. [R1269] */
  const int32_t* output_aliases;
} EpKernelInfo;

typedef struct EpProviderApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* A missing or wrong option is the user's mistake and gives INVALID_ARGUMENT. Success gives a provider.
   * [R402 R403] */
  EpStatus*(EP_CALL* CreateProvider)(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider);
  /* Called after all kernels were released. Payloads and retained constants stay valid until it returns. */
  void(EP_CALL* DestroyProvider)(EpProvider* provider);

  /* Claims nodes of `graph`. The graph and its nodes are valid until the call returns. */
  EpStatus*(EP_CALL* GetCapability)(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink);

  /* Fills kernels[i] from partitions[i], `count` of each; kernels are null before. The host releases every kernel that
   * was filled, also after an error. A partition that turns out not to compile may be declined through `task`. */
  EpStatus*(EP_CALL* Compile)(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                              EpTask* task, EpKernel** kernels); /* [R602 R603 R604] */

  /* Optional; comes with LoadContext. Called after Compile; a session with nothing to compile skips Compile. */
  EpStatus*(EP_CALL* GetEpContextNodes)(EpProvider* provider, EpContextSink* sink, EpTask* task); /* [R212 R214] */

  /* Optional; comes with GetEpContextNodes. Fills kernels[i] from nodes[i], as Compile does. [R814] Infos and nodes are
   * valid until the call returns. The bytes of the blobs are valid until DestroyProvider returns. [R817] */
  EpStatus*(EP_CALL* LoadContext)(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                  const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task,
                                  EpKernel** kernels); /* [R815 R818] */

  void(EP_CALL* ReleaseKernel)(EpKernel* kernel);

  /* Optional pair: memory for one Execute at a time. The host keeps states and reuses them. A state is never null and
   * never shared. */
  EpStatus*(EP_CALL* CreateState)(EpKernel* kernel, EpKernelState** state); /* [R213 R732] */
  void(EP_CALL* ReleaseState)(EpKernel* kernel, EpKernelState* state);

  /* `state` is null without CreateState. Execute sets every output [R703] with the kind, element type and static dims
   * that the graph declares; the host checks them. [R706 R707 R708 R721] */
  EpStatus*(EP_CALL* Execute)(EpKernel* kernel, EpKernelState* state, EpRun* run); /* [R702 R719] */

  /* Optional. Describes a kernel to the host. Called once for each kernel, after Compile or LoadContext. [R614] */
  EpStatus*(EP_CALL* DescribeKernel)(EpKernel* kernel, EpKernelInfo* info);
} EpProviderApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PROVIDER_H_ */
