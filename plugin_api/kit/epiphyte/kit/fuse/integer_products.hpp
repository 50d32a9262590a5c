// Products of integers whose sums become floats again, as dynamic quantisation writes them.
//
//   fuse::FuseIntegerProducts(editor);
//   // MatMulInteger (or ConvInteger), Cast, Mul by a product of scales, Add of a bias  →  one operator of the kit
//
// The scales are one number, and one or one for each column (or filter); the bias has one number for each of these. The
// results are the same, to the last bit.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct IntegerProductOptions {
  // Whether a node may take the place of others; empty: every one. It isn't part of the graph yet, but its values are.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
};

void FuseIntegerProducts(ir::Editor& editor, const IntegerProductOptions& options = {});

}  // namespace epiphyte::kit::fuse
