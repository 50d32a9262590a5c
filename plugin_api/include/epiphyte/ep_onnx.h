/* ONNX: a graph as the bytes of an ONNX model, for plugins whose SDK reads ONNX by itself.
 *
 * A partition, or any graph that a plugin is shown, becomes a model of its own: inputs, outputs and values keep their
 * names, order and types, constants become initializers. The table below is the extension "ep.onnx/1" of
 * EpHostInfo::GetExtension, null on hosts that don't write ONNX.
 *
 * Weights go inside, or into external data: a second stream of bytes, which the model calls by a name of the plugin's
 * choice. Who hands the weights to the SDK by another way takes them from the graph (EpValueDefInfo::constant, under the
 * same name) and leaves the stream out. A model with its weights inside ends at protobuf's 2 GiB.
 *
 * What is no operator of ONNX stays as it is: nodes of other domains, and calls of functions, without their bodies. A
 * graph that reads values of an enclosing one is none by itself and gives INVALID_ARGUMENT; partitions never do.
 *
 * Example
 *     static EpStatus* EP_CALL Append(void* user, const void* data, uint64_t size) {
 *       return AppendTo((Buffer*)user, data, size) ? NULL : host->status->Create(EP_STATUS_OUT_OF_MEMORY, "…");
 *     }
 *     …
 *     const EpOnnxApi* onnx = (const EpOnnxApi*)host->GetExtension(host, EP_ONNX_EXTENSION);
 *     EpOnnxOptions options = {sizeof options};
 *     options.write_model = Append;
 *     options.user = &model;
 *     EpStatus* status = onnx->WriteGraph(partitions[i]->graph, &options);
 */
#ifndef EPIPHYTE_EP_ONNX_H_
#define EPIPHYTE_EP_ONNX_H_

#include "ep_graph.h"

EP_EXTERN_C_BEGIN

#define EP_ONNX_EXTENSION "ep.onnx/1"

/* Takes the next `size` bytes, front to back; they are only read, and valid in the call only. [R1404] A status ends the
 * writing, an exception never gets out. [R1403] Runs on the thread of WriteGraph. */
typedef EpStatus*(EP_CALL* EpOnnxWrite)(void* user, const void* data, uint64_t size);

typedef struct EpOnnxOptions {
  uint32_t struct_size;
  uint32_t reserved;
  EpOnnxWrite write_model; /* not null [R1401] */
  /* With weights_location: the bytes of the external data; null: they are not asked for. */
  EpOnnxWrite write_weights;
  void* user; /* given to both */
  /* Null: weights are inside. Else what the model calls its external data, a file's name without a folder, at most 255
   * bytes of one line; [R1402] each begins at a multiple of 64 bytes, from 1 MiB on of 4096. */
  const char* weights_location;
  /* With weights_location: smaller ones stay inside. */
  uint64_t weights_threshold;
} EpOnnxOptions;

typedef struct EpOnnxApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Writes `graph`, as long as it is valid. [R513 R606] The same graph gives the same bytes. INVALID_ARGUMENT: a graph
   * that is none by itself, a model beyond 2 GiB, options that can't be. The status of a callback comes back with its
   * code. [any thread] */
  EpStatus*(EP_CALL* WriteGraph)(const EpGraph* graph, const EpOnnxOptions* options);
} EpOnnxApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_ONNX_H_ */
