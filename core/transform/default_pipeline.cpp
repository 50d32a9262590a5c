#include "core/transform/rules/rules.h"
#include "core/transform/transform.h"

namespace epiphyte::core {

// Order matters for speed, not for the result: rounds repeat until nothing changes. Constants come first because most
// rules look for them. Removal comes last because rules leave dead nodes behind. Consecutive rules share one walk.
TransformPipeline TransformPipeline::Default() {
  TransformPipeline pipeline;
  pipeline.Add(MakeFoldConstants());
  pipeline.Add(MakeShareConstants());

  pipeline.Add(MakeRemoveIdentity());
  pipeline.Add(MakeRemoveDropout());
  pipeline.Add(MakeRemoveNoOpCast());
  pipeline.Add(MakeRemoveNoOpShapeChange());
  pipeline.Add(MakeRemoveNoOpMovement());
  pipeline.Add(MakeRemoveNeutralArithmetic());
  pipeline.Add(MakeFoldShape());
  pipeline.Add(MakeFoldPartOfShape());
  pipeline.Add(MakeMergeCasts());
  pipeline.Add(MakeMergeTransposes());
  pipeline.Add(MakeMergeReshapes());
  pipeline.Add(MakeRemoveRequantization());
  pipeline.Add(MakeInlineIf());
  pipeline.Add(MakeInlineLoop());

  pipeline.Add(MakeMergeCommonSubexpressions());
  pipeline.Add(MakeRemoveDeadNodes());
  return pipeline;
}

}  // namespace epiphyte::core
