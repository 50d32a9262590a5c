// The part of a detector behind its backbone: it selects candidates, decodes boxes against anchors, runs
// NonMaxSuppression, and keeps the best detections. The number of detections is known only at run time.

#include "tests/models/architectures.h"
#include "tests/models/builder.h"

namespace epiphyte::test {
namespace {

constexpr int64_t kAnchors = 512;
constexpr int64_t kClasses = 4;
// The number of candidates is small and they are selected by the raw logits. Among many, scores could differ by
// rounding only, and the order would depend on how a provider computes Sigmoid.
constexpr int64_t kCandidates = 64;

// Returns corners of shape [1, kCandidates, 4] for centre-size offsets relative to the anchors.
std::string DecodeBoxes(GraphBuilder& graph, const std::string& offsets, const std::string& anchors) {
  const std::vector<int64_t> half = {2, 2};
  const std::string split = graph.IntsConstant(half);
  const std::vector<std::string> offset = graph.NodeWithOutputs("Split", {offsets, split}, 2, {{"axis", 2}});
  const std::vector<std::string> anchor = graph.NodeWithOutputs("Split", {anchors, split}, 2, {{"axis", 2}});
  const std::string shift = graph.Node("Mul", {graph.Node("Mul", {offset[0], graph.FloatConstant(0.1f)}), anchor[1]});
  const std::string centre = graph.Node("Add", {anchor[0], shift});
  const std::string growth = graph.Node("Exp", {graph.Node("Mul", {offset[1], graph.FloatConstant(0.2f)})});
  const std::string radius = graph.Node("Mul", {graph.Node("Mul", {anchor[1], growth}), graph.FloatConstant(0.5f)});
  return graph.Node("Concat", {graph.Node("Sub", {centre, radius}), graph.Node("Add", {centre, radius})},
                    {{"axis", -1}});
}

std::string Column(GraphBuilder& graph, const std::string& matrix, int64_t index) {
  return graph.Node("Gather", {matrix, graph.IntConstant(index)}, {{"axis", 1}});
}

}  // namespace

onnx::ModelProto BuildDetectorTail() {
  GraphBuilder graph("detector_tail");
  const std::string offsets = graph.Input("box_offsets", onnx::TensorProto::FLOAT, {1, kAnchors, 4});
  const std::string logits = graph.Input("class_logits", onnx::TensorProto::FLOAT, {1, kAnchors, kClasses});
  const std::string anchors = graph.Random("anchors", {1, kAnchors, 4}, 0.1f, 0.5f);

  const std::string best_logit =
      graph.Node("ReduceMax", {logits}, {{"axes", std::vector<int64_t>{2}}, {"keepdims", 0}});
  const std::string candidates =
      graph.NodeWithOutputs("TopK", {best_logit, graph.IntsConstant({kCandidates})}, 2, {{"axis", 1}})[1];
  const std::string rows = graph.Node("Squeeze", {candidates, graph.IntsConstant({0})});
  const auto take = [&](const std::string& x) { return graph.Node("Gather", {x, rows}, {{"axis", 1}}); };
  const std::string boxes = DecodeBoxes(graph, take(offsets), take(anchors));
  const std::string scores =
      graph.Node("Transpose", {graph.Node("Sigmoid", {take(logits)})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});

  const std::string selected = graph.Node("NonMaxSuppression", {boxes, scores, graph.IntsConstant({20}),
                                                                graph.FloatConstant(0.5f), graph.FloatConstant(0.4f)});
  const std::string selected_scores = graph.Node("GatherND", {scores, selected});

  const std::string found = graph.Node("Shape", {selected_scores});
  const std::string limit = graph.Node("Min", {found, graph.IntsConstant({30})});
  const std::vector<std::string> best = graph.NodeWithOutputs("TopK", {selected_scores, limit}, 2, {{"axis", 0}});
  const std::string kept = graph.Node("Gather", {selected, best[1]}, {{"axis", 0}});
  const std::string kept_boxes =
      graph.Node("Gather", {graph.Node("Squeeze", {boxes, graph.IntsConstant({0})}), Column(graph, kept, 2)});
  graph.Output(kept_boxes, "boxes", onnx::TensorProto::FLOAT, {"detections", 4});
  graph.Output(best[0], "scores", onnx::TensorProto::FLOAT, {"detections"});
  graph.Output(Column(graph, kept, 1), "classes", onnx::TensorProto::INT64, {"detections"});
  return FinishModel(std::move(graph), 17);
}

}  // namespace epiphyte::test
