// OpenSession: makes the session that an application asks for. If session.context_cache_dir names a cache of contexts,
// the session is taken from it.
//
//   Session session = OpenSession(environment, {"model.onnx"}, options);
#pragma once

#include "core/runtime/session.h"

namespace epiphyte::core {

Session OpenSession(Environment& environment, const ModelSource& source, const SessionConfig& config);

}  // namespace epiphyte::core
