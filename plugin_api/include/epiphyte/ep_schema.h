/* Schemas: a plugin declares its custom operators.
 *
 * ONNX defines the types of its own operators. The host knows nothing of other domains, so every value behind a node of
 * such a domain would have no type. A plugin with custom operators describes them here: the table below is the
 * extension "ep.schema/1" of EpPluginDescriptor::GetExtension. The host uses it to check nodes and to infer types and
 * shapes wherever it does so for ONNX's operators: when a model is read, after transforms, when functions are inlined.
 *
 * The plugin's functions call the host through the table EpInferenceApi. It is the extension of the same name of
 * EpHostInfo::GetExtension, and null on hosts that ask no plugin for types.
 *
 * Domains of ONNX ("", "ai.onnx", "ai.onnx.*") and the operator com.microsoft.EPContext can't be described. [R1605] If
 * two plugins describe one operator, the first in the session's order counts. A function of the model takes precedence
 * over all plugins.
 *
 * Example: y = acme.Count(x), an int64 tensor of x's shape
 *     static EpStatus* EP_CALL InferTypes(EpPlugin* plugin, const EpOperatorInfo* op, const EpNode* node,
 *                                         EpInference* inference) {
 *       EpNodeInfo info = {sizeof info};
 *       EpValueDefInfo x = {sizeof x};
 *       EpTypeInfo y;
 *       host->graph->GetNodeInfo(node, &info);
 *       host->graph->GetValueDefInfo(info.inputs[0], &x);
 *       if (x.type->kind != EP_KIND_TENSOR) return NULL;
 *       y = *x.type;
 *       y.struct_size = sizeof y;
 *       y.element_type = EP_TYPE_INT64;
 *       return inference_api->SetOutput(inference, 0, &y);
 *     }
 */
#ifndef EPIPHYTE_EP_SCHEMA_H_
#define EPIPHYTE_EP_SCHEMA_H_

#include "ep_plugin.h"

EP_EXTERN_C_BEGIN

#define EP_SCHEMA_EXTENSION "ep.schema/1"

/* EpOperatorInfo::max_inputs, max_outputs: no upper bound. */
#define EP_ANY_NUMBER 0xFFFFFFFFu

/* EpOperatorAttribute::flags */
#define EP_ATTRIBUTE_REQUIRED 1u

/* An attribute with a name [R1608] and a type that the host checks. Attributes that aren't listed are accepted
 * unchecked. */
typedef struct EpOperatorAttribute {
  uint32_t struct_size;
  uint32_t flags;
  const char* name;
  EpAttributeType type;
  uint32_t reserved;
} EpOperatorAttribute;

/* One operator, as defined since one version of its domain. [R1609] The struct lives as long as the plugin. [R1604] */
typedef struct EpOperatorInfo {
  uint32_t struct_size;
  uint32_t reserved;
  const char* domain;
  const char* name;
  int64_t since_version; /* at least 1 [R1606]; for models that import this version of the domain or a later one */
  uint32_t min_inputs;   /* counts up to the last input that isn't left out */
  uint32_t max_inputs;   /* not below min_inputs, nor max_outputs below min_outputs [R1607] */
  uint32_t min_outputs;
  uint32_t max_outputs;
  const EpOperatorAttribute* const* attributes;
  uint64_t attribute_count; /* at most 1024 */
} EpOperatorInfo;

/* Result of InferTypes so far. Valid in this call and on its thread only. [R1613] */
typedef struct EpInference EpInference;

/* The plugin's functions. [R1601] No exception leaves them. [R1602] */
typedef struct EpSchemaApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Fills operators[0..capacity) with pointers to infos and sets *count to the number of operators, 0 to 65536. [R1603]
   * The number may exceed capacity: the host then calls again with more room. The answer is the same each time. [R1610]
   * [any thread] */
  EpStatus*(EP_CALL* GetOperators)(EpPlugin* plugin, const EpOperatorInfo** operators, uint32_t capacity,
                                   uint32_t* count);

  /* Sets the types of the node's outputs as far as they are known. `op` is the info that GetOperators gave. The host
   * has checked the numbers of inputs and outputs, but not the types of inputs; an unknown type has kind UNKNOWN.
   * [R1611] The function may look only at the node, its attributes and its inputs, because the surrounding graph is
   * still incomplete. [R1614]
   *
   * A status INVALID_GRAPH means that the model is wrong. Reading the model then fails with the node's name and the
   * status's message. Any other status is reported and leaves the outputs without a type, as if none was set. The same
   * node gives the same answer each time, without a side effect. [R1615] [any thread, many at once] */
  EpStatus*(EP_CALL* InferTypes)(EpPlugin* plugin, const EpOperatorInfo* op, const EpNode* node,
                                 EpInference* inference);
} EpSchemaApi;

/* The host's functions for InferTypes. All: [the thread that runs InferTypes]. */
typedef struct EpInferenceApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Gives the elements of an integer input that are known before the run: a constant (also in
   * EpValueDefInfo::constant), or a result that the host computed from shapes (Shape, Gather, Concat …). The elements
   * are row-major; null with count 0 when they aren't known or are more than 1024. Valid until InferTypes returns. */
  EpStatus*(EP_CALL* GetInts)(EpInference* inference, uint64_t input, const int64_t** values, uint64_t* count);

  /* Sets the type of output `output`; `type` is copied. An invalid type gives INVALID_ARGUMENT and sets nothing: an
   * element type that ONNX doesn't have, a rank beyond 64, a dimension below -1, a missing nested type. [R1612] The
   * type of an omitted output may be set. A second call for one output replaces the first. */
  EpStatus*(EP_CALL* SetOutput)(EpInference* inference, uint64_t output, const EpTypeInfo* type);
} EpInferenceApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_SCHEMA_H_ */
