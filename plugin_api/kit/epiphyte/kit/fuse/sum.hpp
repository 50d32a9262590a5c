// SumsToAdditions: replaces Sum of two tensors by Add, which other recognisers look for. Older exporters write residual
// sums as Sum.
//
//   fuse::SumsToAdditions(editor);   // Sum(a, b)  →  Add(a, b)
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Handles every version: since version 8, Sum broadcasts as Add does; before that, the shapes are equal.
void SumsToAdditions(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
