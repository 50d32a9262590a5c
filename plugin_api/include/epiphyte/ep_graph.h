/* Graph view: how a plugin reads a model.
 *
 * The host owns graphs, nodes, value definitions and attributes. A plugin gets opaque handles and asks for everything
 * about one of them in a single call. All pointers in a filled struct stay valid, and all answers stay the same, for
 * as long as the graph does: for the graph given to GetCapability until that call returns, for a partition's graph
 * until Compile returns, for a node given to LoadContext until that call returns. Walking a graph allocates nothing.
 *
 * All functions: [any thread], never block. A handle is of no use after its graph. [R513]
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
 *   - Opsets. EpGraphInfo says which opset of each domain the model imports, and EpNodeInfo::since_version which
 *     version of the operator that means: implement versions, not opsets. Models of older opsets are not converted.
 *   - Transforms. Before it asks, the host rewrites what helps every provider, as far as the session's
 *     epiphyte.graph_optimization_level says: constants are folded, shapes computed, nodes removed that do nothing,
 *     that nobody needs or that are there twice, chains of casts, transposes and reshapes shortened. It makes no
 *     operator out of others, and merges nothing that belongs to a QDQ unit: fusing is yours. A node of the model may
 *     be gone all the same, and the placement report says into what. Level 0 rewrites nothing.
 *   - Functions, the model's own and operators that ONNX defines by others, stay one node where a provider claims it
 *     as it is; what nobody claims is replaced by its body, and you are asked again.
 *   - Constants are value definitions with the flag CONSTANT and have no producer; a Constant node is seen at level 0
 *     only. A constant belongs to the partition that uses it: Execute gets run-time inputs only, EpGraphInfo::inputs.
 *   - Dynamic dimensions are -1, with a symbol in dim_names where the model has one; a rank may be unknown (-1), and
 *     so may be a type (kind UNKNOWN). What Execute gets has all its dimensions and agrees with what is static here.
 *   - Nested graphs. If, Loop and Scan have their bodies in EpNodeInfo::subgraphs. GetCapability is called for the
 *     outer graph first, then for the bodies of nodes that nobody took; claim such a node to take its bodies with it.
 *     A body reads values of enclosing graphs: those have the flag OUTER_SCOPE, and the node names them as
 *     implicit_inputs.
 *   - Questions may come any number of times, for any of the graphs and in any order, also for graphs that differ by
 *     what the host or other providers did in between: an answer is about that call's graph alone, and must leave no
 *     trace in the provider. [R511]
 *   - Nodes that another provider has carry EP_NODE_PLACED. Claims on those are dropped, and so are groups that can't
 *     be one kernel: their nodes go to the next provider, and the placement report says why.
 *   - The graph of a partition holds copies: handles of GetCapability's graph mean nothing there. Its inputs and
 *     outputs are those of the kernel, in order; the names of values and nodes are kept.
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
  const EpNode* parent;               /* the node whose body this graph is, null at top level */
  const EpNode* const* nodes;         /* in an order in which they can run */
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
#define EP_NODE_PLACED 1u /* a provider of higher priority has it; it can't be claimed */

typedef struct EpNodeInfo {
  uint32_t struct_size;
  uint32_t flags;
  uint64_t id;      /* unique in its graph */
  const char* name; /* may be empty, is not necessarily unique */
  const char* op_type;
  const char* domain;              /* "" is ai.onnx */
  int64_t since_version;           /* of the operator's schema in the model's opset */
  const EpValueDef* const* inputs; /* null entry: optional input left out */
  uint64_t input_count;
  const EpValueDef* const* outputs; /* null entry: optional output left out */
  uint64_t output_count;
  const EpValueDef* const* implicit_inputs; /* values of outer graphs which this node's bodies read */
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
  const EpTensorView* constant; /* its data when flag CONSTANT is set, else null; read-only [R609] */
  const EpNode* producer;       /* null for inputs and constants */
  uint64_t producer_output;
  const EpNode* const* consumers; /* one entry a use, so a node may appear twice */
  uint64_t consumer_count;
} EpValueDefInfo;

/* Numbers of ONNX's AttributeProto.AttributeType. An unknown one has no field here: decline the node. */
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

/* Exactly the fields of `type` are meaningful. Single values are also reachable as an array with count 1. */
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

  /* Each fills `info`, whose struct_size the caller sets to the room there is (see ep_abi.h). A null argument gives
   * INVALID_ARGUMENT. */
  EpStatus*(EP_CALL* GetGraphInfo)(const EpGraph* graph, EpGraphInfo* info);
  EpStatus*(EP_CALL* GetNodeInfo)(const EpNode* node, EpNodeInfo* info);
  EpStatus*(EP_CALL* GetValueDefInfo)(const EpValueDef* value, EpValueDefInfo* info);
  EpStatus*(EP_CALL* GetAttributeInfo)(const EpAttribute* attribute, EpAttributeInfo* info);

  /* The attribute of that name, or null. */
  const EpAttribute*(EP_CALL* FindAttribute)(const EpNode* node, const char* name);
} EpGraphApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_GRAPH_H_ */
