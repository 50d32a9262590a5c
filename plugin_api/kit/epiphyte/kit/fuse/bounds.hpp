// Bounds that exporters write as Max and Min with numbers become Clip, which others take for an activation.
//
//   fuse::FuseBounds(editor);   // Min(Max(x, 0), 6)  →  Clip(x, 0, 6)
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// In either order, where the lower bound is below the upper, and Min(Relu(x), 6). One bound alone stays as it is, but
// Max(x, 0), which is Relu.
void FuseBounds(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
