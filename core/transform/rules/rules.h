// Every transform and rule the core has. What each does is said where it is defined.
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
std::unique_ptr<RewriteRule> MakeMergeReluClip();

// shapes.cpp
std::unique_ptr<RewriteRule> MakeFoldShape();
std::unique_ptr<RewriteRule> MakeFoldPartOfShape();

// convolution.cpp
std::unique_ptr<RewriteRule> MakeFuseConvBatchNormalization();
std::unique_ptr<RewriteRule> MakeFuseConvAdd();
std::unique_ptr<RewriteRule> MakeFuseConvMul();

// matmul.cpp
std::unique_ptr<RewriteRule> MakeFuseMatMulAdd();
std::unique_ptr<RewriteRule> MakeFuseGemmBias();

// quantization.cpp
std::unique_ptr<RewriteRule> MakeRemoveRequantization();

// gelu.cpp, layer_normalization.cpp
std::unique_ptr<RewriteRule> MakeRecognizeGelu();
std::unique_ptr<RewriteRule> MakeRecognizeLayerNormalization();

// Whole-graph transforms, each in the file of its name.
std::unique_ptr<Transform> MakeFoldConstants();
std::unique_ptr<Transform> MakeShareConstants();
std::unique_ptr<Transform> MakeMergeCommonSubexpressions();
std::unique_ptr<Transform> MakeRemoveDeadNodes();

}  // namespace epiphyte::core
