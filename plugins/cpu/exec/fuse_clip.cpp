// Clip(Relu(x)) is Clip(x) with a lower bound of at least 0.
#include <algorithm>

#include "plugins/cpu/exec/plan_editor.h"

namespace epiphyte::cpu {
namespace {

// The Clip at `n` behind a Relu, without the Relu; false where a bound isn't known.
bool RaiseMinimum(PlanEditor& editor, NodeDef& clip) {
  if (clip.since_version < 11) {
    if (clip.Float("max", 0.0f) < 0.0f) return false;
    if (clip.Float("min", -1.0f) >= 0.0f) return true;
    std::erase_if(clip.attributes, [](const AttributeValue& attribute) { return attribute.name == "min"; });
    clip.attributes.push_back(FloatAttribute("min", 0.0f));
    return true;
  }
  const auto given = [&](size_t i) { return clip.inputs.size() > i && clip.inputs[i] >= 0; };
  float minimum = -1.0f;
  float maximum = 0.0f;
  // With max below min the bounds' order decides; leave that alone.
  if (given(2) && (!editor.Scalar(clip.inputs[2], &maximum) || maximum < 0.0f)) return false;
  if (given(1) && !editor.Scalar(clip.inputs[1], &minimum)) return false;
  if (minimum >= 0.0f) return true;
  constexpr float kZero = 0.0f;
  clip.inputs.resize(std::max<size_t>(clip.inputs.size(), 2), -1);
  clip.inputs[1] = editor.AddConstant(clip.name + "_min", {}, {&kZero, 1});
  return true;
}

}  // namespace

void MergeReluIntoClip(PlanEditor& editor) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    if (!editor.Is(n, "Clip")) continue;
    NodeDef clip = editor.node(n);
    const int32_t relu = editor.ProducerOf(clip.inputs[0], "Relu");
    if (relu < 0 || editor.OnlyReader(clip.inputs[0]) != n || !editor.IsFloat(editor.node(relu).inputs[0])) continue;
    if (!RaiseMinimum(editor, clip)) continue;
    clip.inputs[0] = editor.node(relu).inputs[0];
    editor.Replace(n, std::move(clip));
  }
}

}  // namespace epiphyte::cpu
