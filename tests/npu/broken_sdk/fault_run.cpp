// Faults of executions, memory, groups and asynchronous runs.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "complete.h"

namespace epiphyte::broken {
namespace {

NsdkApi right;

std::shared_ptr<ExecutionState> StateOf(NsdkExecution* execution) {
  const std::lock_guard lock(TheShared().lock);
  return TheShared().executions[execution];
}

void SpoilOutput(ExecutionState& state) {
  if (state.addresses[NSDK_OUTPUT] != nullptr) state.addresses[NSDK_OUTPUT][0] ^= 0x40;
}

NsdkStatus ExecCreate(NsdkProgram* program, uint32_t graph, NsdkExecution** execution, NsdkReason* reason) {
  NsdkStatus status = right.exec_create(program, graph, execution, reason);
  if (status == NSDK_OK && graph > 0 && Fault("166_has_one_graph")) {
    right.exec_destroy(*execution);
    status = right.exec_create(program, 0, execution, reason);
  }
  if (status == NSDK_OK && Fault("117_clears_any_reason")) *const_cast<char volatile*>(reason->text) = '\0';
  if (status == NSDK_INVALID_ARGUMENT && graph == 2 && Fault("174_says_internal")) return NSDK_INTERNAL;
  return status;
}

NsdkStatus ExecBind(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* theirs,
                    NsdkReason* reason) {
  NsdkBinding binding = *theirs;
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  if (Fault("178_wants_alignment") && binding.memory == nullptr &&
      reinterpret_cast<uintptr_t>(binding.host_address) % 4 != 0) {
    return Explain(reason, NSDK_INVALID_ARGUMENT, "the address is not aligned");
  }
  if (Fault("174_takes_any_index") && (direction > NSDK_OUTPUT || index > 0)) return NSDK_OK;
  if (binding.memory != nullptr) {
    if (Fault("189_takes_any_offset")) binding.offset = binding.offset / kMemoryAlignment * kMemoryAlignment;
    const bool wraps = binding.offset + binding.size < binding.size;
    if (Fault("188_adds_up") && wraps && binding.offset + binding.size <= binding.memory->size) return NSDK_OK;
  }
  if (Fault("181_reads_when_bound") && direction == NSDK_INPUT && binding.memory == nullptr &&
      binding.host_address != nullptr && binding.size >= 48) {
    const auto* bytes = static_cast<const uint8_t*>(binding.host_address);
    std::vector<uint8_t> copy(bytes, bytes + binding.size);
    binding.host_address = copy.data();
    const NsdkStatus status = right.exec_bind(execution, direction, index, &binding, reason);
    if (status == NSDK_OK) state->input_copies.push_back(std::move(copy));
    return status;
  }
  const NsdkStatus status = right.exec_bind(execution, direction, index, &binding, reason);
  if (status != NSDK_OK && direction == NSDK_OUTPUT && index == 0 && Fault("132_keeps_bad_bindings") &&
      binding.memory == nullptr && binding.host_address != nullptr) {
    binding.size = uint64_t{1} << 40;
    right.exec_bind(execution, direction, index, &binding, nullptr);
  }
  return status == NSDK_BUSY && Fault("175_says_internal") ? NSDK_INTERNAL : status;
}

void ExecDestroy(NsdkExecution* execution) {
  if (execution == nullptr) return;
  if (Fault("116_leaks_executions")) new std::vector<uint8_t>(1024);
  if (Fault("192_leaves_runs_behind")) {
    const std::shared_ptr<ExecutionState> state = StateOf(execution);
    if (!state->over) return;
  }
  right.exec_destroy(execution);
}

NsdkStatus Run(NsdkExecution* execution, const NsdkTask* theirs, NsdkReason* reason) {
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  if (Fault("193_runs_beside") && !state->over) return NSDK_OK;
  ProgramState program;
  int in_group = 0;
  static std::atomic<int> group_runs = 0;
  {
    const std::lock_guard lock(TheShared().lock);
    program = TheShared().programs[state->program];
  }
  if (program.broken) return Explain(reason, NSDK_INTERNAL, "what was shared is gone");
  NsdkTask task = {};
  if (theirs != nullptr) std::memcpy(&task, theirs, std::min<size_t>(theirs->struct_size, sizeof task));
  NsdkTask around = {};
  around.struct_size = sizeof around;
  around.user = &task;
  around.progress = [](void* user, double done, const char* text) -> int32_t {
    const NsdkTask& inner = *static_cast<const NsdkTask*>(user);
    if (Fault("183_counts_down")) done = 1 - done;
    const int32_t answer = inner.progress == nullptr ? 0 : inner.progress(inner.user, done, text);
    return Fault("182_ignores_cancel") ? 0 : answer;
  };
  int at_once = ++*program.running;
  if (program.scratch != nullptr) in_group = ++group_runs;
  if (Fault("177_writes_inputs") && state->addresses[NSDK_INPUT] != nullptr) {
    auto* first = const_cast<uint8_t volatile*>(state->addresses[NSDK_INPUT]);
    *first = *first;
  }
  const NsdkStatus status = right.run(execution, &around, reason);
  if (Fault("180_shares_scratch") || Fault("171_runs_at_once"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  at_once = std::max<int>(at_once, *program.running);
  --*program.running;
  if (program.scratch != nullptr) {
    in_group = std::max<int>(in_group, group_runs);
    --group_runs;
  }
  if (status == NSDK_INVALID_ARGUMENT && Fault("133_runs_with_nothing")) return NSDK_OK;
  if (status == NSDK_BUSY && state->over && Fault("175_says_internal")) return NSDK_INTERNAL;
  if (status != NSDK_OK) return status;
  if (Fault("180_shares_scratch") && at_once > 1) SpoilOutput(*state);
  if (Fault("171_runs_at_once") && in_group > 1) SpoilOutput(*state);
  if (Fault("176_writes_beyond_the_output") && state->addresses[NSDK_OUTPUT] != nullptr) {
    auto* beyond = const_cast<uint8_t volatile*>(state->addresses[NSDK_OUTPUT] + state->sizes[NSDK_OUTPUT]);
    *beyond = *beyond;
  }
  return status;
}

void Unload(NsdkProgram* program) {
  if (program != nullptr && Fault("172_takes_weights_along")) {
    const std::lock_guard lock(TheShared().lock);
    const NsdkGroup* group = TheShared().programs[program].weights;
    for (auto& [other, state] : TheShared().programs)
      state.broken = state.broken || (group != nullptr && state.weights == group);
  }
  right.unload(program);
}

void GroupDestroy(NsdkGroup* group) {
  if (group != nullptr && Fault("173_takes_programs_along")) {
    const std::lock_guard lock(TheShared().lock);
    for (auto& [program, state] : TheShared().programs)
      state.broken = state.broken || state.scratch == group || state.weights == group;
  }
  right.group_destroy(group);
}

NsdkStatus MemCreate(NsdkContext* context, NsdkMemoryOptions* options, NsdkMemory** memory, NsdkReason* reason) {
  if (Fault("187_allocates_nothing") && options->size == 0) {
    *memory = new NsdkMemory;
    return NSDK_OK;
  }
  const NsdkStatus status = right.mem_create(context, options, memory, reason);
  if (status != NSDK_OK) return status;
  if (options->kind == NSDK_ALLOCATE && Fault("184_gives_no_address")) options->address = nullptr;
  if (options->kind == NSDK_IMPORT_FD && Fault("186_closes_the_descriptor")) close(options->fd);
  if (options->kind == NSDK_IMPORT_HOST && Fault("185_copies_at_import")) {
    NsdkMemory& mine = **memory;
    mine.allocated.assign(mine.address, mine.address + mine.size);
    mine.address = mine.allocated.data();
  }
  return status;
}

NsdkStatus Wait(NsdkExecution* execution, NsdkReason* reason) {
  const NsdkStatus status = right.wait(execution, reason);
  return status == NSDK_INVALID_ARGUMENT && Fault("191_waits_for_nothing") ? NSDK_OK : status;
}

}  // namespace

void BreakRuns(NsdkApi& table) {
  right = table;
  table.exec_create = ExecCreate;
  table.exec_bind = ExecBind;
  table.exec_destroy = ExecDestroy;
  table.run = Run;
  table.unload = Unload;
  table.group_destroy = GroupDestroy;
  table.mem_create = MemCreate;
  table.wait = Wait;
}

}  // namespace epiphyte::broken
