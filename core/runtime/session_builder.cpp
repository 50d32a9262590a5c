#include "core/runtime/session_builder.h"

#include <utility>

namespace epiphyte::core {

SessionBuilder::SessionBuilder(Environment& environment, const SessionConfig& config, ThreadPool* pool,
                               Profiler* profiler)
    : config_(config),
      device_account_(
          std::make_shared<DeviceAccount>(config.max_device_bytes == 0 ? UINT64_MAX : config.max_device_bytes)),
      progress_(config.progress),
      chosen_providers_(environment.catalog(), config),
      schemas_(chosen_providers_, !config.providers.empty()),
      share_(environment.share_groups(), config),
      tools_{environment, config, pool, profiler, progress_, chosen_providers_, schemas_} {}

SessionBuilder::~SessionBuilder() {
  if (attempt_ != nullptr) attempt_->DropContextModel();
  share_.Leave();
}

void SessionBuilder::Read(const ModelSource& source) {
  source_ = source;
  progress_.Enter(SessionPhase::kRead, source.in_memory ? "a model in memory" : source.path.filename().string());
  share_.Join();
  attempt_ = std::make_unique<SessionAttempt>(tools_, source_, &share_, &findings_);
  attempt_->Prepare();
}

// Goes on with a new attempt that knows what the last one found out. This is rare, and simpler than undoing the changes
// of transforms, placement and compiling.
void SessionBuilder::BeginAgain(Restart restart) {
  for (std::optional<Restart> why = std::move(restart); why; why = attempt_->Partition()) {
    findings_.Add(std::move(*why));
    attempt_ = nullptr;  // before the next one begins: both would not fit into memory
    progress_.Enter(SessionPhase::kRead, "once more");
    attempt_ = std::make_unique<SessionAttempt>(tools_, source_, &share_, &findings_);
    attempt_->Prepare();
  }
}

void SessionBuilder::Partition() {
  if (std::optional<Restart> restart = attempt_->Partition()) BeginAgain(std::move(*restart));
}

void SessionBuilder::Compile() {
  while (std::optional<Restart> restart = attempt_->Compile(device_account_)) BeginAgain(std::move(*restart));
}

std::vector<SessionMemory> SessionBuilder::Memories() const {
  std::vector<SessionMemory> memories;
  for (const ProviderSlot& slot : attempt_->providers()) {
    for (const PluginDevice* device : slot.with_memory) {
      memories.push_back({device->main_memory(), device_account_});
      for (const auto& memory : device->memories()) {
        if (memory != device->main_memory()) memories.push_back({memory, device_account_});
      }
    }
  }
  return memories;
}

std::string SessionBuilder::WhyNoRun() const {
  for (const core::Partition& partition : attempt_->partitions().partitions) {
    const ProviderSlot& slot = attempt_->providers()[static_cast<size_t>(partition.provider)];
    if (const Device* absent = slot.AbsentDevice()) {
      return fmt::format(
          "partition '{}' was compiled by '{}' for device '{}', which is not here; run the context model "
          "where the device is",
          partition.name, slot.plugin->name, absent->name);
    }
  }
  return {};
}

}  // namespace epiphyte::core
