// A Pad in front of a window, as exporters write it whose own windows have no padding, or none that lies so, goes into
// the window's.
//
//   fuse::FoldPads(editor);   // Pad(x), Conv<pads=[0,0,0,0]>  →  Conv<pads=[0,0,1,1]>
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Conv and AveragePool behind zeros, and MaxPool behind what is no maximum: the lowest number, or zeros behind a Relu.
void FoldPads(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
