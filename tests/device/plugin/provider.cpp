#include "tests/device/plugin/provider.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "epiphyte/kit/abi/graph_view.hpp"
#include "tests/device/plugin/control.h"
#include "tests/device/plugin/device_api.h"
#include "tests/device/plugin/kernel.h"
#include "tests/device/plugin/payload.h"
#include "tests/device/plugin/translate.h"

namespace epiphyte::test::device {
namespace {

class Provider {
 public:
  Provider(Machine& machine, const EpProviderConfig& config)
      : machine_(machine),
        options_(Options::Of(config)),
        devices_(config.devices, config.devices + config.device_count),
        keeps_programs_(config.context_enabled != 0) {
    if (config.reserved != 0) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "EpProviderConfig::reserved is not 0");
    for (uint32_t device : devices_) machine.At(device);
    if (options_.fault != nullptr) machine_.SetFault(options_.fault);
  }
  ~Provider() {
    if (options_.fault != nullptr) machine_.SetFault(nullptr);
  }
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  const EpHostInfo& host() const { return machine_.host(); }

  void GetCapability(const EpGraph* graph, EpCapabilitySink* sink) const {
    std::vector<const EpNode*> supported;
    for (const kit::NodeView& node : kit::GraphView(host(), graph).nodes()) {
      if (node.placed()) continue;
      std::string why = WhyNot(node);
      if (why.empty() && !options_.claims.contains(std::string(node.op_type()))) why = "not among option 'claims'";
      if (!why.empty()) {
        kit::ThrowIfFailed(host(), host().capability->DeclineNode(sink, node.handle(), why.c_str()));
      } else if (options_.each) {
        Claim(sink, {node.handle()}, EP_CLAIM_EXACT, std::string(node.op_type()) + " alone");
      } else {
        supported.push_back(node.handle());
      }
    }
    kit::ThrowIfFailed(host(), host().capability->SetGrouping(sink, 0));
    if (!supported.empty()) Claim(sink, supported, 0, "work of the test device");
  }

