// FuseByteTables: replaces a chain of QLinearElementwise (operators.hpp) by one node, if the chain depends only on one
// quantised tensor and on constants. Such a chain is a table with a result for each byte, known before the run.
//
//   fuse::FuseQuantized(editor, …);
//   fuse::FuseByteTables(editor, {.takes = HasKernel});
//   // x / 1.414, Erf, + 1, x *, * 0.5, each between its DequantizeLinear and QuantizeLinear  →  QLinearElementwise(x)
//
// The results equal those of the single nodes, which quantise in between as well. A result in the middle of the chain
// is still made if other nodes read it or it has bounds. If it has bounds, the nodes after it form a chain of their
// own.
#pragma once

#include <functional>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct ByteTableOptions {
  // Returns whether a node may replace others; empty: all may.
  std::function<bool(const ir::Editor& editor, const ir::Node& node)> takes;
};

void FuseByteTables(ir::Editor& editor, const ByteTableOptions& options = {});

}  // namespace epiphyte::kit::fuse
