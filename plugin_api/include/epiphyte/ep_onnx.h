/* ONNX: a graph as the bytes of an ONNX model, for plugins with an SDK that reads ONNX.
 *
 * A partition, or any other graph that a plugin gets, becomes a complete model. Inputs, outputs and values keep their
 * names, order and types; constants become initializers. The table below is the extension "ep.onnx/1" of
 * EpHostInfo::GetExtension, null on hosts that don't write ONNX.
 *
 * Weights are stored in the model or in external data: a second stream of bytes under a name of the plugin's choice. A
 * plugin that gives the SDK its weights in another way reads them from the graph (EpValueDefInfo::constant, same name)
 * and omits the stream. A model with its weights inside is limited to protobuf's 2 GiB.
 *
 * Nodes of other domains stay unchanged. So do calls of functions, without their bodies. A graph that reads values of
 * an enclosing graph can't be a model and gives INVALID_ARGUMENT; partitions never read such values.
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

/* Receives the next `size` bytes, front to back. The bytes are read-only and valid in the call only. [R1404] A status
 * ends the writing; no exception leaves the callback. [R1403] It runs on the thread of WriteGraph. */
typedef EpStatus*(EP_CALL* EpOnnxWrite)(void* user, const void* data, uint64_t size);

typedef struct EpOnnxOptions {
  uint32_t struct_size;
  uint32_t reserved;
  EpOnnxWrite write_model; /* not null [R1401] */
  /* With weights_location: receives the bytes of the external data. Null: these bytes are not produced. */
  EpOnnxWrite write_weights;
  void* user; /* passed to both callbacks */
  /* Name of the external data in the model: a file name without a folder, at most 255 bytes in one line. [R1402] Null:
   * weights are stored in the model. Each weight begins at a multiple of 64 bytes; weights from 1 MiB on at a multiple
   * of 4096. */
  const char* weights_location;
  /* With weights_location: weights of fewer bytes are stored in the model. */
  uint64_t weights_threshold;
} EpOnnxOptions;

typedef struct EpOnnxApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Writes `graph`, which must still be valid. [R513 R606] The same graph gives the same bytes. INVALID_ARGUMENT for a
   * graph that reads an enclosing graph, for a model beyond 2 GiB, and for invalid options. A callback's status is
   * returned with its code. [any thread] */
  EpStatus*(EP_CALL* WriteGraph)(const EpGraph* graph, const EpOnnxOptions* options);
} EpOnnxApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_ONNX_H_ */
