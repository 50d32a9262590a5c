/* Graph view: how a plugin reads a model.
 *
 * The host owns graphs, nodes, value definitions and attributes. A plugin gets opaque handles. A single call gives all
 * information about one handle. All pointers in a filled struct stay valid, and all answers stay the same, for as long
 * as the graph does: for the graph given to GetCapability until that call returns, for a partition's graph until
 * Compile returns, for a node given to LoadContext until that call returns. Walking a graph allocates nothing.
 *
 * All functions: [any thread], and they never block. A handle is invalid after its graph. [R513]
 *
 * Example: walk the nodes in execution order
 *     EpGraphInfo graph_info = {sizeof graph_info};
 *     host->graph->GetGraphInfo(graph, &graph_info);
 *     for (uint64_t i = 0; i < graph_info.node_count; ++i) {
 *       EpNodeInfo node = {sizeof node};
 *       host->graph->GetNodeInfo(graph_info.nodes[i], &node);
 *     }
 *
 * The graph you are given
 *   - Opsets. EpGraphInfo gives the opset of each domain that the model imports. EpNodeInfo::since_version gives the
 *     version of the operator in that opset: implement versions, not opsets. Models of older opsets are not converted.
 *   - Transforms. Before it asks providers, the host applies the rewrites that help every provider, as far as the
 *     session's epiphyte.graph_optimization_level allows. It folds constants and computes shapes. It removes no-ops,
 *     dead nodes and duplicate nodes. It shortens chains of casts, transposes and reshapes. It does not fuse operators
 *     and merges nothing that belongs to a QDQ unit: fusing is left to the provider. A node of the model may therefore
 *     be gone; the placement report says what replaced it. Level 0 rewrites nothing.
 *   - Functions are the model's own functions and operators that ONNX defines as functions. A function stays one node
 *     where a provider claims it. A function that no provider claims is replaced by its body, and GetCapability is
 *     called again.
 *   - Constants are value definitions with the flag CONSTANT and without a producer. Constant nodes appear at level 0
 *     only. A constant belongs to the partition that uses it: Execute gets only the run-time inputs,
 *     EpGraphInfo::inputs.
 *   - Dynamic dimensions are -1, with a symbol in dim_names where the model has one. A rank may be unknown (-1), and so
 *     may a type (kind UNKNOWN). Values that Execute gets have all dimensions, and these match the static dimensions
 *     here.
 *   - Nested graphs. If, Loop and Scan have their bodies in EpNodeInfo::subgraphs. GetCapability is called for the
 *     outer graph first, then for the bodies of nodes that no provider claimed. A provider that claims such a node also
 *     gets its bodies. Values of enclosing graphs that a body reads have the flag OUTER_SCOPE, and the node lists them
 *     in implicit_inputs.
 *   - GetCapability may be called any number of times, for any of the graphs and in any order. Graphs may differ
 *     between calls by changes of the host or of other providers. An answer applies to that call's graph alone and must
 *     leave no trace in the provider. [R511]
 *   - Nodes that another provider has carry EP_NODE_PLACED. Claims on placed nodes are dropped. Groups that can't be
 *     one kernel are dropped too; their nodes go to the next provider, and the placement report says why.
 *   - The graph of a partition holds copies: handles of GetCapability's graph are invalid there. Inputs and outputs of
 *     a partition's graph are those of the kernel, in order. Names of values and nodes are kept.
 */
#ifndef EPIPHYTE_EP_GRAPH_H_
#define EPIPHYTE_EP_GRAPH_H_

#include "ep_status.h"
#include "ep_value.h"

EP_EXTERN_C_BEGIN

typedef struct EpGraph EpGraph;
typedef struct EpNode EpNode;
typedef struct EpValueDef EpValueDef;
typedef struct EpAttribute EpAttribute;

typedef struct EpGraphInfo {
  uint32_t struct_size;
  uint32_t opset_count;
  const char* name;
  const EpNode* parent;               /* the node that has this graph as a body; null at top level */
  const EpNode* const* nodes;         /* in topological order */
  const EpValueDef* const* inputs;    /* run-time inputs, in the order in which Execute gets them */
  const EpValueDef* const* outputs;   /* in the order in which Execute returns them */
  const EpValueDef* const* constants; /* value definitions that hold constant data */
  const char* const* opset_domains;   /* `opset_count` entries; "" is ai.onnx */
  const int64_t* opset_versions;
  uint64_t node_count;
  uint64_t input_count;
  uint64_t output_count;
  uint64_t constant_count;
} EpGraphInfo;

