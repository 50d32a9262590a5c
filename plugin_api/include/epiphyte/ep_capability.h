/* Capability: how a provider says which nodes it can run.
 *
 * In GetCapability a provider walks the graph and reports into a sink. It need not think about grouping: from the
 * single nodes it supports, the host forms maximal convex groups. Each becomes a partition to compile, with any number
 * of inputs and outputs, also of nodes that aren't connected. A provider that must keep nodes together (a QDQ unit)
 * claims them as a group; the host merges groups and nodes into larger partitions, and never splits a group.
 *
 * Claims on nodes that are placed already, [R506] that are not of this graph, [R503] or that appear twice [R505] are
 * dropped and reported. So is a group that isn't convex, that is: where a path leaves it and comes back. [R507]
 *
 * All functions: [the thread that runs GetCapability]. [R509 R510] What they refuse as a whole (a null array, more
 * nodes than the graph has) gives INVALID_ARGUMENT and claims nothing. [R504]
 *
 * Example: a fused unit that must not grow
 *     EpClaim claim = {sizeof claim};
 *     claim.flags = EP_CLAIM_EXACT;
 *     claim.nodes = nodes;
 *     claim.node_count = 3;
 *     claim.name = "conv+bias+relu";
 *     EpStatus* status = host->capability->Claim(sink, &claim);
 */
#ifndef EPIPHYTE_EP_CAPABILITY_H_
#define EPIPHYTE_EP_CAPABILITY_H_

#include "ep_graph.h"

EP_EXTERN_C_BEGIN

typedef struct EpCapabilitySink EpCapabilitySink;

/* EpClaim::flags. Without any of them each node is claimed by itself, as SupportNodes does. */
#define EP_CLAIM_TOGETHER 1u /* only together: never split, but merged with what else is claimed */
#define EP_CLAIM_EXACT 2u    /* these and no others are one partition: neither split nor merged; means TOGETHER too */

typedef struct EpClaim {
  uint32_t struct_size;
  uint32_t flags;
  const EpNode* const* nodes;
  const char* name; /* for the placement report, of which it gets 128 bytes; may be null */
  uint64_t node_count;
  uint64_t memory_bytes; /* estimate of what it will take on the device, for the report; 0: not known */
} EpClaim;

/* SetGrouping */
#define EP_GROUPING_CONNECTED 1u /* never merge nodes of mine that no value connects */

typedef struct EpCapabilityApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* "I can run each of these, alone or fused with neighbours." [R502 R514] */
  EpStatus*(EP_CALL* SupportNodes)(EpCapabilitySink* sink, const EpNode* const* nodes, uint64_t count);

  /* The same with more to say. The struct, its array and its string are copied. */
  EpStatus*(EP_CALL* Claim)(EpCapabilitySink* sink, const EpClaim* claim);

  /* How the host is to group this answer's claims, before or after they are made. Units claimed TOGETHER or EXACT stay
   * as they are. 0 is the default: as few partitions as possible. */
  EpStatus*(EP_CALL* SetGrouping)(EpCapabilitySink* sink, uint32_t flags);

  /* "I can't run this one, because …" Optional; the placement report shows up to 512 bytes. `reason` is copied. */
  EpStatus*(EP_CALL* DeclineNode)(EpCapabilitySink* sink, const EpNode* node, const char* reason);
} EpCapabilityApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_CAPABILITY_H_ */
