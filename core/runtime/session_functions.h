// The functions stage of making a session: which calls stay whole for a provider, and which are replaced by their
// bodies.
//
//   InlineUnclaimedFunctions(tools, providers, &findings, &model, &history);
#pragma once

#include <span>

#include "core/graph/graph.h"
#include "core/runtime/attempt_findings.h"
#include "core/runtime/build_tools.h"
#include "core/runtime/provider_list.h"
#include "core/transform/node_history.h"

namespace epiphyte::core {

// A call of a function operator stays whole when a provider claims it, unless an earlier attempt found that claim to be
// worth nothing. Otherwise its body replaces it. The body may hold further functions, so providers are asked again.
// They are asked only if there is such a call at all.
void InlineUnclaimedFunctions(const BuildTools& tools, std::span<const ProviderSlot> providers,
                              AttemptFindings* findings, Model* model, NodeHistory* history);

}  // namespace epiphyte::core
