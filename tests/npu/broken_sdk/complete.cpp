#include "complete.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace epiphyte::broken {

bool Fault(std::string_view name) {
  const char* chosen = getenv("NSDK_FAULT");
  return chosen != nullptr && name == chosen;
}

Shared& TheShared() {
  static Shared& shared = *new Shared;
  return shared;
}

const NsdkApi& Minimal() {
  static const NsdkApi api = [] {
    NsdkApi table = {};
    table.struct_size = sizeof table;
    minimal_get_api(NSDK_VERSION, &table);
    return table;
  }();
  return api;
}

NsdkStatus Explain(NsdkReason* reason, NsdkStatus status, const char* text) {
  const size_t room = reason == nullptr ? 0 : std::min<size_t>(reason->struct_size, sizeof *reason);
  if (room > offsetof(NsdkReason, text)) {
    const size_t length = std::min(std::strlen(text), room - offsetof(NsdkReason, text) - 1);
    std::memcpy(reason->text, text, length);
    reason->text[length] = '\0';
  }
  return status;
}

namespace {

template <typename T>
T Take(const T* theirs) {
  T mine = {};
  if (theirs != nullptr) std::memcpy(&mine, theirs, std::min<size_t>(theirs->struct_size, sizeof mine));
  return mine;
}

std::shared_ptr<ExecutionState> StateOf(NsdkExecution* execution) {
  const std::lock_guard lock(TheShared().lock);
  const auto found = TheShared().executions.find(execution);
  return found == TheShared().executions.end() ? nullptr : found->second;
}

void Await(ExecutionState& state) {
  if (state.thread.joinable()) state.thread.join();
}

// --- information

NsdkStatus GetVersionInfo(NsdkVersionInfo* info) {
  const NsdkStatus status = Minimal().get_version_info(info);
  if (status == NSDK_OK && info->struct_size >= offsetof(NsdkVersionInfo, vendor)) {
    info->capabilities |= NSDK_CAN_GROUP | NSDK_CAN_BIND_MEMORY | NSDK_CAN_RUN_ASYNC | NSDK_CAN_COUNT;
  }
  return status;
}

NsdkStatus GetTarget(NsdkContext* context, NsdkTarget* target) {
  const NsdkStatus status = Minimal().get_target(context, target);
  if (status == NSDK_OK && target->struct_size >= offsetof(NsdkTarget, max_dimension)) {
    target->memory_alignment = kMemoryAlignment;
  }
  return status;
}

// --- groups: recorded only, since the minimal SDK gives each execution memory of its own, and each program its blob

NsdkStatus GroupCreate(NsdkContext* context, uint32_t kind, NsdkGroup** group, NsdkReason* reason) {
  *group = nullptr;
  if (kind != NSDK_SHARE_SCRATCH && kind != NSDK_SHARE_WEIGHTS)
    return Explain(reason, NSDK_INVALID_ARGUMENT, "no kind of group");
  *group = new NsdkGroup{context, kind};
  return NSDK_OK;
}

void GroupDestroy(NsdkGroup* group) { delete group; }

NsdkStatus Load(NsdkContext* context, const void* blob, uint64_t size, const NsdkLoadOptions* options,
                NsdkProgram** program, NsdkReason* reason) {
  const NsdkStatus status = Minimal().load(context, blob, size, options, program, reason);
  if (status != NSDK_OK) return status;
  const NsdkLoadOptions known = Take(options);
  const std::lock_guard lock(TheShared().lock);
  ProgramState& state = TheShared().programs[*program];
  state.scratch = known.scratch;
  state.weights = known.weights;
  return NSDK_OK;
}

void Unload(NsdkProgram* program) {
  if (program == nullptr) return;
  {
    const std::lock_guard lock(TheShared().lock);
    TheShared().programs.erase(program);
  }
  Minimal().unload(program);
}

// --- memory

NsdkStatus MemCreate(NsdkContext*, NsdkMemoryOptions* theirs, NsdkMemory** memory, NsdkReason* reason) {
  *memory = nullptr;
  const NsdkMemoryOptions options = Take(theirs);
  if (options.size == 0) return Explain(reason, NSDK_INVALID_ARGUMENT, "memory of 0 bytes");
  auto made = std::make_unique<NsdkMemory>();
  made->size = options.size;
  if (options.kind == NSDK_ALLOCATE) {
    made->allocated.resize(options.size + kMemoryAlignment);
    const auto address = reinterpret_cast<uintptr_t>(made->allocated.data());
    made->address = made->allocated.data() + (kMemoryAlignment - address % kMemoryAlignment) % kMemoryAlignment;
    theirs->address = made->address;
  } else if (options.kind == NSDK_IMPORT_HOST) {
    if (options.address == nullptr) return Explain(reason, NSDK_INVALID_ARGUMENT, "no address to import");
    made->address = static_cast<uint8_t*>(options.address);
  } else if (options.kind == NSDK_IMPORT_FD) {
    struct stat file;
    if (fstat(options.fd, &file) != 0) return Explain(reason, NSDK_INVALID_ARGUMENT, "no file to import");
    const auto length = static_cast<uint64_t>(file.st_size);
    if (options.offset > length || options.size > length - options.offset) {
      return Explain(reason, NSDK_INVALID_ARGUMENT, "the file is shorter than what is imported");
    }
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), begin = options.offset / page * page;
    made->mapped_size = options.offset - begin + options.size;
    made->mapped =
        mmap(nullptr, made->mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, options.fd, static_cast<off_t>(begin));
    if (made->mapped == MAP_FAILED) return Explain(reason, NSDK_INVALID_ARGUMENT, "the file can't be mapped");
    made->address = static_cast<uint8_t*>(made->mapped) + (options.offset - begin);
  } else {
    return Explain(reason, NSDK_INVALID_ARGUMENT, "no kind of memory");
  }
  *memory = made.release();
  return NSDK_OK;
}

