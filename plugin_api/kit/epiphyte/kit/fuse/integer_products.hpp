// FuseIntegerProducts: fuses integer GEMMs and convolutions with the conversion of their sums to float, as dynamic
// quantisation writes them.
//
//   fuse::FuseIntegerProducts(editor);
//   // MatMulInteger (or ConvInteger), Cast, Mul by a product of scales, Add of a bias  →  one operator of the kit
//
// One scale is a single number; the other is a single number or has one for each column (or filter). The bias has one
// number for each column (or filter). The results are bit-identical.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct IntegerProductOptions {
  // Returns whether a node may replace others; empty: all may. The node is not part of the graph yet, but its values
  // are.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
};

void FuseIntegerProducts(ir::Editor& editor, const IntegerProductOptions& options = {});

}  // namespace epiphyte::kit::fuse
