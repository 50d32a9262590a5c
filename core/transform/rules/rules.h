// Factories of all transforms and rules of the core. Each is described where it is defined.
#pragma once

#include <memory>

#include "core/transform/transform.h"

namespace epiphyte::core {

// no_ops.cpp
std::unique_ptr<RewriteRule> MakeRemoveIdentity();
std::unique_ptr<RewriteRule> MakeRemoveDropout();
std::unique_ptr<RewriteRule> MakeRemoveNoOpCast();
std::unique_ptr<RewriteRule> MakeRemoveNoOpShapeChange();
std::unique_ptr<RewriteRule> MakeRemoveNoOpMovement();
std::unique_ptr<RewriteRule> MakeRemoveNeutralArithmetic();

// chains.cpp
std::unique_ptr<RewriteRule> MakeMergeCasts();
std::unique_ptr<RewriteRule> MakeMergeTransposes();
std::unique_ptr<RewriteRule> MakeMergeReshapes();

// shapes.cpp
std::unique_ptr<RewriteRule> MakeFoldShape();
std::unique_ptr<RewriteRule> MakeFoldPartOfShape();

// control_flow.cpp
std::unique_ptr<RewriteRule> MakeInlineIf();
std::unique_ptr<RewriteRule> MakeInlineLoop();

// quantization.cpp
std::unique_ptr<RewriteRule> MakeRemoveRequantization();

// Whole-graph transforms, each in the file with its name.
std::unique_ptr<Transform> MakeFoldConstants();
std::unique_ptr<Transform> MakeShareConstants();
std::unique_ptr<Transform> MakeMergeCommonSubexpressions();
std::unique_ptr<Transform> MakeRemoveDeadNodes();

}  // namespace epiphyte::core
