/* EP contexts: saving a provider's compiled partitions and loading them again.
 *
 * After Compile, if the user wants a context model, the host calls GetEpContextNodes. For each compiled partition the
 * provider adds one node. [R803] The payload goes through a writer, so that the host decides where the bytes are stored
 * (in the model, in a file beside it, in an application's store). The bytes are the provider's own format. Several
 * nodes may share one payload: one of them is the primary (main_context 1), the others have main_context 0.
 *
 * Later the host finds EPContext nodes by their `source`, checks size and digest of each payload, maps it and calls
 * LoadContext. A provider sees only nodes with a source that its plugin owns. Treat the content as hostile, whatever
 * its origin: a plugin checks every byte before it uses it. [R819 R820] The bytes that a plugin writes depend on the
 * model and the options only. [R812]
 */
#ifndef EPIPHYTE_EP_CONTEXT_H_
#define EPIPHYTE_EP_CONTEXT_H_

#include "ep_graph.h"

EP_EXTERN_C_BEGIN

typedef struct EpContextSink EpContextSink;
typedef struct EpContextWriter EpContextWriter;

/* One EPContext node, described by the provider. Strings are copied; null omits the attribute. */
typedef struct EpContextNodeDesc {
  uint32_t struct_size;
  uint32_t partition; /* EpPartitionInfo::index [R805] */
  /* main_context 1: a finished writer of this sink, or null if a later session of the share group writes the payload
   * (ep_share.h). main_context 0: null. */
  EpContextWriter* payload;
  const char* source; /* one of the sources in the plugin's descriptor; null: the first [R806] */
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  /* Further string attributes of the node, `attribute_count` of them; LoadContext gets them back. Names consist of
   * letters, digits, '_', '.' and '-', are unique, don't begin with "ep_", and are not attributes of the EPContext
   * operator. [R823] */
  const EpKeyValue* attributes;
  uint32_t attribute_count;
  uint32_t reserved;
  int64_t main_context; /* 1: this node carries a payload; 0: its graph is in the primary's payload [R811] */
  int64_t max_size;     /* size of a buffer that loading the payload needs; 0 omits the attribute */
} EpContextNodeDesc;

/* Settings for the context to write; see EpContextApi::GetSinkInfo. Valid until GetEpContextNodes returns. */
typedef struct EpContextSinkInfo {
  uint32_t struct_size;
  uint32_t embed;               /* non-zero: payloads go into the model, so keep them below 2 GiB */
  const char* node_name_prefix; /* from ep.context_node_name_prefix, "" if none; partition names include it */
  /* Keys by which LoadContext asks for a graph, indexed by EpPartitionInfo::index; null: declined by the provider */
  const char* const* partition_names; /* [R822] */
  uint64_t partition_count;
} EpContextSinkInfo;

/* One EPContext node, for LoadContext. Strings are never null; "" where the node omits the attribute. */
typedef struct EpContextNodeInfo {
  uint32_t struct_size;
  /* Index into the blobs. With main_context 0: the primary's blob, or -1 if several fit: look in all of them for
   * partition_name. */
  int32_t blob;
  const EpNode* node; /* for inputs, outputs and any further attributes */
  const char* source;
  /* The node's attribute, or the node's name if the attribute is omitted. "" if the name is empty, too: the node then
   * stands for the payload's only graph. [R825] */
  const char* partition_name;
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  const char* onnx_model_filename; /* written by other tools */
  const EpKeyValue* attributes;    /* EpContextNodeDesc::attributes, in the same order */
  uint32_t attribute_count;
  uint32_t reserved;
  int64_t main_context;
  int64_t max_size;
} EpContextNodeInfo;

/* A payload, mapped read-only by the host. [R816] It stays valid, at the same address, until the provider is destroyed;
 * in a share group, until the group's last provider is destroyed. */
typedef struct EpContextBlob {
  uint32_t struct_size;
  uint32_t reserved;
  const void* data; /* aligned to 64 bytes, and to a page when the payload is a separate file; null when size is 0 */
  uint64_t size;
} EpContextBlob;

/* Verdict of CheckContext. The numbers are those of ONNX Runtime's OrtCompiledModelCompatibility. An unknown number
 * counts as NOT_APPLICABLE. [R832] */
typedef uint32_t EpContextVerdict;
#define EP_CONTEXT_NOT_APPLICABLE 0u /* not a context of this plugin [R834] */
#define EP_CONTEXT_OPTIMAL 1u        /* also for a context that this plugin has just written or writes next [R833] */
#define EP_CONTEXT_PREFER_RECOMPILATION 2u /* works, but compiling again would be better */
#define EP_CONTEXT_UNSUPPORTED 3u

/* Metadata of a context before it is loaded, and the devices it would run on. Strings are never null. */
typedef struct EpContextHeader {
  uint32_t struct_size;
  uint32_t device_count;
  uint32_t option_count;
  uint32_t attribute_count;
  const char* source;
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  const char* compatibility_info; /* the string that SetCompatibilityInfo stored, "" if none */
  /* Devices and options of the session that asks, as in EpProviderConfig. Without a session they are those of a session
   * without options. If there are no devices, the verdict is for the plugin's best device. */
  const uint32_t* devices;
  const EpKeyValue* options;
  const EpKeyValue* attributes; /* further attributes of the node */
  const void* blob;             /* the payload; null: judge by metadata alone */
  uint64_t blob_size;
} EpContextHeader;

/* All functions: [the thread that runs GetEpContextNodes], until it returns. [R808 R809] */
typedef struct EpContextApi {
  uint32_t struct_size;
  uint32_t reserved;

  EpStatus*(EP_CALL* GetSinkInfo)(const EpContextSink* sink, EpContextSinkInfo* info);

  /* Begin a payload, write it front to back, and end it. Writer and sink are valid until GetEpContextNodes returns.
   * [R807] Written bytes become visible only when the whole context model is published. After a failed Write the
   * payload is incomplete and can't be ended. */
  EpStatus*(EP_CALL* BeginPayload)(EpContextSink* sink, EpContextWriter** writer);
  EpStatus*(EP_CALL* Write)(EpContextWriter* writer, const void* data, uint64_t size);
  EpStatus*(EP_CALL* EndPayload)(EpContextWriter* writer); /* [R804] */

  /* Add one node for each compiled partition. [R802] The struct and all data that it points to are copied. */
  EpStatus*(EP_CALL* AddNode)(EpContextSink* sink, const EpContextNodeDesc* node); /* [R810] */

  /* Stores `info` as metadata `ep_compatibility_info.<provider>`; CheckContext gets it back. The last call counts. */
  EpStatus*(EP_CALL* SetCompatibilityInfo)(EpContextSink* sink, const char* info);
} EpContextApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_CONTEXT_H_ */
