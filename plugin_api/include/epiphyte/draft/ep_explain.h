/* Explain: what a provider would do with its nodes, for the placement report.
 *
 * A report of who gets which node (`epiphyte place`) shows what the provider that got it says of it: the kernel that
 * would run it, and why a faster one was refused. The table below is the extension EP_EXPLAIN_EXTENSION of
 * EpPluginDescriptor::GetExtension; a plugin without it says nothing. Sessions that run never ask.
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

/* Where Explain says what it has to say. Valid until Explain returns. [R1704] */
typedef struct EpNoteSink {
  uint32_t struct_size;
  uint32_t reserved;
  EpNotes* notes;

  /* A note on a node of one of the partitions; [R1703] up to 512 bytes of it are shown, a node has up to 8. `text` is
   * copied; [R508] what is said of other nodes is dropped. Never fails. [the thread that runs Explain] */
  void(EP_CALL* NoteNode)(EpNotes* notes, const EpNode* node, const char* text);
} EpNoteSink;

typedef struct EpExplainApi { /* exceptions stay inside [R1701 R1702] */
  uint32_t struct_size;
  uint32_t reserved;

  /* Notes on the nodes of partitions that the provider claimed, `count` of them, as Compile would get them. Nothing is
   * compiled, and nothing stays: [R1705] it is called after GetCapability and before all else, and what it says binds
   * nobody. An error is shown as a warning. [as the provider's other functions, one at a time] */
  EpStatus*(EP_CALL* Explain)(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                              const EpNoteSink* sink);
} EpExplainApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_DRAFT_EP_EXPLAIN_H_ */
