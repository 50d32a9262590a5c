// Sum of two tensors, as older exporters write what joins a residual: other recognisers look for Add.
//
//   fuse::SumsToAdditions(editor);   // Sum(a, b)  →  Add(a, b); runs before all that joins additions to something
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Of every version: since 8 shapes are broadcast as Add's, before that they are equal.
void SumsToAdditions(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
