/* Capability: how a provider says which nodes it can run.
 *
 * In GetCapability a provider walks the graph and reports into a sink. It need not group nodes: the host forms maximal
 * convex groups from the single nodes that the provider supports. Each group becomes a partition to compile. A
 * partition has any number of inputs and outputs, and its nodes need not be connected. A provider that must keep nodes
 * together (a QDQ unit) claims them as a group; the host merges groups and nodes into larger partitions, and never
 * splits a group.
 *
 * Claims on nodes that are placed already [R506], that are not of this graph [R503] or that appear twice [R505] are
 * dropped and reported. A group that isn't convex is dropped too: a path leaves the group and comes back to it. [R507]
 *
 * All functions: [the thread that runs GetCapability]. [R509 R510] An invalid call (a null array, more nodes than the
 * graph has) gives INVALID_ARGUMENT and claims nothing. [R504]
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

/* EpClaim::flags. Without a flag each node is claimed by itself, as by SupportNodes. */
#define EP_CLAIM_TOGETHER 1u /* one unit: never split, but merged with other claims */
#define EP_CLAIM_EXACT 2u    /* exactly these nodes are one partition: neither split nor merged; implies TOGETHER */

typedef struct EpClaim {
  uint32_t struct_size;
  uint32_t flags;
  const EpNode* const* nodes;
  const char* name; /* for the placement report, which shows 128 bytes of it; may be null */
  uint64_t node_count;
  uint64_t memory_bytes; /* estimated device memory, for the report; 0: not known */
} EpClaim;

/* SetGrouping */
#define EP_GROUPING_CONNECTED 1u /* never merge nodes that no value connects */

typedef struct EpCapabilityApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Claims nodes that the provider can run, each alone or fused with its neighbours. [R502 R514] */
  EpStatus*(EP_CALL* SupportNodes)(EpCapabilitySink* sink, const EpNode* const* nodes, uint64_t count);

  /* Claims nodes with flags, a name and a memory estimate. The struct, its array and its string are copied. */
  EpStatus*(EP_CALL* Claim)(EpCapabilitySink* sink, const EpClaim* claim);

  /* Sets how the host groups the claims of this GetCapability call; may come before or after the claims. Units claimed
   * TOGETHER or EXACT are not affected. 0 is the default: as few partitions as possible. */
  EpStatus*(EP_CALL* SetGrouping)(EpCapabilitySink* sink, uint32_t flags);

  /* Optional. Says why the provider can't run a node. The placement report shows up to 512 bytes of `reason`, which is
   * copied. */
  EpStatus*(EP_CALL* DeclineNode)(EpCapabilitySink* sink, const EpNode* node, const char* reason);
} EpCapabilityApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_CAPABILITY_H_ */
