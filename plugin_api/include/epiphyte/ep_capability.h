/* Capability: how a provider says which nodes it can run.
 *
 * In GetCapability a provider walks the graph and reports into a sink. It need not think about grouping: from the
 * single nodes it supports, the host forms maximal convex groups. Each becomes a partition to compile, with any number
 * of inputs and outputs, also of nodes that aren't connected. A provider that must keep nodes together (a QDQ unit)
 * claims them as a group; the host merges groups and nodes into larger partitions, and never splits a group.
 *
 * Claims on nodes that are placed already, that are not of this graph, or that appear twice are dropped and reported.
 * So is a group that isn't convex, that is: where a path leaves it and comes back.
 *
 * All functions: [the thread that runs GetCapability].
 */
#ifndef EPIPHYTE_EP_CAPABILITY_H_
#define EPIPHYTE_EP_CAPABILITY_H_

#include "ep_graph.h"

EP_EXTERN_C_BEGIN

typedef struct EpCapabilitySink EpCapabilitySink;

typedef struct EpCapabilityApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* "I can run each of these, alone or fused with neighbours." */
  EpStatus*(EP_CALL* SupportNodes)(EpCapabilitySink* sink, const EpNode* const* nodes, uint64_t count);

  /* "I can run these, and only together." `name` is for the placement report and may be null. */
  EpStatus*(EP_CALL* SupportGroup)(EpCapabilitySink* sink, const EpNode* const* nodes, uint64_t count,
                                   const char* name);

  /* "I can't run this one, because …" Optional; shown in the placement report. `reason` is copied. */
  EpStatus*(EP_CALL* DeclineNode)(EpCapabilitySink* sink, const EpNode* node, const char* reason);
} EpCapabilityApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_CAPABILITY_H_ */
