// Context functions: EPContext nodes in the bodies of a model's functions, for who looks at contexts without making a
// session, which inlines functions itself.
//
//   Model model = ReadModelFile(path, options);
//   InlineContextFunctions(&model);
//   for (Node* node : FindContextNodes(*model.graph)) …
#pragma once

#include "core/graph/graph.h"

namespace epiphyte::core {

// Puts the bodies of functions that hold EPContext nodes, or call one that does, in the place of their calls. Other
// calls stay. Throws INVALID_GRAPH for bodies that are malformed.
void InlineContextFunctions(Model* model);

}  // namespace epiphyte::core
