// Fuses GEMMs, convolutions and batch normalisations with the bias, residual and activation that follow, into MatMul,
// Gemm, Conv and BatchNormalization of the kit's domain (operators.hpp).
//
//   fuse::FuseConvolutions(editor, {.takes = [](const ir::Editor&, const ir::Node& conv) { return FitsMyUnit(conv); },
//                                   .takes_activation = [](const fuse::Activation& activation) {
//                                     return activation.op == fuse::ElementwiseOp::kRelu;
//                                   }});
//   // Conv, Add, Relu  →  Conv<activation="Relu">(x, w, b, residual)
#pragma once

#include <functional>

#include "epiphyte/kit/fuse/activation.hpp"
#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct ProductOptions {
  std::function<bool(EpElementType type)> takes_type;  // type of input 0; empty: only float
  // Returns whether a MatMul, Gemm or Conv may become a node of the kit; empty: all may.
  std::function<bool(const ir::Editor& editor, const ir::Node& product)> takes;
  TakesActivation takes_activation;
  bool residual = true;
};

// Fuses MatMul with operands of rank 2 and more. Fuses Gemm with an activation only.
void FuseProducts(ir::Editor& editor, const ProductOptions& options = {});
void FuseConvolutions(ir::Editor& editor, const ProductOptions& options = {});
// Fuses BatchNormalization in inference with an activation only.
void FuseBatchNormalizations(ir::Editor& editor, const ProductOptions& options = {});

}  // namespace epiphyte::kit::fuse
