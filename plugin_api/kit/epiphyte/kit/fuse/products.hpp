// Products, convolutions and batch normalisations with the bias, the residual and the activation that follow, as
// MatMul, Gemm, Conv and BatchNormalization of the kit's domain (operators.hpp).
//
//   fuse::FuseConvolutions(editor, {.takes = [](const ir::Editor&, const ir::Node& conv) { return FitsMyUnit(conv); },
//                                   .takes_activation = [](const fuse::Activation& activation) {
//                                     return activation.op == fuse::ElementwiseOp::kRelu;
//                                   }});
//   // Conv, Add, Relu  →  Conv<activation="Relu">(x, w, b, residual)
//
// Fold and FuseGemms run before, and whatever makes activations (FuseGelu, FuseHardSwish).
#pragma once

#include <functional>

#include "epiphyte/kit/fuse/activation.hpp"
#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct ProductOptions {
  std::function<bool(EpElementType type)> takes_type;  // of input 0; empty: float alone
  // Whether a MatMul, Gemm or Conv may become a node of the kit's; empty: every one.
  std::function<bool(const ir::Editor& editor, const ir::Node& product)> takes;
  TakesActivation takes_activation;
  bool residual = true;
};

// MatMul of operands of rank 2 and more, and Gemm, which takes an activation alone.
void FuseProducts(ir::Editor& editor, const ProductOptions& options = {});
void FuseConvolutions(ir::Editor& editor, const ProductOptions& options = {});
// BatchNormalization in inference, which takes an activation alone: one that no convolution in front has taken in.
void FuseBatchNormalizations(ir::Editor& editor, const ProductOptions& options = {});

}  // namespace epiphyte::kit::fuse
