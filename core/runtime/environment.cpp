#include "core/runtime/environment.h"

#include <utility>

#include "core/abi/host_tables.h"
#include "core/base/mapping_guard.h"
#include "core/base/memory_size.h"

namespace epiphyte::core {

Environment::Environment(CatalogOptions options, bool guard_mapped_files)
    : catalog_(std::move(options), HostInfo()), memory_(MachineMemory()) {
  if (guard_mapped_files) InstallMappingGuard();
}

}  // namespace epiphyte::core
