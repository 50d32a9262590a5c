#include "core/runtime/environment.h"

#include <utility>

#include "core/abi/host_tables.h"
#include "core/base/log.h"
#include "core/base/mapping_guard.h"
#include "core/base/memory_size.h"

namespace epiphyte::core {

Environment::Environment(CatalogOptions options, bool guard_mapped_files, uint32_t max_async_runs)
    : catalog_(std::move(options), HostInfo()), memory_(MachineMemory()), async_runner_(max_async_runs) {
  if (guard_mapped_files) InstallMappingGuard();
  IsLogged(LogLevel::kError);  // creates the log, which reports a wrong EPIPHYTE_LOG at once
}

// weak_from_this works only when a shared_ptr owns the environment, which is after its constructor.
Devices& Environment::devices() {
  std::call_once(devices_kept_, [this] { devices_.SetKeepAlive(weak_from_this()); });
  return devices_;
}

std::shared_ptr<Environment> Environment::Of(const DeviceAllocation& piece) {
  return std::static_pointer_cast<Environment>(piece.keep_alive());
}

}  // namespace epiphyte::core
