// The table of nsdk.h. Each function checks what it is given, does its work through the other files of this folder, and
// lets no exception out.
#define NSDK_IMPLEMENTATION  // this file defines nsdk_get_api
#include <array>
#include <cstddef>
#include <utility>

#include "nsdk.h"
#include "plugins/npu/simulator/sdk/blob_description.h"
#include "plugins/npu/simulator/sdk/memory.h"
#include "plugins/npu/simulator/sdk/objects.h"
#include "plugins/npu/simulator/sdk/program.h"
#include "plugins/npu/simulator/sdk/status.h"

namespace epiphyte::npusim {
namespace {

constexpr char kSdkVersion[] = "1.0.0";

// The architecture of a device without options; the text is valid as long as the library is open.
const char* DefaultArchitecture() {
  static const auto& text = *new std::string(Architecture(Config{}));
  return text.c_str();
}

template <typename T>
void CheckOut(T** out, const char* what) {
  Require(out != nullptr, std::string(what) + " is null, expected where to put it");
  *out = nullptr;
}

template <typename T>
void CheckHandle(const T* handle, const char* what) {
  Require(handle != nullptr, std::string(what) + " is null");
}

std::span<const std::byte> BytesOf(const void* blob, uint64_t size) {
  Require(blob != nullptr || size == 0, "the blob is null, its size " + std::to_string(size));
  return {static_cast<const std::byte*>(blob), static_cast<size_t>(size)};
}

NsdkStatus GetVersionInfo(NsdkVersionInfo* info) {
  return Guard(nullptr, [&] {
    WriteStruct(info,
                NsdkVersionInfo{.struct_size = sizeof(NsdkVersionInfo),
                                .nsdk_version = NSDK_VERSION,
                                .capabilities = NSDK_CAN_COMPILE | NSDK_CAN_GROUP | NSDK_CAN_BIND_MEMORY |
                                                NSDK_CAN_RUN_ASYNC | NSDK_CAN_COUNT,
                                .vendor = "Epiphyte",
                                .name = "npusim",
                                .version = kSdkVersion,
                                .build_id = "",
                                .blob_version_written = kBlobVersion,
                                .blob_version_min = kBlobVersion,
                                .blob_version_max = kBlobVersion,
                                .reserved = 0},
                "info");
  });
}

NsdkStatus ListDevices(uint32_t* count, NsdkDevice* devices) {
  return Guard(nullptr, [&] {
    Require(count != nullptr, "count is null");
    Require(devices != nullptr || *count == 0, "devices is null");
    if (*count > 0) {
      WriteStruct(devices,
                  NsdkDevice{.struct_size = sizeof(NsdkDevice),
                             .id = 0,
                             .name = "simulated NPU",
                             .architecture = DefaultArchitecture(),
                             .memory_size = 0,
                             .flags = NSDK_DEVICE_SOFTWARE,
                             .reserved = 0},
                  "devices[0]");
    }
    *count = 1;
  });
}

NsdkStatus ContextCreate(const NsdkContextOptions* caller, NsdkContext** out, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "context");
    const NsdkContextOptions options = ReadStruct(caller, "the options of the context");
    Require(options.device == 0 || options.device == NSDK_WITHOUT_DEVICE,
            "there is no device " + std::to_string(options.device) + ", expected 0, or none (4294967295)",
            NSDK_NO_DEVICE);
    auto context = std::make_unique<NsdkContext>();
    for (uint32_t i = 0; i < options.option_count; ++i) {
      const NsdkOption option = ReadElement(options.options, i, "the options");
      Require(option.key != nullptr && option.value != nullptr,
              "option " + std::to_string(i) + " has a null key or value");
      SetOption(context->settings, option.key, option.value);
    }
    Finish(context->settings);
    context->has_device = options.device != NSDK_WITHOUT_DEVICE;
    context->architecture = Architecture(context->settings.config);
    context->log = options.log;
    context->user = options.user;
    *out = context.release();
  });
}

void ContextDestroy(NsdkContext* context) { delete context; }

NsdkStatus GetTarget(NsdkContext* context, NsdkTarget* target) {
  return Guard(nullptr, [&] {
    CheckHandle(context, "context");
    uint64_t ops = 0;
    for (uint32_t op = NSDK_CONV; op <= NSDK_REDUCE_MEAN; ++op) ops |= uint64_t{1} << op;
    WriteStruct(target,
                NsdkTarget{.struct_size = sizeof(NsdkTarget),
                           .macs_per_cycle = context->settings.config.Macs(),
                           .architecture = context->architecture.c_str(),
                           .scratchpad_size = context->settings.config.scratchpad_bytes,
                           .types = 1u << NSDK_INT8 | 1u << NSDK_UINT8 | 1u << NSDK_INT16 | 1u << NSDK_UINT16 |
                                    1u << NSDK_INT32 | 1u << NSDK_FLOAT32,
                           .ops = ops,
                           .max_rank = kMaxRank,
                           .memory_alignment = 1,
                           .max_dimension = kMaxDimension,
                           .clock_hz = 1e9},
                "target");
  });
}

