#include "epiphyte/kit/fuse/bounds.hpp"

#include <utility>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

// A value and a constant that bounds it.
struct Bound {
  int32_t of = -1;
  float number = 0;
  explicit operator bool() const { return of >= 0; }
};

Bound BoundOf(const ir::Editor& editor, int32_t n, std::string_view op_type) {
  if (!IsNode(editor, n, op_type, 2)) return {};
  const ir::Node& node = editor.node(n);
  if (node.inputs.size() != 2 || !editor.IsFloat(node.outputs[0])) return {};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    Bound bound;
    if (!editor.Scalar(node.inputs[i], &bound.number)) continue;
    const int32_t of = node.inputs[1 - i];
    // A constant of higher rank would raise the rank of the result.
    if (editor.info(of).rank < editor.info(node.inputs[i]).rank || editor.ConstantOf(of) != nullptr) return {};
    bound.of = of;
    return bound;
  }
  return {};
}

Bound BoundBehind(const ir::Editor& editor, int32_t value, int32_t reader, std::string_view op_type) {
  const int32_t n = editor.Producer(value);
  if (n < 0 || editor.OnlyReader(value) != reader) return {};
  if (op_type == "Max" && IsNode(editor, n, "Relu")) return {editor.node(n).inputs[0], 0.0f};
  return BoundOf(editor, n, op_type);
}

void FuseBoth(ir::Editor& editor, int32_t n, std::string_view outer, std::string_view inner) {
  const Bound last = BoundOf(editor, n, outer);
  const Bound first = last ? BoundBehind(editor, last.of, n, inner) : Bound();
  if (!first) return;
  const float low = outer == "Max" ? last.number : first.number;
  const float high = outer == "Max" ? first.number : last.number;
  if (!(low <= high)) return;
  ir::Node clip;
  clip.op_type = "Clip";
  clip.since_version = 13;
  clip.name = editor.node(n).name;
  clip.outputs = editor.node(n).outputs;
  const int32_t minimum = editor.AddConstant(clip.name + "/min", {}, {&low, 1});
  const int32_t maximum = editor.AddConstant(clip.name + "/max", {}, {&high, 1});
  clip.inputs = {first.of, minimum, maximum};
  editor.Replace(n, std::move(clip));
}

void FuseRelu(ir::Editor& editor, int32_t n) {
  const Bound bound = BoundOf(editor, n, "Max");
  if (!bound || bound.number != 0) return;
  ir::Node relu;
  relu.op_type = "Relu";
  relu.since_version = 14;
  relu.name = editor.node(n).name;
  relu.inputs = {bound.of};
  relu.outputs = editor.node(n).outputs;
  editor.Replace(n, std::move(relu));
}

}  // namespace

void FuseBounds(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    FuseBoth(editor, n, "Min", "Max");
    FuseBoth(editor, n, "Max", "Min");
  }
  for (int32_t n = 0; n < editor.node_count(); ++n) FuseRelu(editor, n);
}

}  // namespace epiphyte::kit::fuse
