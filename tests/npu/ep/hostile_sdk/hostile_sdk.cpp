// An SDK that fails in the function that EPIPHYTE_HOSTILE_SDK names. Otherwise it forwards all 25 functions to the
// simulator, which it opens. hostile_sdk.h tells which functions were called and which memory was bound.
//
//   EPIPHYTE_HOSTILE_SDK=compile.fails     the function returns NSDK_INTERNAL with a reason of garbage
//   EPIPHYTE_HOSTILE_SDK=compile.throws    or throws
//   EPIPHYTE_HOSTILE_SDK=compile.nonsense  or returns a status that is none
//   EPIPHYTE_HOSTILE_SDK=compile.null      or returns NSDK_OK and gives nothing
//
// The same applies to each function; those that return nothing do their work and throw. Further faults are below, each
// named where it acts.
#define NSDK_IMPLEMENTATION  // declares nsdk_get_api for export
#include "tests/npu/ep/hostile_sdk/hostile_sdk.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

namespace {

// Record of all calls since the library was opened.
struct Record {
  std::mutex mutex;
  std::map<std::string, uint64_t> calls;
  std::map<NsdkMemory*, void*> imported;
  std::map<uint32_t, HostileBinding> inputs, outputs;  // the last binding of each index
};
Record& Recorded() {
  static Record& record = *new Record;  // never destroyed, because functions are called until the process ends
  return record;
}

// Read at each call, because tests change it.
std::string Fault() {
  const char* fault = std::getenv("EPIPHYTE_HOSTILE_SDK");
  return fault == nullptr ? "" : fault;
}

const NsdkApi& Real() {
  static const NsdkApi api = [] {
    void* const library = dlopen(EPIPHYTE_NPUSIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const auto get = reinterpret_cast<NsdkGetApi>(dlsym(library, "nsdk_get_api"));
    NsdkApi made = {};
    made.struct_size = sizeof(made);
    get(NSDK_VERSION, &made);
    return made;
  }();
  return api;
}

// Writes a text without terminator that is neither one line nor UTF-8.
void FillWithGarbage(NsdkReason* reason) {
  if (reason == nullptr) return;
  std::memset(reason->text, 0xff, sizeof(reason->text));
  std::memcpy(reason->text, "bad\nnews\x1b[31m", 13);
}

// True if the function must return `status` instead of doing its work. Counts the call and throws if that is the fault.
bool GoesWrong(const std::string& name, NsdkReason* reason, NsdkStatus* status) {
  {
    const std::lock_guard lock(Recorded().mutex);
    ++Recorded().calls[name];
  }
  const std::string fault = Fault();
  if (fault == name + ".throws") throw std::runtime_error("thrown across the interface");
  if (fault == name + ".fails") {
    FillWithGarbage(reason);
    *status = NSDK_INTERNAL;
    return true;
  }
  if (fault == name + ".nonsense") {
    *status = 77;
    return true;
  }
  if (fault == name + ".unsupported") {
    *status = NSDK_UNSUPPORTED;
    return true;
  }
  if (fault == name + ".lost") {
    *status = NSDK_DEVICE_LOST;
    return true;
  }
  *status = NSDK_OK;
  return fault == name + ".null";
}

#define OR_FAIL(name, reason)                            \
  do {                                                   \
    NsdkStatus status = NSDK_OK;                         \
    if (GoesWrong(name, reason, &status)) return status; \
  } while (false)

// Counts the call of a function that returns nothing, and throws if that is the fault.
void Finish(const std::string& name) {
  NsdkStatus ignored = NSDK_OK;
  GoesWrong(name, nullptr, &ignored);
}

NsdkStatus GetVersionInfo(NsdkVersionInfo* info) {
  OR_FAIL("get_version_info", nullptr);
  const NsdkStatus status = Real().get_version_info(info);
  if (Fault() == "version.garbage") info->name = "\xff\xfe\n\n name";
  if (Fault() == "version.blobs") info->blob_version_min = info->blob_version_written + 1;
  if (Fault() == "version.nameless") info->name = nullptr;
  if (Fault() == "version.other") info->nsdk_version = 0x00020000u;
  if (Fault() == "version.plain") info->capabilities = NSDK_CAN_COMPILE;
  return status;
}

NsdkStatus ListDevices(uint32_t* count, NsdkDevice* devices) {
  OR_FAIL("list_devices", nullptr);
  if (Fault() == "devices.none") return *count = 0, NSDK_OK;
  if (Fault() == "devices.many") return *count = 4'000'000'000u, NSDK_OK;
  if (Fault() == "devices.grow" && devices != nullptr) {
    const NsdkStatus status = Real().list_devices(count, devices);
    *count = 1000;
    return status;
  }
  const NsdkStatus status = Real().list_devices(count, devices);
  if (Fault() == "devices.garbage" && devices != nullptr)
    devices[0].name = "\x80\x81\n", devices[0].architecture = nullptr;
  return status;
}

NsdkStatus ContextCreate(const NsdkContextOptions* options, NsdkContext** context, NsdkReason* reason) {
  OR_FAIL("context_create", reason);
  if (Fault() == "log.garbage") options->log(options->user, 99, "\xff\n\x01");
  if (Fault() == "log.garbage") options->log(options->user, 0, nullptr);
  return Real().context_create(options, context, reason);
}

NsdkStatus GetTarget(NsdkContext* context, NsdkTarget* target) {
  OR_FAIL("get_target", nullptr);
  const NsdkStatus status = Real().get_target(context, target);
  if (Fault() == "target.alignment") target->memory_alignment = 3;
  if (Fault() == "target.pages") target->memory_alignment = 1u << 20;
  if (Fault() == "target.dimension") target->max_dimension = -1;
  if (Fault() == "target.nameless") target->architecture = nullptr;
  return status;
}

NsdkStatus QueryOp(NsdkContext* context, const NsdkGraph* graph, uint32_t op, NsdkReason* reason) {
  OR_FAIL("query_op", reason);
  return Real().query_op(context, graph, op, reason);
}

NsdkStatus Compile(NsdkContext* context, const NsdkGraph* graph, const NsdkTask* task, NsdkCompiled** compiled,
                   NsdkReason* reason) {
  OR_FAIL("compile", reason);
  if (Fault() == "progress.garbage") {
    task->progress(task->user, -5, "\xff\n");
    task->progress(task->user, 1e300, nullptr);
  }
  return Real().compile(context, graph, task, compiled, reason);
}

NsdkStatus WriteBlob(NsdkContext* context, NsdkCompiled* const* compiled, uint32_t count, const NsdkSink* sink,
                     NsdkReason* reason) {
  OR_FAIL("write_blob", reason);
  if (Fault() == "sink.lies") return sink->write(sink->user, "abc", 3, 2), NSDK_OK;
  if (Fault() == "sink.short") return sink->write(sink->user, "abc", 3, 100), NSDK_OK;
  if (Fault() == "sink.nothing") return sink->write(sink->user, nullptr, 3, 3), NSDK_OK;
  return Real().write_blob(context, compiled, count, sink, reason);
}

const int64_t kDims[] = {-4, INT64_MAX, INT64_MAX, 5, 5, 5, 5, 5, 5};
NsdkIo damaged_io = {};
NsdkBlobGraph damaged_graph = {};
NsdkBlobInfo damaged_info = {};

NsdkStatus BlobInfo(const void* blob, uint64_t size, const NsdkBlobInfo** info, NsdkReason* reason) {
  OR_FAIL("blob_info", reason);
  const NsdkStatus status = Real().blob_info(blob, size, info, reason);
  const std::string fault = Fault();
  if (status != NSDK_OK || fault.substr(0, 5) != "info.") return status;
  damaged_info = **info;
  damaged_graph = damaged_info.graphs[0];
  damaged_io = damaged_graph.inputs[0];
  if (fault == "info.graphs") damaged_info.graph_count = 4'000'000'000u;
  if (fault == "info.null") damaged_info.graphs = nullptr;
  if (fault == "info.rank") damaged_io.rank = 1'000'000u;
  if (fault == "info.dims") damaged_io.dims = kDims;
  if (fault == "info.size") damaged_io.size += 1;
  if (fault == "info.type") damaged_io.type = 99;
  if (fault == "info.stride") damaged_io.struct_size = 3;
  if (fault == "info.name") damaged_graph.name = nullptr;
  damaged_graph.inputs = &damaged_io;
  damaged_graph.input_count = 1;
  if (fault != "info.null") damaged_info.graphs = &damaged_graph;
  *info = &damaged_info;
  return status;
}
void BlobInfoRelease(const NsdkBlobInfo* info) {
  if (info != &damaged_info) Real().blob_info_release(info);
  Finish("blob_info_release");
}

NsdkStatus CheckBlob(NsdkContext* context, const void* blob, uint64_t size, uint32_t* verdict, NsdkReason* reason) {
  OR_FAIL("check_blob", reason);
  const NsdkStatus status = Real().check_blob(context, blob, size, verdict, reason);
  if (Fault() == "verdict.garbage") *verdict = 99;
  if (Fault() == "verdict.prefer") *verdict = NSDK_PREFER_RECOMPILE;
  if (Fault() == "verdict.must") *verdict = NSDK_MUST_RECOMPILE;
  if (Fault() == "verdict.damaged") *verdict = NSDK_NOT_A_BLOB;
  return status;
}

NsdkStatus Load(NsdkContext* context, const void* blob, uint64_t size, const NsdkLoadOptions* options,
                NsdkProgram** program, NsdkReason* reason) {
  OR_FAIL("load", reason);
  if (Fault() == "verdict.must") return NSDK_INCOMPATIBLE;
  if (Fault() == "verdict.damaged" || Fault() == "load.corrupt") return NSDK_CORRUPT;
  return Real().load(context, blob, size, options, program, reason);
}
NsdkStatus ExecCreate(NsdkProgram* program, uint32_t graph, NsdkExecution** execution, NsdkReason* reason) {
  OR_FAIL("exec_create", reason);
  return Real().exec_create(program, graph, execution, reason);
}
NsdkStatus ExecBind(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* binding,
                    NsdkReason* reason) {
  OR_FAIL("exec_bind", reason);
  const NsdkStatus status = Real().exec_bind(execution, direction, index, binding, reason);
  const std::lock_guard lock(Recorded().mutex);
  const bool is_imported = binding->memory != nullptr;
  void* const address = is_imported ? Recorded().imported.at(binding->memory) : binding->host_address;
  (direction == NSDK_OUTPUT ? Recorded().outputs : Recorded().inputs)[index] = {address, binding->size, is_imported};
  return status;
}
NsdkStatus Run(NsdkExecution* execution, const NsdkTask* task, NsdkReason* reason) {
  OR_FAIL("run", reason);
  return Real().run(execution, task, reason);
}

NsdkStatus GroupCreate(NsdkContext* context, uint32_t kind, NsdkGroup** group, NsdkReason* reason) {
  OR_FAIL("group_create", reason);
  return Real().group_create(context, kind, group, reason);
}
NsdkStatus MemCreate(NsdkContext* context, NsdkMemoryOptions* options, NsdkMemory** memory, NsdkReason* reason) {
  OR_FAIL("mem_create", reason);
  const NsdkStatus status = Real().mem_create(context, options, memory, reason);
  const std::lock_guard lock(Recorded().mutex);
  if (status == NSDK_OK && options->kind == NSDK_IMPORT_HOST) Recorded().imported[*memory] = options->address;
  return status;
}
NsdkStatus RunAsync(NsdkExecution* execution, void (*done)(void* user, NsdkStatus status), void* user,
                    NsdkReason* reason) {
  OR_FAIL("run_async", reason);
  return Real().run_async(execution, done, user, reason);
}
NsdkStatus Wait(NsdkExecution* execution, NsdkReason* reason) {
  OR_FAIL("wait", reason);
  return Real().wait(execution, reason);
}
NsdkStatus GetCounters(NsdkExecution* execution, NsdkCounters* counters) {
  OR_FAIL("get_counters", nullptr);
  return Real().get_counters(execution, counters);
}

void ContextDestroy(NsdkContext* context) {
  Real().context_destroy(context);
  Finish("context_destroy");
}
void CompiledDestroy(NsdkCompiled* compiled) {
  Real().compiled_destroy(compiled);
  Finish("compiled_destroy");
}
void GroupDestroy(NsdkGroup* group) {
  Real().group_destroy(group);
  Finish("group_destroy");
}
void Unload(NsdkProgram* program) {
  Real().unload(program);
  Finish("unload");
}
void MemDestroy(NsdkMemory* memory) {
  Real().mem_destroy(memory);
  Finish("mem_destroy");
}
void ExecDestroy(NsdkExecution* execution) {
  Real().exec_destroy(execution);
  Finish("exec_destroy");
}

}  // namespace

NsdkStatus nsdk_get_api(uint32_t version, NsdkApi* table) {
  const std::string fault = Fault();
  if (fault == "table.throws") throw 7;
  if (fault == "table.none") return NSDK_INTERNAL;
  if (fault == "table.version" || version >> 16 != NSDK_VERSION_MAJOR) return NSDK_INCOMPATIBLE;
  *table = Real();
  table->get_version_info = GetVersionInfo;
  table->list_devices = ListDevices;
  table->context_create = ContextCreate;
  table->context_destroy = ContextDestroy;
  table->get_target = GetTarget;
  table->query_op = QueryOp;
  table->compile = Compile;
  table->compiled_destroy = CompiledDestroy;
  table->write_blob = WriteBlob;
  table->blob_info = BlobInfo;
  table->blob_info_release = BlobInfoRelease;
  table->check_blob = CheckBlob;
  table->group_create = GroupCreate;
  table->group_destroy = GroupDestroy;
  table->load = Load;
  table->unload = Unload;
  table->mem_create = MemCreate;
  table->mem_destroy = MemDestroy;
  table->exec_create = ExecCreate;
  table->exec_bind = ExecBind;
  table->exec_destroy = ExecDestroy;
  table->run = Run;
  table->run_async = RunAsync;
  table->wait = Wait;
  table->get_counters = GetCounters;
  if (fault == "table.short") table->struct_size = 64;
  if (fault == "table.long") table->struct_size = 4096;
  if (fault == "table.null") table->compile = nullptr;
  if (fault == "table.hole") table->mem_create = nullptr;
  if (fault == "table.headless") table->get_version_info = nullptr;
  return NSDK_OK;
}

uint64_t hostile_sdk_calls(const char* function) {
  const std::lock_guard lock(Recorded().mutex);
  return Recorded().calls[function];
}

HostileBinding hostile_sdk_binding(uint32_t direction, uint32_t index) {
  const std::lock_guard lock(Recorded().mutex);
  return (direction == NSDK_OUTPUT ? Recorded().outputs : Recorded().inputs)[index];
}