  void Compile(const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task, EpKernel** kernels) {
    for (uint64_t i = 0; i < count; ++i) {
      const EpPartitionInfo& partition = *partitions[i];
      if (host().task->ReportProgress(task, i, count, partition.name) != 0) {
        throw kit::Error(EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
      }
      Program program = Translate(kit::GraphView(host(), partition.graph), partition.name);
      if (keeps_programs_) programs_.emplace(partition.index, program);
      kernels[i] = NewKernel(std::move(program));
    }
  }

  void SaveContext(EpContextSink* sink) {
    EpContextSinkInfo info = {};
    info.struct_size = sizeof info;
    kit::ThrowIfFailed(host(), host().context->GetSinkInfo(sink, &info));
    std::vector<const Program*> programs;
    for (auto& [index, program] : programs_) {
      if (index >= info.partition_count || info.partition_names[index] == nullptr) continue;
      program.name = info.partition_names[index];
      programs.push_back(&program);
    }
    const std::string payload = WritePayload(programs);
    EpContextWriter* writer = nullptr;
    kit::ThrowIfFailed(host(), host().context->BeginPayload(sink, &writer));
    kit::ThrowIfFailed(host(), host().context->Write(writer, payload.data(), payload.size()));
    kit::ThrowIfFailed(host(), host().context->EndPayload(writer));
    bool is_first = true;
    for (const auto& [index, program] : programs_) {
      if (std::ranges::count(programs, &program) == 0) continue;
      EpContextNodeDesc node = {};
      node.struct_size = sizeof node;
      node.partition = index;
      node.main_context = is_first ? 1 : 0;
      node.payload = is_first ? writer : nullptr;
      node.ep_sdk_version = "1.0.0";
      kit::ThrowIfFailed(host(), host().context->AddNode(sink, &node));
      is_first = false;
    }
  }

  void LoadContext(const EpContextNodeInfo* const* nodes, uint64_t node_count, const EpContextBlob* const* blobs,
                   uint64_t blob_count, EpKernel** kernels) {
    std::vector<std::vector<Program>> payloads;
    for (uint64_t i = 0; i < blob_count; ++i) {
      payloads.push_back(ReadPayload({static_cast<const char*>(blobs[i]->data), static_cast<size_t>(blobs[i]->size)}));
    }
    for (uint64_t i = 0; i < node_count; ++i) {
      const EpContextNodeInfo& node = *nodes[i];
      const Program* program = nullptr;
      for (uint64_t k = 0; k < blob_count && program == nullptr; ++k) {
        if (node.blob < 0 || static_cast<uint64_t>(node.blob) == k) program = Find(payloads[k], node.partition_name);
      }
      const kit::NodeView view(host(), node.node);
      if (program == nullptr || view.input_count() != program->inputs.size() ||
          view.output_count() != program->outputs.size()) {
        throw kit::Error(EP_STATUS_INVALID_GRAPH, std::string("no payload holds a graph '") + node.partition_name +
                                                      "' with the node's inputs and outputs; compile again");
      }
      kernels[i] = NewKernel(*program);
    }
  }

 private:
  void Claim(EpCapabilitySink* sink, const std::vector<const EpNode*>& nodes, uint32_t flags,
             const std::string& name) const {
    EpClaim claim = {};
    claim.struct_size = sizeof claim;
    claim.flags = flags;
    claim.nodes = nodes.data();
    claim.node_count = nodes.size();
    claim.name = name.c_str();
    kit::ThrowIfFailed(host(), host().capability->Claim(sink, &claim));
  }

  // Finds a program by name; "" means the only program.
  static const Program* Find(const std::vector<Program>& programs, std::string_view name) {
    if (name.empty() && programs.size() == 1) return &programs[0];
    const auto found = std::ranges::find(programs, name, &Program::name);
    return found == programs.end() ? nullptr : &*found;
  }

  EpKernel* NewKernel(Program program) const {
    const bool is_on_second = devices_.size() > 1 && !program.steps.empty() &&
                              options_.second.contains(std::string(NameOf(program.steps[0].op)));
    return reinterpret_cast<EpKernel*>(new std::shared_ptr<Kernel>(
        std::make_shared<Kernel>(machine_, options_, executing_, devices_[is_on_second ? 1 : 0], std::move(program))));
  }

  Machine& machine_;
  const Options options_;
  const std::vector<uint32_t> devices_;
  const bool keeps_programs_;
  const std::shared_ptr<std::atomic<int>> executing_ = std::make_shared<std::atomic<int>>(0);
  std::map<uint32_t, Program> programs_;  // programs by partition; the context is written from them
};

Provider& From(EpProvider* provider) { return *reinterpret_cast<Provider*>(provider); }
std::shared_ptr<Kernel>& From(EpKernel* kernel) { return *reinterpret_cast<std::shared_ptr<Kernel>*>(kernel); }
std::shared_ptr<State>& From(EpKernelState* state) { return *reinterpret_cast<std::shared_ptr<State>*>(state); }

EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  Machine& machine = MachineOf(plugin);
  return kit::Guard(machine.host(), [&] { *provider = reinterpret_cast<EpProvider*>(new Provider(machine, *config)); });
}
void EP_CALL DestroyProvider(EpProvider* provider) { delete &From(provider); }

EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  return kit::Guard(From(provider).host(), [&] { From(provider).GetCapability(graph, sink); });
}
EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                          EpKernel** kernels) {
  return kit::Guard(From(provider).host(), [&] { From(provider).Compile(partitions, count, task, kernels); });
}
EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask*) {
  return kit::Guard(From(provider).host(), [&] { From(provider).SaveContext(sink); });
}
EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                              const EpContextBlob* const* blobs, uint64_t blob_count, EpTask*, EpKernel** kernels) {
  return kit::Guard(From(provider).host(),
                    [&] { From(provider).LoadContext(nodes, node_count, blobs, blob_count, kernels); });
}

void EP_CALL ReleaseKernel(EpKernel* kernel) {
  if (From(kernel)->IsInUse()) Complain("ReleaseKernel with work of it under way");
  delete &From(kernel);
}

EpStatus* EP_CALL CreateState(EpKernel* kernel, EpKernelState** state) {
  return kit::Guard(From(kernel)->host(), [&] {
    *state = reinterpret_cast<EpKernelState*>(new std::shared_ptr<State>(std::make_shared<State>()));
    ++Control().live_states;
  });
}
void EP_CALL ReleaseState(EpKernel*, EpKernelState* state) {
  if (From(state)->users != 0) Complain("ReleaseState with work that uses it under way");
  delete &From(state);
  --Control().live_states;
}

EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
  return kit::Guard(From(kernel)->host(),
                    [&] { From(kernel)->Execute(state == nullptr ? nullptr : From(state), run); });
}
EpStatus* EP_CALL DescribeKernel(EpKernel* kernel, EpKernelInfo* info) {
  return kit::Guard(From(kernel)->host(), [&] { From(kernel)->Describe(info); });
}

constexpr EpProviderApi kWithoutStates = {sizeof(EpProviderApi), 0,       CreateProvider,    DestroyProvider,
                                          GetCapability,         Compile, GetEpContextNodes, LoadContext,
                                          ReleaseKernel,         nullptr, nullptr,           Execute,
                                          DescribeKernel};
constexpr EpProviderApi kWithStates = [] {
  EpProviderApi table = kWithoutStates;
  table.CreateState = CreateState;
  table.ReleaseState = ReleaseState;
  return table;
}();

}  // namespace

const EpProviderApi& ProviderTable(bool with_states) { return with_states ? kWithStates : kWithoutStates; }

}  // namespace epiphyte::test::device