NsdkStatus QueryOp(NsdkContext* context, const NsdkGraph* graph, uint32_t op, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckHandle(context, "context");
    CheckHandle(graph, "graph");
    CheckOp(*graph, op, context->settings.config);
  });
}

NsdkStatus CompileGraph(NsdkContext* context, const NsdkGraph* graph, const NsdkTask* caller, NsdkCompiled** out,
                        NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "compiled");
    CheckHandle(context, "context");
    CheckHandle(graph, "graph");
    const NsdkTask task = caller == nullptr ? NsdkTask{} : ReadStruct(caller, "the task");
    CompileOptions options;
    options.config = context->settings.config;
    options.effort = context->settings.effort;
    options.fusion = context->settings.fusion;
    if (task.progress != nullptr) {
      options.progress = [&](double done, const std::string& text) {
        return task.progress(task.user, done, text.c_str()) == 0;
      };
    }
    auto compiled = std::make_unique<NsdkCompiled>();
    compiled->config = context->settings.config;
    compiled->graph = Compile(*graph, options);
    context->Log(NSDK_LOG_DEBUG, "compiled '" + compiled->graph.name +
                                     "': " + std::to_string(compiled->graph.program.size()) + " commands, " +
                                     std::to_string(compiled->graph.scratch_size) + " bytes of scratch");
    *out = compiled.release();
  });
}

void CompiledDestroy(NsdkCompiled* compiled) { delete compiled; }

NsdkStatus WriteBlobTo(NsdkContext* context, NsdkCompiled* const* compiled, uint32_t count, const NsdkSink* caller,
                       NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckHandle(context, "context");
    Require(compiled != nullptr && count > 0, "there is nothing compiled, expected at least one");
    const NsdkSink sink = ReadStruct(caller, "the sink");
    Require(sink.write != nullptr, "the sink has no write function");
    std::vector<const CompiledGraph*> graphs;
    for (uint32_t i = 0; i < count; ++i) {
      CheckHandle(compiled[i], "a compiled graph");
      Require(Architecture(compiled[i]->config) == context->architecture,
              "'" + compiled[i]->graph.name + "' was compiled for " + Architecture(compiled[i]->config) +
                  ", expected " + context->architecture);
      graphs.push_back(&compiled[i]->graph);
    }
    const std::vector<std::byte> bytes = WriteBlob(context->settings.config, graphs, kSdkVersion);
    constexpr size_t kPieceBytes = size_t{1} << 20;
    for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
      const size_t size = std::min(kPieceBytes, bytes.size() - at);
      Require(sink.write(sink.user, bytes.data() + at, size, bytes.size()) == 0, "writing the blob was cancelled",
              NSDK_CANCELLED);
    }
  });
}

NsdkStatus BlobInfo(const void* blob, uint64_t size, const NsdkBlobInfo** out, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "info");
    *out = DescribeBlob(ReadDescription(BytesOf(blob, size)));
  });
}

NsdkStatus CheckBlob(NsdkContext* context, const void* blob, uint64_t size, uint32_t* verdict, NsdkReason* reason) {
  return Guard(reason, [&] {
    Require(verdict != nullptr, "verdict is null, expected where to put it");
    *verdict = 0;
    CheckHandle(context, "context");
    std::string why;
    try {
      switch (FitOf(ReadBlob(BytesOf(blob, size)), context->settings.config, &why)) {
        case Fit::kOptimal: *verdict = NSDK_OPTIMAL; break;
        case Fit::kPreferRecompile: *verdict = NSDK_PREFER_RECOMPILE; break;
        case Fit::kMustRecompile: *verdict = NSDK_MUST_RECOMPILE; break;
      }
    } catch (const BlobError& e) {
      *verdict = e.kind == BlobError::kCorrupt ? NSDK_NOT_A_BLOB : NSDK_MUST_RECOMPILE;
      why = e.what();
    }
    if (*verdict != NSDK_OPTIMAL) WriteReason(reason, why);
  });
}

NsdkStatus GroupCreate(NsdkContext* context, uint32_t kind, NsdkGroup** out, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "group");
    CheckHandle(context, "context");
    Require(kind == NSDK_SHARE_SCRATCH || kind == NSDK_SHARE_WEIGHTS,
            "kind of group is " + std::to_string(kind) + ", expected 1 (share scratch) or 2 (share weights)");
    auto group = std::make_unique<NsdkGroup>();
    group->kind = kind;
    if (kind == NSDK_SHARE_SCRATCH) group->scratch = std::make_shared<SharedScratch>();
    if (kind == NSDK_SHARE_WEIGHTS) group->weights = std::make_shared<SharedWeights>();
    *out = group.release();
  });
}

void GroupDestroy(NsdkGroup* group) { delete group; }

NsdkStatus Load(NsdkContext* context, const void* blob, uint64_t size, const NsdkLoadOptions* caller, NsdkProgram** out,
                NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "program");
    CheckHandle(context, "context");
    const NsdkLoadOptions options = caller == nullptr ? NsdkLoadOptions{} : ReadStruct(caller, "the load's options");
    *out = LoadProgram(*context, BytesOf(blob, size), options).release();
  });
}

