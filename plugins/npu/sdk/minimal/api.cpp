// The table of nsdk.h. Each entry turns an exception into a status and a reason.
#define NSDK_IMPLEMENTATION  // declares nsdk_get_api for export
#include <atomic>
#include <charconv>
#include <memory>
#include <new>

#include "blob.h"

using namespace epiphyte::minimal;

struct NsdkContext {
  uint32_t lanes = 64;
  bool has_device = false;
  std::string architecture;
};

struct NsdkCompiled {
  std::string architecture;
  Graph graph;
  std::vector<std::vector<uint8_t>> constants;
};

struct NsdkProgram {
  std::vector<uint8_t> copy;
  Blob blob;
};

struct NsdkExecution {
  const Graph* graph;
  std::vector<std::vector<uint8_t>> results;  // by tensor: results of operators
  std::vector<void*> bound[2];                // by NsdkDirection
  std::atomic<bool> busy = false;
};

namespace {

constexpr uint32_t kDeviceId = 0;

// Copies to the caller's struct, up to the size that the caller knows.
template <typename T>
void Give(T* theirs, T mine) {
  mine.struct_size = theirs->struct_size;
  std::memcpy(theirs, &mine, std::min<size_t>(theirs->struct_size, sizeof mine));
}

NsdkStatus Explain(NsdkReason* reason, NsdkStatus status, std::string text) {
  const size_t room = reason == nullptr ? 0 : std::min<size_t>(reason->struct_size, sizeof *reason);
  if (room <= offsetof(NsdkReason, text)) return status;
  for (char& letter : text) letter = static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  const size_t length = std::min(text.size(), room - offsetof(NsdkReason, text) - 1);
  std::memcpy(reason->text, text.data(), length);
  reason->text[length] = '\0';
  return status;
}

template <typename F>
NsdkStatus Guarded(NsdkReason* reason, F call) noexcept {
  try {
    call();
    return NSDK_OK;
  } catch (const Error& error) {
    return Explain(reason, error.status, error.text);
  } catch (const std::exception& error) {  // std::bad_alloc, std::length_error
    return Explain(reason, NSDK_OUT_OF_MEMORY, error.what());
  }
}

template <typename... T>
void NotNull(const char* what, T*... pointers) {
  if (!(... && (pointers != nullptr))) Fail(NSDK_INVALID_ARGUMENT, std::string("null where there has to be ") + what);
}

// Reports progress to the caller's task.
class Progress {
 public:
  explicit Progress(const NsdkTask* task) : task_(task == nullptr ? NsdkTask{} : Take(*task)) { operator()(0); }
  void operator()(double done) const {
    if (task_.progress != nullptr && task_.progress(task_.user, done, "") != 0)
      Fail(NSDK_CANCELLED, "cancelled by the caller");
  }

 private:
  NsdkTask task_;
};

NsdkStatus GetVersionInfo(NsdkVersionInfo* info) {
  return Guarded(nullptr, [&] {
    NotNull("version information", info);
    Give(info, {0, NSDK_VERSION, NSDK_CAN_COMPILE, "Epiphyte", "Minimal NPU", kSdkVersion, "", kBlobVersion,
                kBlobVersion, kBlobVersion, 0});
  });
}

NsdkStatus ListDevices(uint32_t* count, NsdkDevice* devices) {
  return Guarded(nullptr, [&] {
    NotNull("a count", count);
    if (*count > 0) {
      NotNull("room for devices", devices);
      Give(devices, {0, kDeviceId, "the host as an NPU", "minimal-64", 0, NSDK_DEVICE_SOFTWARE, 0});
    }
    *count = 1;
  });
}

NsdkStatus ContextCreate(const NsdkContextOptions* theirs, NsdkContext** context, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a place for the context", context);
    *context = nullptr;
    NotNull("options", theirs);
    const NsdkContextOptions options = Take(*theirs);
    auto made = std::make_unique<NsdkContext>();
    made->has_device = options.device == kDeviceId;
    if (!made->has_device && options.device != NSDK_WITHOUT_DEVICE) {
      Fail(NSDK_NO_DEVICE, "there is no device " + std::to_string(options.device) + ", only 0");
    }
    for (uint32_t i = 0; i < options.option_count; ++i) {
      const NsdkOption option = TakeElement(options.options, i);
      const std::string key = option.key == nullptr ? "" : option.key,
                        value = option.value == nullptr ? "" : option.value;
      if (key != "lanes") Fail(NSDK_INVALID_ARGUMENT, "there is no option '" + key + "', only 'lanes'");
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), made->lanes);
      if (error != std::errc() || *end != '\0' || made->lanes < 1 || made->lanes > 1024) {
        Fail(NSDK_INVALID_ARGUMENT, "option 'lanes' is '" + value + "', expected 1 to 1024");
      }
    }
    made->architecture = "minimal-" + std::to_string(made->lanes);
    *context = made.release();
  });
}

