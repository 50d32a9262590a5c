/* Explain: a provider's notes on its nodes, for the placement report.
 *
 * The placement report (`epiphyte place`) shows the notes of each node's provider: the kernel that would run the node,
 * and why a faster kernel was refused. The table below is the extension EP_EXPLAIN_EXTENSION of
 * EpPluginDescriptor::GetExtension; a plugin without it has no notes. Sessions never call it.
 *
 * Example
 *     static EpStatus* EP_CALL Explain(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
 *                                      const EpNoteSink* sink) {
 *       EpGraphInfo graph = {sizeof graph};
 *       host->graph->GetGraphInfo(partitions[0]->graph, &graph);
 *       sink->NoteNode(sink->notes, graph.nodes[0], "matmul in tiles of 64x64");
 *       return NULL;
 *     }
 *     static const EpExplainApi explain_api = {sizeof explain_api, 0, Explain};
 */
#ifndef EPIPHYTE_DRAFT_EP_EXPLAIN_H_
#define EPIPHYTE_DRAFT_EP_EXPLAIN_H_

#include "../ep_plugin.h"

EP_EXTERN_C_BEGIN

#define EP_EXPLAIN_EXTENSION "ep.explain/draft1"

typedef struct EpNotes EpNotes;

/* Sink for the notes of Explain. Valid until Explain returns. [R1704] */
typedef struct EpNoteSink {
  uint32_t struct_size;
  uint32_t reserved;
  EpNotes* notes;

  /* Adds a note on a node of one of the partitions. [R1703] The report shows up to 512 bytes of a note and up to 8
   * notes of a node. `text` is copied. [R508] Notes on other nodes are dropped. Never fails.
   * [the thread that runs Explain] */
  void(EP_CALL* NoteNode)(EpNotes* notes, const EpNode* node, const char* text);
} EpNoteSink;

typedef struct EpExplainApi { /* no exception leaves its functions [R1701 R1702] */
  uint32_t struct_size;
  uint32_t reserved;

  /* Adds notes on the nodes of `count` partitions that the provider claimed, as Compile would get them. It compiles
   * nothing and leaves no trace in the provider. [R1705] It is called after GetCapability and before all other
   * functions, and its notes are not binding. An error is shown as a warning.
   * [as the provider's other functions, one at a time] */
  EpStatus*(EP_CALL* Explain)(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                              const EpNoteSink* sink);
} EpExplainApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_DRAFT_EP_EXPLAIN_H_ */
