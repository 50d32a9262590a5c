#include "plugins/cpu/exec/fuse.h"

#include "plugins/cpu/exec/plan_editor.h"

namespace epiphyte::cpu {

void Fuse(PlanDef& plan) {
  PlanEditor editor(plan);
  MergeReluIntoClip(editor);
  FoldIntoConvolutions(editor);
  FuseGemms(editor);
  FuseNormalizations(editor);
  FuseGelu(editor);
  FuseAttention(editor);
  FuseProducts(editor);
  FuseConvolutions(editor);
  FuseElementwise(editor);
  editor.Finish();
}

}  // namespace epiphyte::cpu
