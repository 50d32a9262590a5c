// UnflattenProducts: removes the Reshape to a matrix and back that exporters put around a GEMM on rows.
//
//   fuse::UnflattenProducts(editor);
//   // Reshape(MatMul(Reshape(x, [-1, k]), w), [batch, rows, n])  →  MatMul(x, w), of x [batch, rows, k]
//
// A bias, residual or activation then follows the GEMM directly and can be fused with it.
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Requires that nothing else reads the values in between, and that all dimensions but one are known. An Add of a row
// may stand before the second Reshape; it then follows the GEMM.
void UnflattenProducts(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
