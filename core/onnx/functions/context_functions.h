// Context functions: finds EPContext nodes in the bodies of a model's functions. For callers that inspect contexts
// without a session; a session inlines functions itself.
//
//   Model model = ReadModelFile(path, options);
//   InlineContextFunctions(&model);
//   for (Node* node : FindContextNodes(*model.graph)) …
#pragma once

#include "core/graph/graph.h"

namespace epiphyte::core {

// Inlines calls of functions that contain EPContext nodes, directly or through further calls. Other calls stay. Throws
// INVALID_GRAPH for malformed bodies.
void InlineContextFunctions(Model* model);

}  // namespace epiphyte::core
