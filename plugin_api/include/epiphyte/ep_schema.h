/* Schemas: a plugin brings operators of its own.
 *
 * ONNX says what its operators take and give; of any other domain the host knows nothing, and everything behind such a
 * node would have no type. A plugin that brings operators describes them here: the table below is the extension
 * "ep.schema/1" of EpPluginDescriptor::GetExtension. The host checks nodes against it and infers types and shapes with it
 * wherever it does so for ONNX's operators: when a model is read, after transforms, when functions are inlined.
 *
 * What the plugin's functions use of the host in the meantime is the table EpInferenceApi: the extension of the same name
 * of EpHostInfo::GetExtension, null on hosts that ask no plugin for types.
 *
 * Domains of ONNX ("", "ai.onnx", "ai.onnx.*") and the operator com.microsoft.EPContext can't be described. [R1605] Of
 * two plugins that describe one operator the first in the session's order counts, and a function of the model goes
 * before all of them.
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

/* EpOperatorInfo::max_inputs, max_outputs: as many as the node has. */
#define EP_ANY_NUMBER 0xFFFFFFFFu

/* EpOperatorAttribute::flags */
#define EP_ATTRIBUTE_REQUIRED 1u

/* An attribute whose type the host checks, with a name. [R1608] Those that aren't listed are let through. */
typedef struct EpOperatorAttribute {
  uint32_t struct_size;
  uint32_t flags;
  const char* name;
  EpAttributeType type;
  uint32_t reserved;
} EpOperatorAttribute;

/* One operator, in the form it has since one version of its domain. [R1609] Lives as long as the plugin. [R1604] */
typedef struct EpOperatorInfo {
  uint32_t struct_size;
  uint32_t reserved;
  const char* domain;
  const char* name;
  int64_t since_version; /* 1 or more [R1606]: for models whose opset_import of the domain is that or later */
  uint32_t min_inputs;   /* counted up to the last one that isn't left out */
  uint32_t max_inputs;   /* not below min_inputs, nor max_outputs below min_outputs [R1607] */
  uint32_t min_outputs;
  uint32_t max_outputs;
  const EpOperatorAttribute* const* attributes;
  uint64_t attribute_count; /* at most 1024 */
} EpOperatorInfo;

/* What InferTypes has found so far; good in this call and on its thread. [R1613] */
typedef struct EpInference EpInference;

/* The plugin's side. [R1601] Exceptions stay inside. [R1602] */
typedef struct EpSchemaApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Fills operators[0..capacity) with pointers to infos and sets *count to how many there are, at most 65536, and
   * maybe more than capacity, or 0. [R1603] Called again with more room; the answer stays. [R1610] [any thread] */
  EpStatus*(EP_CALL* GetOperators)(EpPlugin* plugin, const EpOperatorInfo** operators, uint32_t capacity,
                                   uint32_t* count);

  /* Sets the types of the node's outputs as far as they are known. `op` is the info that GetOperators gave; numbers of
   * inputs and outputs are checked, types of inputs are not, and are UNKNOWN where nobody knows them. [R1611] Only the
   * node, its attributes and what it reads may be looked at: the graph around it is still being made. [R1614]
   *
   * A status INVALID_GRAPH says that the model is wrong; reading it ends with its message, behind the node's name. Any
   * other status is reported, and the outputs have no type then: the same as setting none. The same answer for the same
   * node each time; no side effect. [R1615] [any thread, many at once] */
  EpStatus*(EP_CALL* InferTypes)(EpPlugin* plugin, const EpOperatorInfo* op, const EpNode* node,
                                 EpInference* inference);
} EpSchemaApi;

/* The host's side. All: [the thread that runs InferTypes]. */
typedef struct EpInferenceApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* The elements of an integer input that are known before the run: those of a constant (EpValueDefInfo::constant has
   * them too), and what the host has worked out of shapes (Shape, Gather, Concat …). Row-major; null with count 0 when
   * they aren't known, or more than 1024. Valid until InferTypes returns. */
  EpStatus*(EP_CALL* GetInts)(EpInference* inference, uint64_t input, const int64_t** values, uint64_t* count);

  /* Output `output` is of `type`, which is copied. INVALID_ARGUMENT, and nothing set, for a type that none can be: an
   * element type that ONNX doesn't have, a rank beyond 64, a dimension below -1, a nested type that is missing. [R1612]
   * One that is left out may be set. A second call for one output replaces the first. */
  EpStatus*(EP_CALL* SetOutput)(EpInference* inference, uint64_t output, const EpTypeInfo* type);
} EpInferenceApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_SCHEMA_H_ */