void Unload(NsdkProgram* program) { delete program; }

NsdkStatus MemCreate(NsdkContext* context, NsdkMemoryOptions* caller, NsdkMemory** out, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "memory");
    CheckHandle(context, "context");
    NsdkMemoryOptions options = ReadStruct(caller, "the memory's options");
    auto memory = CreateMemory(options);
    if (options.kind == NSDK_ALLOCATE) {
      Require(caller->struct_size >= offsetof(NsdkMemoryOptions, address) + sizeof(void*),
              "the memory's options are too short for its address");
      caller->address = memory->address;
    }
    *out = memory.release();
  });
}

void MemDestroy(NsdkMemory* memory) { delete memory; }

NsdkStatus ExecCreate(NsdkProgram* program, uint32_t graph, NsdkExecution** out, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckOut(out, "execution");
    CheckHandle(program, "program");
    Require(graph < program->blob.graphs.size(), "there is no graph " + std::to_string(graph) + ", the blob has " +
                                                     std::to_string(program->blob.graphs.size()));
    *out = new NsdkExecution(*program, graph);
  });
}

NsdkStatus ExecBind(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* binding,
                    NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckHandle(execution, "execution");
    execution->Bind(direction, index, ReadStruct(binding, "the binding"));
  });
}

void ExecDestroy(NsdkExecution* execution) { delete execution; }

NsdkStatus Run(NsdkExecution* execution, const NsdkTask* caller, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckHandle(execution, "execution");
    const NsdkTask task = caller == nullptr ? NsdkTask{} : ReadStruct(caller, "the task");
    execution->Run(&task);
  });
}

NsdkStatus RunAsync(NsdkExecution* execution, void (*done)(void* user, NsdkStatus status), void* user,
                    NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckHandle(execution, "execution");
    execution->Start(done, user);
  });
}

NsdkStatus Wait(NsdkExecution* execution, NsdkReason* reason) {
  return Guard(reason, [&] {
    CheckHandle(execution, "execution");
    const Failure failure = execution->Wait();
    Require(failure.status == NSDK_OK, failure.text, failure.status);
  });
}

NsdkStatus GetCounters(NsdkExecution* execution, NsdkCounters* counters) {
  return Guard(nullptr, [&] {
    CheckHandle(execution, "execution");
    const CycleCounters c = execution->Counters();
    WriteStruct(counters,
                NsdkCounters{.struct_size = sizeof(NsdkCounters),
                             .reserved = 0,
                             .npu_active_cycles = c.npu_active_cycles,
                             .npu_idle_cycles = c.npu_idle_cycles,
                             .npu_total_cycles = c.npu_total_cycles,
                             .axi_read_beats = c.axi_read_beats,
                             .axi_write_beats = c.axi_write_beats,
                             .axi_beat_bytes = c.axi_beat_bytes,
                             .macs = c.macs,
                             .mac_active_cycles = c.mac_active_cycles,
                             .stall_dma_cycles = c.stall_dma_cycles,
                             .stall_dependency_cycles = c.stall_dependency_cycles,
                             .scratchpad_peak = c.scratchpad_peak},
                "counters");
  });
}

constexpr NsdkApi kApi = {.struct_size = sizeof(NsdkApi),
                          .reserved = 0,
                          .get_version_info = GetVersionInfo,
                          .list_devices = ListDevices,
                          .context_create = ContextCreate,
                          .context_destroy = ContextDestroy,
                          .get_target = GetTarget,
                          .query_op = QueryOp,
                          .compile = CompileGraph,
                          .compiled_destroy = CompiledDestroy,
                          .write_blob = WriteBlobTo,
                          .blob_info = BlobInfo,
                          .blob_info_release = ReleaseBlobInfo,
                          .check_blob = CheckBlob,
                          .group_create = GroupCreate,
                          .group_destroy = GroupDestroy,
                          .load = Load,
                          .unload = Unload,
                          .mem_create = MemCreate,
                          .mem_destroy = MemDestroy,
                          .exec_create = ExecCreate,
                          .exec_bind = ExecBind,
                          .exec_destroy = ExecDestroy,
                          .run = Run,
                          .run_async = RunAsync,
                          .wait = Wait,
                          .get_counters = GetCounters};

}  // namespace
}  // namespace epiphyte::npusim

extern "C" NSDK_EXPORT NsdkStatus nsdk_get_api(uint32_t version, NsdkApi* table) {
  if (table == nullptr || table->struct_size < sizeof(uint32_t)) return NSDK_INVALID_ARGUMENT;
  if (version >> 16 != NSDK_VERSION_MAJOR) return NSDK_INCOMPATIBLE;
  const uint32_t known = std::min<uint32_t>(table->struct_size, sizeof(NsdkApi));
  std::memcpy(table, &epiphyte::npusim::kApi, known);
  table->struct_size = known;
  return NSDK_OK;
}
