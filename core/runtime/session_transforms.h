// The transforms stage of making a session: the core's transforms, and the application's own.
//
//   RunCoreTransforms(tools, fallback, &model, &history);
//   const bool has_changed = RunTransformsOfApplication(tools, &model, &history);
#pragma once

#include "core/graph/graph.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"
#include "core/transform/node_history.h"

namespace epiphyte::core {

// Runs the transforms up to epiphyte.graph_optimization_level. `fallback` computes constants; null: none are folded.
void RunCoreTransforms(const BuildTools& tools, const ProviderSlot* fallback, Model* model, NodeHistory* history);

// Runs the application's transforms, whatever the level, because the application has requested them. Returns whether
// one changed the model. Throws INVALID_ARGUMENT for one that has the name of a transform of the core.
bool RunTransformsOfApplication(const BuildTools& tools, Model* model, NodeHistory* history);

}  // namespace epiphyte::core
