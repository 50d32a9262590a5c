/* EP contexts: how what a provider compiled is saved and found again.
 *
 * After Compile, when the user wants a context model, the host asks GetEpContextNodes. For each partition it compiled,
 * the provider adds one node; the payload goes through a writer, so that the host decides where the bytes land (in the
 * model, in a file beside it, in an application's store). The bytes are the provider's own format. Several nodes may
 * share one payload: one of them is the primary (main_context 1), the others have main_context 0.
 *
 * Later the host finds EPContext nodes by their `source`, checks size and digest of each payload, maps it and calls
 * LoadContext. A provider sees only nodes whose source its plugin owns.
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
  uint32_t partition;   /* index into the partitions of the Compile calls of this provider, counted through */
  int64_t main_context; /* 1: this node carries a payload; 0: it finds its graph in the primary's */
  EpContextWriter* payload; /* main_context 1: a finished writer of this sink, or null if a later session of the share
                             * group writes it (ep_share.h); else null */
  const char* source;   /* one of the sources in the plugin's descriptor; null: the first */
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  int64_t max_size;
} EpContextNodeDesc;

/* How a context was made; see EpContextSinkInfo. */
typedef struct EpContextSinkInfo {
  uint32_t struct_size;
  uint32_t embed; /* non-zero: payloads go into the model, so keep them below 2 GiB */
  const char* node_name_prefix; /* of ep.context_node_name_prefix, "" if none; partition names have it already */
  uint64_t partition_count;
  const char* const* partition_names; /* the key by which LoadContext will ask for the graph */
} EpContextSinkInfo;

/* One EPContext node, as LoadContext gets it. Strings are never null. */
typedef struct EpContextNodeInfo {
  uint32_t struct_size;
  int32_t blob; /* index into the blobs; main_context 0: its primary's, -1 if several fit: look in all by partition_name */
  int64_t main_context;
  const EpNode* node; /* inputs, outputs and any further attributes */
  const char* source;
  const char* partition_name; /* where the node leaves it out: its name; "" without either: the payload's only graph */
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  const char* onnx_model_filename;
  int64_t max_size;
} EpContextNodeInfo;

/* A payload, mapped read-only by the host. It stays valid until every kernel made from it is released. */
typedef struct EpContextBlob {
  uint32_t struct_size;
  uint32_t reserved;
  const void* data; /* aligned to at least 64 bytes unless embedded */
  uint64_t size;
} EpContextBlob;

/* Verdict of CheckContext; the numbers are those of ONNX Runtime's OrtCompiledModelCompatibility. */
typedef uint32_t EpContextVerdict;
#define EP_CONTEXT_NOT_APPLICABLE 0u /* not mine */
#define EP_CONTEXT_OPTIMAL 1u
#define EP_CONTEXT_PREFER_RECOMPILATION 2u /* works, but compiling again would be better */
#define EP_CONTEXT_UNSUPPORTED 3u

/* What there is to know of a context before it is loaded. */
typedef struct EpContextHeader {
  uint32_t struct_size;
  uint32_t reserved;
  const char* source;
  const char* ep_sdk_version;
  const char* hardware_architecture;
  const char* notes;
  const char* compatibility_info; /* what SetCompatibilityInfo stored, "" if nothing */
  const void* blob;               /* may be null: metadata alone */
  uint64_t blob_size;
} EpContextHeader;

typedef struct EpContextApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* [the thread that runs GetEpContextNodes], as all of these */
  EpStatus*(EP_CALL* GetSinkInfo)(const EpContextSink* sink, EpContextSinkInfo* info);

  /* A payload is begun, written front to back, and ended. Writer and sink are good until GetEpContextNodes returns.
   * Nothing written is visible to anybody before the whole context model is published. */
  EpStatus*(EP_CALL* BeginPayload)(EpContextSink* sink, EpContextWriter** writer);
  EpStatus*(EP_CALL* Write)(EpContextWriter* writer, const void* data, uint64_t size);
  EpStatus*(EP_CALL* EndPayload)(EpContextWriter* writer);

  EpStatus*(EP_CALL* AddNode)(EpContextSink* sink, const EpContextNodeDesc* node);

  /* Stored as metadata `ep_compatibility_info.<provider>` and given back to CheckContext. */
  EpStatus*(EP_CALL* SetCompatibilityInfo)(EpContextSink* sink, const char* info);
} EpContextApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_CONTEXT_H_ */
