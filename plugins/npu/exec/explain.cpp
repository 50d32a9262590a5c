#include "plugins/npu/exec/explain.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/exec/claims.h"
#include "plugins/npu/exec/partition.h"
#include "plugins/npu/graph/lower.h"

namespace epiphyte::npu {
namespace {

std::string OperatorsOf(const SdkContext& context, const ir::Editor& editor, const Meanings& meanings,
                        const QuantizedOp& work) {
  FlatGraph graph("explanation");
  Lowering lowering(editor, meanings, context.target(), ConstantData::kLeftOut, graph);
  lowering.Add(work);
  std::string text;
  for (uint32_t op = 0; op < graph.op_count(); ++op)
    text += (op == 0 ? "" : ", ") + std::string(NameOf(graph.KindOf(op)));
  if (work.unit.clamp >= 0 && !work.unit.range.IsIdle(work.outputs[0].quantization->type))
    text += kit::TextOf(", kept within ", work.unit.range.low, " and ", work.unit.range.high);
  return text + " on " + context.target().architecture;
}

}  // namespace

std::vector<std::string> ExplainNodes(const SdkContext& context, ir::Graph& graph) {
  const ir::Editor editor(graph);
  const Meanings meanings(editor);
  std::vector<std::string> notes(graph.nodes.size());
  for (const QuantizedOp& work : OpsOfPartition(editor, meanings)) {
    const ir::Node& target = editor.node(work.node);
    for (const int32_t node : work.nodes) {
      std::string& note = notes[static_cast<size_t>(node)];
      if (node == work.node) {
        note = OperatorsOf(context, editor, meanings, work);
      } else if (note.empty()) {
        note = "part of " + qdq::NodeText(graph, target);
      }
    }
    for (const int32_t node : work.unit.shared) {
      std::string& note = notes[static_cast<size_t>(node)];
      if (note.empty()) note = "part of " + qdq::NodeText(graph, target);
    }
  }
  return notes;
}

}  // namespace epiphyte::npu