NsdkStatus GetTarget(NsdkContext* context, NsdkTarget* target) {
  return Guarded(nullptr, [&] {
    NotNull("a context and a target", context, target);
    Give(target, {0, context->lanes, context->architecture.c_str(), 0,
                  1u << NSDK_INT8 | 1u << NSDK_UINT8 | 1u << NSDK_INT32, kOperators, 8, 1, int64_t{1} << 24, 0});
  });
}

NsdkStatus QueryOp(NsdkContext* context, const NsdkGraph* theirs, uint32_t index, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a context and a graph", context, theirs);
    const NsdkGraph graph = Take(*theirs);
    const Op op = TakeOp(graph, index);
    if (op.outputs.size() != 1) Fail(NSDK_UNSUPPORTED, "operator '" + op.name + "' has not one output");
    const Tensor out = TakeTensor(graph, op.outputs[0]);
    std::vector<Tensor> in(op.inputs.size());
    Step step{&op, {}, &out};
    for (size_t i = 0; i < in.size(); ++i) {
      if (op.inputs[i] != NSDK_NONE) in[i] = TakeTensor(graph, op.inputs[i]);
      step.in.push_back(op.inputs[i] == NSDK_NONE ? nullptr : &in[i]);
    }
    CheckStep(step);
  });
}

NsdkStatus Compile(NsdkContext* context, const NsdkGraph* graph, const NsdkTask* task, NsdkCompiled** compiled,
                   NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a place for what is compiled", compiled);
    *compiled = nullptr;
    NotNull("a context and a graph", context, graph);
    const Progress progress(task);
    auto made = std::make_unique<NsdkCompiled>(NsdkCompiled{context->architecture, TakeGraph(Take(*graph)), {}});
    std::vector<Tensor>& tensors = made->graph.tensors;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].constant) {
        tensors[i].data = made->constants.emplace_back(tensors[i].data, tensors[i].data + tensors[i].Bytes()).data();
      }
      progress(static_cast<double>(i + 1) / static_cast<double>(tensors.size()));
    }
    *compiled = made.release();
  });
}

NsdkStatus WriteBlobTo(NsdkContext* context, NsdkCompiled* const* compiled, uint32_t count, const NsdkSink* theirs,
                       NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a context, what was compiled, and a sink", context, compiled, theirs);
    const NsdkSink sink = Take(*theirs);
    if (count == 0 || sink.write == nullptr)
      Fail(NSDK_INVALID_ARGUMENT, "nothing to write, or nothing to write it with");
    std::vector<Graph> graphs;
    for (uint32_t i = 0; i < count; ++i) {
      NotNull("something compiled", compiled[i]);
      for (const Graph& graph : graphs) {
        if (graph.name == compiled[i]->graph.name)
          Fail(NSDK_INVALID_ARGUMENT, "two graphs are called '" + graph.name + "'");
      }
      if (compiled[i]->architecture != context->architecture)
        Fail(NSDK_INVALID_ARGUMENT, "compiled for another architecture");
      graphs.push_back(compiled[i]->graph);
    }
    const std::vector<uint8_t> blob = WriteBlob(context->architecture, std::move(graphs));
    for (size_t at = 0; at < blob.size(); at += 1 << 16) {
      const size_t piece = std::min<size_t>(blob.size() - at, 1 << 16);
      if (sink.write(sink.user, &blob[at], piece, blob.size()) != 0) Fail(NSDK_CANCELLED, "the blob's sink refused it");
    }
  });
}

// Storage that NsdkBlobInfo points to.
struct Info : NsdkBlobInfo {
  Blob blob;
  std::vector<NsdkBlobGraph> graph_infos;
  std::vector<std::vector<NsdkIo>> ports;
};

uint64_t ResultSize(const Graph& graph) {
  uint64_t size = 0;
  for (const Op& op : graph.ops) size += graph.tensors[op.outputs[0]].Bytes();
  return size;
}

