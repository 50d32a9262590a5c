// FuseBounds: replaces bounds written as Max and Min with constants by Clip, which other recognisers take as an
// activation.
//
//   fuse::FuseBounds(editor);   // Min(Max(x, 0), 6)  →  Clip(x, 0, 6)
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Max and Min may be in either order, if the lower bound is below the upper. Min(Relu(x), 6) counts too. A single bound
// stays as it is, except Max(x, 0), which becomes Relu.
void FuseBounds(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
