#include "plugins/npu/client/program.h"

#include <exception>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::npu {

Group::Group(std::shared_ptr<const SdkContext> context, NsdkGroupKind kind) : context_(std::move(context)) {
  context_->sdk().Call("group_create", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.group_create(context_->handle(), kind, &group_, reason);
  });
  if (group_ == nullptr) context_->sdk().Fail("made no group and called that NSDK_OK");
}

Group::~Group() {
  context_->sdk().Release([this](const NsdkApi& api) { api.group_destroy(group_); });
}

Program::Program(std::shared_ptr<const SdkContext> context, std::span<const std::byte> blob,
                 const ProgramOptions& options)
    : context_(std::move(context)), options_(options) {
  NsdkLoadOptions given = {};
  given.struct_size = sizeof(given);
  given.flags = options.blob_stays ? NSDK_BLOB_STAYS : 0;
  given.scratch = options.scratch ? options.scratch->handle() : nullptr;
  given.weights = options.weights ? options.weights->handle() : nullptr;
  given.priority = options.priority;
  context_->sdk().Call("load", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.load(context_->handle(), blob.data(), blob.size(), &given, &program_, reason);
  });
  if (program_ == nullptr) context_->sdk().Fail("loaded no program and called that NSDK_OK");
  try {
    info_ = ReadBlobInfo(context_->sdk(), blob);
  } catch (...) {
    Unload();
    throw;
  }
}

Program::~Program() { Unload(); }

void Program::Unload() noexcept {
  context_->sdk().Release([this](const NsdkApi& api) { api.unload(program_); });
}

Execution::Execution(std::shared_ptr<const Program> program, uint32_t graph) : program_(std::move(program)) {
  const BlobGraph& info = program_->info().graphs.at(graph);
  bound_[NSDK_INPUT].resize(info.inputs.size());
  bound_[NSDK_OUTPUT].resize(info.outputs.size());
  sdk().Call("exec_create", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.exec_create(program_->handle(), graph, &execution_, reason);
  });
  if (execution_ == nullptr) sdk().Fail("made no execution and called that NSDK_OK");
}

Execution::~Execution() {
  sdk().Release([this](const NsdkApi& api) { api.exec_destroy(execution_); });
  for (const std::vector<Bound>& direction : bound_)
    for (const Bound& bound : direction) Free(bound.memory);
}

void Execution::Free(NsdkMemory* memory) const noexcept {
  if (memory != nullptr) sdk().Release([memory](const NsdkApi& api) { api.mem_destroy(memory); });
}

NsdkMemory* Execution::Import(const Place& place) const {
  const uint32_t alignment = program_->context().target().memory_alignment;
  if (place.stable == 0 || place.size == 0 || !sdk().Can(NSDK_CAN_BIND_MEMORY) ||
      reinterpret_cast<uintptr_t>(place.address) % alignment != 0)
    return nullptr;
  NsdkMemoryOptions options = {};
  options.struct_size = sizeof(options);
  options.kind = NSDK_IMPORT_HOST;
  options.size = place.size;
  options.address = place.address;
  options.fd = -1;
  NsdkMemory* memory = nullptr;
  const Outcome outcome = sdk().Try("mem_create", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.mem_create(program_->context().handle(), &options, &memory, reason);
  });
  return outcome.ok() ? memory : nullptr;
}

void Execution::Bind(NsdkDirection direction, uint32_t index, const Place& place) {
  Bound& bound = bound_[direction].at(index);
  // A place without `stable` may hold different memory each time.
  if (place.stable != 0 && bound.place == place) return;
  NsdkMemory* const memory = Import(place);
  NsdkBinding binding = {};
  binding.struct_size = sizeof(binding);
  binding.memory = memory;
  binding.host_address = memory == nullptr ? place.address : nullptr;
  binding.size = place.size;
  const Outcome outcome = sdk().Try("exec_bind", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.exec_bind(execution_, direction, index, &binding, reason);
  });
  if (!outcome.ok()) {
    Free(memory);
    sdk().Throw("exec_bind", outcome);
  }
  Free(std::exchange(bound.memory, memory));
  bound.place = place;
}

void Execution::Run(const std::function<bool()>& cancelled) {
  struct Progress {
    const std::function<bool()>& cancelled;
    bool stopped = false;
  } progress{cancelled};
  NsdkTask task = {};
  task.struct_size = sizeof(task);
  task.user = &progress;
  task.progress = [](void* user, double, const char*) -> int32_t {
    auto& to = *static_cast<Progress*>(user);
    to.stopped = to.stopped || to.cancelled();
    return to.stopped ? 1 : 0;
  };
  const Outcome outcome =
      sdk().Try("run", [&](const NsdkApi& api, NsdkReason* reason) { return api.run(execution_, &task, reason); });
  if (progress.stopped) throw kit::Error(EP_STATUS_CANCELED, "the run was cancelled");
  if (!outcome.ok()) sdk().Throw("run", outcome);
}

std::optional<NsdkCounters> Execution::Counters() const {
  if (!sdk().Can(NSDK_CAN_COUNT)) return {};
  NsdkCounters counters = {};
  counters.struct_size = sizeof(counters);
  const Outcome outcome = sdk().Try(
      "get_counters", [&](const NsdkApi& api, NsdkReason*) { return api.get_counters(execution_, &counters); });
  if (!outcome.ok()) return {};
  return counters;
}

}  // namespace epiphyte::npu
