#include "core/cache/open_session.h"

#include "core/cache/context_cache.h"

namespace epiphyte::core {

Session OpenSession(Environment& environment, const ModelSource& source, const SessionConfig& config) {
  const SessionTools tools(config);
  const auto open = [&](const ModelSource& model, const SessionConfig& how) {
    return Session(environment, model, how, tools);
  };
  if (config.cache.folder.empty()) return open(source, config);
  return ContextCache(environment.catalog(), config, tools.pool.get()).Open(source, open);
}

}  // namespace epiphyte::core