void MemDestroy(NsdkMemory* memory) {
  if (memory == nullptr) return;
  if (memory->mapped != nullptr) munmap(memory->mapped, memory->mapped_size);
  delete memory;
}

// --- executions

NsdkStatus ExecCreate(NsdkProgram* program, uint32_t graph, NsdkExecution** execution, NsdkReason* reason) {
  const NsdkStatus status = Minimal().exec_create(program, graph, execution, reason);
  if (status != NSDK_OK) return status;
  auto state = std::make_shared<ExecutionState>();
  state->program = program;
  const std::lock_guard lock(TheShared().lock);
  TheShared().executions[*execution] = std::move(state);
  return NSDK_OK;
}

NsdkStatus ExecBind(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* theirs,
                    NsdkReason* reason) {
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  if (!state->over) return Explain(reason, NSDK_BUSY, "the execution is running");
  NsdkBinding binding = Take(theirs);
  binding.struct_size = sizeof binding;
  if (binding.memory != nullptr) {
    const NsdkMemory& memory = *binding.memory;
    if (binding.offset % kMemoryAlignment != 0)
      return Explain(reason, NSDK_INVALID_ARGUMENT, "the offset is no multiple of 64");
    if (binding.offset > memory.size || binding.size > memory.size - binding.offset) {
      return Explain(reason, NSDK_INVALID_ARGUMENT, "the binding is beyond the memory");
    }
    binding.host_address = memory.address + binding.offset;
    binding.memory = nullptr;
  }
  const NsdkStatus status = Minimal().exec_bind(execution, direction, index, &binding, reason);
  if (status == NSDK_OK && index == 0) {
    state->sizes[direction] = binding.size;
    state->addresses[direction] = static_cast<uint8_t*>(binding.host_address);
  }
  return status;
}

void ExecDestroy(NsdkExecution* execution) {
  if (execution == nullptr) return;
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  Await(*state);
  {
    const std::lock_guard lock(TheShared().lock);
    TheShared().executions.erase(execution);
  }
  Minimal().exec_destroy(execution);
}