NsdkStatus BlobInfo(const void* bytes, uint64_t size, const NsdkBlobInfo** info, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a place for the information", info);
    *info = nullptr;
    auto made = std::make_unique<Info>();
    made->blob = ReadBlob(static_cast<const uint8_t*>(bytes), size);
    const Blob& blob = made->blob;
    for (const Graph& graph : blob.graphs) {
      for (const auto* indices : {&graph.inputs, &graph.outputs}) {
        std::vector<NsdkIo>& ports = made->ports.emplace_back();
        for (const uint32_t index : *indices) {
          const Tensor& tensor = graph.tensors[index];
          ports.push_back({sizeof(NsdkIo), tensor.type, tensor.name.c_str(), tensor.dims.data(),
                           static_cast<uint32_t>(tensor.dims.size()), tensor.scales.empty() ? 0 : tensor.scales[0],
                           tensor.ZeroPoint(), 0, tensor.Bytes()});
        }
      }
    }
    for (size_t i = 0; i < blob.graphs.size(); ++i) {
      const auto &inputs = made->ports[2 * i], &outputs = made->ports[2 * i + 1];
      made->graph_infos.push_back({sizeof(NsdkBlobGraph), static_cast<uint32_t>(inputs.size()),
                                   blob.graphs[i].name.c_str(), inputs.data(), outputs.data(),
                                   static_cast<uint32_t>(outputs.size()), 0, ResultSize(blob.graphs[i]),
                                   WeightsSize(blob.graphs[i])});
    }
    *static_cast<NsdkBlobInfo*>(made.get()) = {sizeof(NsdkBlobInfo),
                                               kBlobVersion,
                                               blob.sdk_version.c_str(),
                                               blob.architecture.c_str(),
                                               blob.size,
                                               blob.weights_size,
                                               made->graph_infos.data(),
                                               static_cast<uint32_t>(blob.graphs.size()),
                                               0};
    *info = made.release();
  });
}

Blob ReadBlobFor(const NsdkContext& context, const void* bytes, uint64_t size) {
  Blob blob = ReadBlob(static_cast<const uint8_t*>(bytes), size);
  if (blob.architecture != context.architecture) {
    Fail(NSDK_INCOMPATIBLE, "the blob is for '" + blob.architecture + "', expected '" + context.architecture + "'");
  }
  return blob;
}

NsdkStatus CheckBlob(NsdkContext* context, const void* bytes, uint64_t size, uint32_t* verdict, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a place for the verdict", verdict);
    *verdict = 0;
    NotNull("a context", context);
    try {
      ReadBlobFor(*context, bytes, size);
      *verdict = NSDK_OPTIMAL;
    } catch (const Error& error) {
      Explain(reason, error.status, error.text);
      *verdict = error.status == NSDK_INCOMPATIBLE ? NSDK_MUST_RECOMPILE : NSDK_NOT_A_BLOB;
    }
  });
}

NsdkStatus LoadBlob(NsdkContext* context, const void* bytes, uint64_t size, const NsdkLoadOptions* options,
                    NsdkProgram** program, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a place for the program", program);
    *program = nullptr;
    NotNull("a context", context);
    if (!context->has_device) Fail(NSDK_NO_DEVICE, "the context was made for no device");
    const bool stays = options != nullptr && (Take(*options).flags & NSDK_BLOB_STAYS) != 0;
    auto made = std::make_unique<NsdkProgram>();
    if (!stays && bytes != nullptr) {
      made->copy.assign(static_cast<const uint8_t*>(bytes), static_cast<const uint8_t*>(bytes) + size);
      bytes = made->copy.data();
    }
    made->blob = ReadBlobFor(*context, bytes, size);
    *program = made.release();
  });
}

NsdkStatus ExecCreate(NsdkProgram* program, uint32_t index, NsdkExecution** execution, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("a place for the execution", execution);
    *execution = nullptr;
    NotNull("a program", program);
    if (index >= program->blob.graphs.size())
      Fail(NSDK_INVALID_ARGUMENT, "there is no graph " + std::to_string(index) + " in the blob");
    auto made = std::make_unique<NsdkExecution>();
    made->graph = &program->blob.graphs[index];
    made->results.resize(made->graph->tensors.size());
    for (const Op& op : made->graph->ops)
      made->results[op.outputs[0]].resize(made->graph->tensors[op.outputs[0]].Bytes());
    made->bound[NSDK_INPUT].resize(made->graph->inputs.size());
    made->bound[NSDK_OUTPUT].resize(made->graph->outputs.size());
    *execution = made.release();
  });
}