/* EpNodeInfo::flags */
#define EP_NODE_PLACED 1u /* a provider of higher priority has the node; it can't be claimed */

typedef struct EpNodeInfo {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t id;      /* unique in its graph */
  const char* name; /* may be empty, is not necessarily unique */
  const char* op_type;
  const char* domain;              /* "" is ai.onnx */
  int64_t since_version;           /* version of the operator's schema in the model's opset */
  const EpValueDef* const* inputs; /* null entry: optional input left out */
  uint64_t input_count;
  const EpValueDef* const* outputs; /* null entry: optional output left out */
  uint64_t output_count;
  const EpValueDef* const* implicit_inputs; /* values of outer graphs that this node's bodies read */
  uint64_t implicit_input_count;
  const EpAttribute* const* attributes; /* as in the model; schema defaults are not filled in */
  uint64_t attribute_count;
  const EpGraph* const* subgraphs;
  uint64_t subgraph_count;
} EpNodeInfo;

/* EpValueDefInfo::flags */
#define EP_VALUE_GRAPH_INPUT 1u
#define EP_VALUE_GRAPH_OUTPUT 2u
#define EP_VALUE_CONSTANT 4u
#define EP_VALUE_OUTER_SCOPE 8u /* defined in an enclosing graph */

typedef struct EpValueDefInfo {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t id; /* unique in its graph; small, so that it can index an array that grows */
  const char* name;
  const EpTypeInfo* type;       /* never null; kind UNKNOWN where inference found nothing */
  const EpTensorView* constant; /* data, read-only [R609]; null without the flag CONSTANT */
  const EpNode* producer;       /* null for inputs and constants */
  uint64_t producer_output;
  const EpNode* const* consumers; /* one entry for each use, so a node may appear twice */
  uint64_t consumer_count;
} EpValueDefInfo;

/* Numbers of ONNX's AttributeProto.AttributeType. EpAttributeInfo has no field for an unknown type: decline the
 * node. */
typedef int32_t EpAttributeType;
#define EP_ATTRIBUTE_FLOAT 1
#define EP_ATTRIBUTE_INT 2
#define EP_ATTRIBUTE_STRING 3
#define EP_ATTRIBUTE_TENSOR 4
#define EP_ATTRIBUTE_GRAPH 5
#define EP_ATTRIBUTE_FLOATS 6
#define EP_ATTRIBUTE_INTS 7
#define EP_ATTRIBUTE_STRINGS 8
#define EP_ATTRIBUTE_TENSORS 9
#define EP_ATTRIBUTE_GRAPHS 10
#define EP_ATTRIBUTE_SPARSE_TENSOR 11
#define EP_ATTRIBUTE_SPARSE_TENSORS 12
#define EP_ATTRIBUTE_TYPE_PROTO 13
#define EP_ATTRIBUTE_TYPE_PROTOS 14

/* Only the fields for `type` are meaningful. A single value is an array with count 1. */
typedef struct EpAttributeInfo {
  uint32_t struct_size;
  EpAttributeType type;
  const char* name;
  uint64_t count;
  const float* floats;
  const int64_t* ints;
  const EpString* strings;
  const EpTensorView* const* tensors; /* a model's sparse tensors arrive dense, as TENSOR or TENSORS */
  const EpGraph* const* graphs;
  const EpTypeInfo* const* types;
} EpAttributeInfo;

typedef struct EpGraphApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Each fills `info`. The caller sets its struct_size to the room there is (see ep_abi.h). A null argument gives
   * INVALID_ARGUMENT. */
  EpStatus*(EP_CALL* GetGraphInfo)(const EpGraph* graph, EpGraphInfo* info);
  EpStatus*(EP_CALL* GetNodeInfo)(const EpNode* node, EpNodeInfo* info);
  EpStatus*(EP_CALL* GetValueDefInfo)(const EpValueDef* value, EpValueDefInfo* info);
  EpStatus*(EP_CALL* GetAttributeInfo)(const EpAttribute* attribute, EpAttributeInfo* info);

  /* Returns the attribute of that name, or null. */
  const EpAttribute*(EP_CALL* FindAttribute)(const EpNode* node, const char* name);
} EpGraphApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_GRAPH_H_ */
