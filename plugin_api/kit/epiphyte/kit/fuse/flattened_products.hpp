// Products of rows that exporters write as products of matrices, between a Reshape to one and a Reshape back.
//
//   fuse::UnflattenProducts(editor);
//   // Reshape(MatMul(Reshape(x, [-1, k]), w), [batch, rows, n])  →  MatMul(x, w), of x [batch, rows, k]
//
// Whatever follows, bias, residual or activation, then follows the product.
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Where nothing else reads what is between, and shapes are known but for one dimension. An Add of a row may stand in
// front of the second Reshape; it then stands behind the product.
void UnflattenProducts(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
