#include "epiphyte/kit/fuse/pads.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "epiphyte/kit/fuse/match.hpp"

namespace epiphyte::kit::fuse {
namespace {

using Ints = std::vector<int64_t>;

// A Pad of the spatial dimensions only.
struct Margin {
  int32_t of = -1;
  float value = 0;
  Ints pads;  // in the order of a window's pads: all beginnings, then all ends
};

std::optional<Margin> MarginOf(const ir::Editor& editor, int32_t value) {
  const int32_t n = Maker(editor, value, "Pad");
  if (n < 0) return {};
  const ir::Node& node = editor.node(n);
  if (node.String("mode", "constant") != "constant" || node.HasInput(3)) return {};
  Margin margin;
  margin.of = node.inputs[0];
  const auto rank = static_cast<size_t>(std::max(editor.info(margin.of).rank, 0));
  const std::optional<Ints> all = ListOf(editor, node, "pads", 1);
  if (!all || rank < 3 || all->size() != 2 * rank || editor.info(value).rank != editor.info(margin.of).rank) return {};
  if (node.HasInput(2)) {
    if (!editor.Scalar(node.inputs[2], &margin.value)) return {};
  } else {
    margin.value = node.since_version < 11 ? node.Float("value", 0) : 0;
  }
  for (size_t i = 0; i < all->size(); ++i) {
    const int64_t pad = (*all)[i];
    // The upper limit exceeds the width of any window, and is small enough that sums do not overflow.
    if (pad < 0 || pad > std::numeric_limits<int32_t>::max() || (i % rank < 2 && pad != 0)) return {};
    if (i % rank >= 2) margin.pads.push_back(pad);
  }
  return margin;
}

bool IsTrivial(const Ints& numbers, int64_t trivial) {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) { return number == trivial; });
}

// No window may lie entirely in the padding, because its mean or maximum would be undefined.
bool ReachesInside(const Margin& margin, const Ints& kernel) {
  if (2 * kernel.size() != margin.pads.size()) return false;
  for (size_t i = 0; i < margin.pads.size(); ++i)
    if (margin.pads[i] >= kernel[i % kernel.size()]) return false;
  return true;
}

bool TakesMargin(const ir::Editor& editor, const ir::Node& window, const Margin& margin) {
  if (window.Is("Conv")) return margin.value == 0;
  if (window.Int("ceil_mode", 0) != 0 || !IsTrivial(window.Ints("dilations"), 1)) return false;
  if (!IsTrivial(window.Ints("pads"), 0) || !ReachesInside(margin, window.Ints("kernel_shape"))) return false;
  // Before version 7, averages do not count the padding.
  if (window.Is("AveragePool")) return margin.value == 0 && window.since_version >= 7;
  if (window.outputs.size() > 1 && window.outputs[1] >= 0) return false;
  return margin.value <= std::numeric_limits<float>::lowest() ||
         (margin.value == 0 && Maker(editor, margin.of, "Relu") >= 0);
}

void SetAttribute(ir::Node& node, ir::Attribute attribute) {
  std::erase_if(node.attributes, [&](const ir::Attribute& existing) { return existing.name == attribute.name; });
  node.attributes.push_back(std::move(attribute));
}

void FoldPad(ir::Editor& editor, int32_t n) {
  const std::optional<Margin> margin = MarginOf(editor, editor.node(n).inputs[0]);
  if (!margin || !IsFloatType(editor.info(margin->of).type)) return;
  ir::Node window = editor.node(n);
  const std::string placement = window.String("auto_pad", "NOTSET");
  if (placement != "NOTSET" && placement != "VALID") return;
  if (!TakesMargin(editor, window, *margin)) return;
  Ints pads = placement == "VALID" ? Ints() : window.Ints("pads");
  if (pads.empty()) pads.assign(margin->pads.size(), 0);
  if (pads.size() != margin->pads.size()) return;
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0 || pads[i] > std::numeric_limits<int32_t>::max()) return;
    pads[i] += margin->pads[i];
  }
  SetAttribute(window, ir::Attribute::Ints("pads", std::move(pads)));
  SetAttribute(window, ir::Attribute::String("auto_pad", "NOTSET"));
  if (window.Is("AveragePool")) SetAttribute(window, ir::Attribute::Int("count_include_pad", 1));
  window.inputs[0] = margin->of;
  editor.Replace(n, std::move(window));
}

}  // namespace

void FoldPads(ir::Editor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (IsNode(editor, n, "Conv", 2) || IsNode(editor, n, "AveragePool") || IsNode(editor, n, "MaxPool"))
      FoldPad(editor, n);
  }
}

}  // namespace epiphyte::kit::fuse
