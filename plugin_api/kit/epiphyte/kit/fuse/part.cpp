#include "epiphyte/kit/fuse/part.hpp"

#include <algorithm>
#include <optional>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

// Finds the axis and the size along it. False when one of them is not known.
bool Locate(const ir::Editor& editor, int64_t axis, Part& part) {
  const ir::Value& whole = editor.info(part.of);
  if (whole.rank < 1) return false;
  if (axis < 0) axis += whole.rank;
  if (axis < 0 || axis >= whole.rank || whole.dims[static_cast<size_t>(axis)] <= 0) return false;
  part.axis = axis;
  part.size = whole.dims[static_cast<size_t>(axis)];
  return true;
}

Part SliceOf(const ir::Editor& editor, int32_t n) {
  const ir::Node& node = editor.node(n);
  const auto starts = ListOf(editor, node, "starts", 1);
  const auto ends = ListOf(editor, node, "ends", 2);
  const auto axes = ListOf(editor, node, "axes", 3);
  const auto steps = ListOf(editor, node, "steps", 4);
  if (!starts || !ends || !axes || !steps || starts->size() != 1 || ends->size() != 1 || axes->size() > 1 ||
      steps->size() > 1)
    return {};
  Part part;
  part.of = node.inputs[0];
  if (!Locate(editor, axes->empty() ? 0 : axes->front(), part)) return {};
  part.step = steps->empty() ? 1 : steps->front();
  if (part.step < 1) return {};
  const auto within = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + part.size : index, 0, part.size);
  };
  part.begin = within(starts->front());
  part.end = within(ends->front());
  return part.begin < part.end ? part : Part();
}

Part SplitOf(const ir::Editor& editor, int32_t n, int32_t value) {
  const ir::Node& node = editor.node(n);
  auto sizes = ListOf(editor, node, "split", 1);
  Part part;
  part.of = node.inputs[0];
  if (!sizes || !Locate(editor, node.Int("axis", 0), part)) return {};
  if (sizes->empty()) {
    const auto count = static_cast<int64_t>(node.outputs.size());
    if (part.size % count != 0) return {};
    sizes->assign(node.outputs.size(), part.size / count);
  }
  if (sizes->size() != node.outputs.size()) return {};
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size < 0 || size > part.size - part.begin) return {};
    part.end = part.begin + size;
    if (node.outputs[i] == value) return part;
    part.begin = part.end;
  }
  return {};
}

}  // namespace

Part PartOf(const ir::Editor& editor, int32_t value) {
  const int32_t n = editor.Producer(value);
  if (n < 0 || editor.removed(n) || !editor.node(n).HasInput(0)) return {};
  if (editor.Is(n, "Slice")) return SliceOf(editor, n);
  if (editor.Is(n, "Split")) return SplitOf(editor, n, value);
  return {};
}

}  // namespace epiphyte::kit::fuse
