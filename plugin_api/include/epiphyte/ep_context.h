/* EP contexts: how what a provider compiled is saved and found again.
 *
 * After Compile, when the user wants a context model, the host asks GetEpContextNodes. For each partition it compiled,
 * the provider adds one node; [R803] the payload goes through a writer, so that the host decides where the bytes land
 * (in the model, in a file beside it, in an application's store). The bytes are the provider's own format. Several
 * nodes may share one payload: one of them is the primary (main_context 1), the others have main_context 0.
 *
 * Later the host finds EPContext nodes by their `source`, checks size and digest of each payload, maps it and calls
 * LoadContext. A provider sees only nodes whose source its plugin owns. Whoever wrote the file, its content is hostile:
 * a plugin checks every byte before it believes it. [R819 R820] What it writes depends on model and options. [R812]
 */
#ifndef EPIPHYTE_EP_CONTEXT_H_
#define EPIPHYTE_EP_CONTEXT_H_

#include "ep_graph.h"

EP_EXTERN_C_BEGIN

typedef struct EpContextSink EpContextSink;
typedef struct EpContextWriter EpContextWriter;

/* One EPContext node, as the provider describes it. Strings are copied; null means: leave the attribute out. */
typedef struct EpContextNodeDesc {
  uint32_t struct_size;
  uint32_t partition;       /* EpPartitionInfo::index [R805] */
  EpContextWriter* payload; /* main_context 1: a finished writer of this sink, or null if a later session of the share
                             * group writes it (ep_share.h); else null */
  const char* source;       /* one of the sources in the plugin's descriptor; [R806] null: the first */
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  /* Further string attributes of the node, `attribute_count` of them: names of letters, digits, '_', '.' and '-',
   * [R823] unique, and none that the EPContext operator has or that begins with "ep_". LoadContext gets them back. */
  const EpKeyValue* attributes;
  uint32_t attribute_count;
  uint32_t reserved;
  int64_t main_context; /* 1: this node carries a payload; 0: it finds its graph in the primary's [R811] */
  int64_t max_size;     /* of a buffer that the payload needs when it is loaded; 0: leave it out */
} EpContextNodeDesc;

/* How a context was made; see EpContextApi::GetSinkInfo. Valid until GetEpContextNodes returns. */
typedef struct EpContextSinkInfo {
  uint32_t struct_size;
  uint32_t embed;               /* non-zero: payloads go into the model, so keep them below 2 GiB */
  const char* node_name_prefix; /* of ep.context_node_name_prefix, "" if none; partition names have it already */
  /* By EpPartitionInfo::index, the key by which LoadContext will ask for the graph; null: declined by the provider */
  const char* const* partition_names; /* [R822] */
  uint64_t partition_count;
} EpContextSinkInfo;

/* One EPContext node, as LoadContext gets it. Strings are never null; "" where the node leaves the attribute out. */
typedef struct EpContextNodeInfo {
  uint32_t struct_size;
  int32_t
      blob; /* index into the blobs; main_context 0: its primary's, -1 if several fit: look in all by partition_name */
  const EpNode* node; /* inputs, outputs and any further attributes */
  const char* source;
  const char* partition_name; /* left out: the node's name; "" without either: the payload's only graph [R825] */
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  const char* onnx_model_filename; /* as other tools wrote it */
  const EpKeyValue* attributes;    /* EpContextNodeDesc::attributes, in the same order */
  uint32_t attribute_count;
  uint32_t reserved;
  int64_t main_context;
  int64_t max_size;
} EpContextNodeInfo;

/* A payload, mapped read-only by the host. [R816] It stays valid, at the same address, until the provider is destroyed;
 * in a share group until the last provider of the group is. */
typedef struct EpContextBlob {
  uint32_t struct_size;
  uint32_t reserved;
  const void* data; /* aligned to 64 bytes, and to the page when it is a file of its own; null when size is 0 */
  uint64_t size;
} EpContextBlob;

/* Verdict of CheckContext; the numbers are those of ONNX Runtime's OrtCompiledModelCompatibility. The host takes an
 * unknown one for NOT_APPLICABLE. [R832] */
typedef uint32_t EpContextVerdict;
#define EP_CONTEXT_NOT_APPLICABLE 0u /* not mine [R834] */
#define EP_CONTEXT_OPTIMAL 1u /* as what this plugin has just written is, or the next [R833] */
#define EP_CONTEXT_PREFER_RECOMPILATION 2u /* works, but compiling again would be better */
#define EP_CONTEXT_UNSUPPORTED 3u

/* What there is to know of a context before it is loaded, and where it is to run. Strings are never null. */
typedef struct EpContextHeader {
  uint32_t struct_size;
  uint32_t device_count;
  uint32_t option_count;
  uint32_t attribute_count;
  const char* source;
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  const char* compatibility_info; /* what SetCompatibilityInfo stored, "" if nothing */
  /* The devices and options of the session that asks, as in EpProviderConfig; without a session, those that one without
   * options of its own would have. When there are none, the verdict is for the best of the plugin's devices. */
  const uint32_t* devices;
  const EpKeyValue* options;
  const EpKeyValue* attributes; /* further attributes of the node */
  const void* blob;             /* may be null: metadata alone */
  uint64_t blob_size;
} EpContextHeader;

/* All functions: [the thread that runs GetEpContextNodes], until it returns. [R808 R809] */
typedef struct EpContextApi {
  uint32_t struct_size;
  uint32_t reserved;

  EpStatus*(EP_CALL* GetSinkInfo)(const EpContextSink* sink, EpContextSinkInfo* info);

  /* A payload is begun, written front to back, and ended. Writer and sink are good until GetEpContextNodes returns.
   * [R807] Nothing written is visible to anybody before the whole context model is published. A payload that a failed
   * Write left incomplete can't be ended. */
  EpStatus*(EP_CALL* BeginPayload)(EpContextSink* sink, EpContextWriter** writer);
  EpStatus*(EP_CALL* Write)(EpContextWriter* writer, const void* data, uint64_t size);
  EpStatus*(EP_CALL* EndPayload)(EpContextWriter* writer); /* [R804] */

  /* One for each partition that was compiled; [R802] the struct and what it points to are copied. */
  EpStatus*(EP_CALL* AddNode)(EpContextSink* sink, const EpContextNodeDesc* node); /* [R810] */

  /* Stored as metadata `ep_compatibility_info.<provider>` and given back to CheckContext. The last call counts. */
  EpStatus*(EP_CALL* SetCompatibilityInfo)(EpContextSink* sink, const char* info);
} EpContextApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_CONTEXT_H_ */