NsdkStatus Run(NsdkExecution* execution, const NsdkTask* task, NsdkReason* reason) {
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  if (!state->over) return Explain(reason, NSDK_BUSY, "a run that was started goes on");
  const NsdkStatus status = Minimal().run(execution, task, reason);
  if (status == NSDK_OK) ++state->runs;
  return status;
}

NsdkStatus RunAsync(NsdkExecution* execution, void (*done)(void*, NsdkStatus), void* user, NsdkReason* reason) {
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  if (!state->over.exchange(false)) return Explain(reason, NSDK_BUSY, "a run that was started goes on");
  Await(*state);
  state->started = true;
  state->thread = std::thread([state, execution, done, user] {
    state->status = Minimal().run(execution, nullptr, nullptr);
    ++state->runs;
    if (done != nullptr || Fault("194_needs_done")) done(user, state->status);
    if (done != nullptr && Fault("190_calls_twice")) done(user, state->status);
    state->over = true;
  });
  return NSDK_OK;
}

NsdkStatus Wait(NsdkExecution* execution, NsdkReason* reason) {
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  if (!state->started) return Explain(reason, NSDK_INVALID_ARGUMENT, "no run was started");
  Await(*state);
  return state->status;
}

// Counts the cycles of a device that moves 8 bytes a cycle and does nothing else.
NsdkStatus GetCounters(NsdkExecution* execution, NsdkCounters* counters) {
  const std::shared_ptr<ExecutionState> state = StateOf(execution);
  NsdkCounters mine = {};
  mine.struct_size = counters->struct_size;
  mine.axi_beat_bytes = 8;
  mine.axi_read_beats = (state->sizes[NSDK_INPUT] + 7) / 8;
  mine.axi_write_beats = (state->sizes[NSDK_OUTPUT] + 7) / 8;
  mine.npu_active_cycles = mine.axi_read_beats + mine.axi_write_beats;
  mine.npu_idle_cycles = 16;
  mine.npu_total_cycles = mine.npu_active_cycles + mine.npu_idle_cycles;
  if (Fault("140_counts_runs")) mine.stall_dma_cycles = state->runs;
  if (Fault("195_forgets_idle_cycles")) mine.npu_idle_cycles = 0;
  std::memcpy(counters, &mine, std::min<size_t>(counters->struct_size, sizeof mine));
  return NSDK_OK;
}

}  // namespace

void CompleteTable(NsdkApi& table) {
  table = Minimal();
  table.get_version_info = GetVersionInfo;
  table.get_target = GetTarget;
  table.group_create = GroupCreate;
  table.group_destroy = GroupDestroy;
  table.load = Load;
  table.unload = Unload;
  table.mem_create = MemCreate;
  table.mem_destroy = MemDestroy;
  table.exec_create = ExecCreate;
  table.exec_bind = ExecBind;
  table.exec_destroy = ExecDestroy;
  table.run = Run;
  table.run_async = RunAsync;
  table.wait = Wait;
  table.get_counters = GetCounters;
}

}  // namespace epiphyte::broken

// The SDK's entry point: gives the complete table with the chosen fault in it.
extern "C" __attribute__((visibility("default"))) NsdkStatus nsdk_get_api(uint32_t version, NsdkApi* table) {
  using namespace epiphyte::broken;
  if (version >> 16 != NSDK_VERSION_MAJOR && !Fault("107_serves_all")) return NSDK_INCOMPATIBLE;
  NsdkApi mine = {};
  CompleteTable(mine);
  BreakLibrary(mine);
  BreakCompiling(mine);
  BreakBlobs(mine);
  BreakRuns(mine);
  const uint32_t size = std::min<uint32_t>(table->struct_size, sizeof mine);
  mine.struct_size = size;
  if (size >= 2 * sizeof(uint32_t)) std::memcpy(table, &mine, size);
  if (size >= sizeof size) table->struct_size = size;
  return NSDK_OK;
}
