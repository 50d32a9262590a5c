#include "core/runtime/environment.h"

#include <utility>

#include "core/abi/host_tables.h"
#include "core/base/mapping_guard.h"
#include "core/base/memory_size.h"

namespace epiphyte::core {

Environment::Environment(CatalogOptions options, bool guard_mapped_files, uint32_t max_async_runs)
    : catalog_(std::move(options), HostInfo()), memory_(MachineMemory()), async_runner_(max_async_runs) {
  if (guard_mapped_files) InstallMappingGuard();
}

}  // namespace epiphyte::core
