// Chains of QLinearElementwise (operators.hpp) that depend on one quantised tensor and on numbers become one: what each
// byte becomes is known before anything runs.
//
//   fuse::FuseQuantized(editor, …);
//   fuse::FuseByteTables(editor, {.takes = HasKernel});
//   // x / 1.414, Erf, + 1, x *, * 0.5, each between its DequantizeLinear and QuantizeLinear  →  QLinearElementwise(x)
//
// Results are those of the nodes one by one, which are quantised in between, too. A result that others read, or that
// has bounds, is still made; others of the chain begin with it where it has bounds.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct ByteTableOptions {
  // Whether a node may take the place of others; empty: every one.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
};

void FuseByteTables(ir::Editor& editor, const ByteTableOptions& options = {});

}  // namespace epiphyte::kit::fuse
