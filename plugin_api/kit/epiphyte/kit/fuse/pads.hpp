// FoldPads: folds a Pad into the padding of the window operator after it. Exporters write such a Pad when their own
// windows have no padding, or no asymmetric one.
//
//   fuse::FoldPads(editor);   // Pad(x), Conv<pads=[0,0,0,0]>  →  Conv<pads=[0,0,1,1]>
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Folds zeros before Conv and AveragePool. Before MaxPool, folds padding that is never the maximum: the lowest number,
// or zeros after a Relu.
void FoldPads(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
