// OpenSession: the session that an application asks for, from the cache of contexts where session.context_cache_dir
// names one.
//
//   Session session = OpenSession(environment, {"model.onnx"}, options);
#pragma once

#include "core/runtime/session.h"

namespace epiphyte::core {

Session OpenSession(Environment& environment, const ModelSource& source, const SessionConfig& config);

}  // namespace epiphyte::core