// Holds the execution for one call. Throws NSDK_BUSY if another call holds it.
class Turn {
 public:
  explicit Turn(NsdkExecution& execution) : execution_(execution) {
    if (execution.busy.exchange(true)) Fail(NSDK_BUSY, "the execution is running");
  }
  ~Turn() { execution_.busy = false; }

 private:
  NsdkExecution& execution_;
};

NsdkStatus ExecBind(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* theirs,
                    NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("an execution and a binding", execution, theirs);
    const Turn turn(*execution);
    const NsdkBinding binding = Take(*theirs);
    if (direction > NSDK_OUTPUT || index >= execution->bound[direction].size()) {
      Fail(NSDK_INVALID_ARGUMENT, "there is no input or output " + std::to_string(index));
    }
    const Graph& graph = *execution->graph;
    const uint64_t size = graph.tensors[(direction == NSDK_INPUT ? graph.inputs : graph.outputs)[index]].Bytes();
    if (binding.memory != nullptr || binding.host_address == nullptr || binding.size < size) {
      Fail(NSDK_INVALID_ARGUMENT, "expected a host address of at least " + std::to_string(size) + " bytes");
    }
    execution->bound[direction][index] = binding.host_address;
  });
}

NsdkStatus Run(NsdkExecution* execution, const NsdkTask* task, NsdkReason* reason) {
  return Guarded(reason, [&] {
    NotNull("an execution", execution);
    const Turn turn(*execution);
    for (const auto& bound : execution->bound) {
      for (const void* address : bound) NotNull("an address of each input and output", address);
    }
    const Progress progress(task);
    const Graph& graph = *execution->graph;
    std::vector<const uint8_t*> data;  // by tensor
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      data.push_back(graph.tensors[i].constant ? graph.tensors[i].data : execution->results[i].data());
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      data[graph.inputs[i]] = static_cast<const uint8_t*>(execution->bound[NSDK_INPUT][i]);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const Op& op = graph.ops[i];
      std::vector<const uint8_t*> in;
      for (const uint32_t input : op.inputs) in.push_back(input == NSDK_NONE ? nullptr : data[input]);
      const auto tick = [&](double part) {
        progress((static_cast<double>(i) + part) / static_cast<double>(graph.ops.size()));
      };
      RunStep(MakeStep(graph, op), in, execution->results[op.outputs[0]].data(), tick);
      tick(1);
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      std::memmove(execution->bound[NSDK_OUTPUT][i], data[graph.outputs[i]], graph.tensors[graph.outputs[i]].Bytes());
    }
  });
}

}  // namespace

extern "C" NSDK_EXPORT NsdkStatus nsdk_get_api(uint32_t version, NsdkApi* table) {
  if (table == nullptr) return NSDK_INVALID_ARGUMENT;
  if (version >> 16 != NSDK_VERSION_MAJOR) return NSDK_INCOMPATIBLE;
  NsdkApi mine = {};
  mine.get_version_info = GetVersionInfo;
  mine.list_devices = ListDevices;
  mine.context_create = ContextCreate;
  mine.context_destroy = [](NsdkContext* context) { delete context; };
  mine.get_target = GetTarget;
  mine.query_op = QueryOp;
  mine.compile = Compile;
  mine.compiled_destroy = [](NsdkCompiled* compiled) { delete compiled; };
  mine.write_blob = WriteBlobTo;
  mine.blob_info = BlobInfo;
  mine.blob_info_release = [](const NsdkBlobInfo* info) { delete static_cast<const Info*>(info); };
  mine.check_blob = CheckBlob;
  mine.load = LoadBlob;
  mine.unload = [](NsdkProgram* program) { delete program; };
  mine.exec_create = ExecCreate;
  mine.exec_bind = ExecBind;
  mine.exec_destroy = [](NsdkExecution* execution) { delete execution; };
  mine.run = Run;
  const uint32_t size = std::min<uint32_t>(table->struct_size, sizeof mine);
  std::memcpy(table, &mine, size);
  if (size >= sizeof size) table->struct_size = size;
  return NSDK_OK;
}
