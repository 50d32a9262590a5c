// Claims and compilation of the faulty plugin.
#include <thread>

#include "tests/conformance/faulty/faulty.h"

namespace {

struct NodeFacts {
  EpNodeInfo info = {};
  EpValueDefInfo first = {};
  EpValueDefInfo second = {};
};

EpStatus* Ask(const EpHostInfo* host, const EpNode* node, NodeFacts* facts) {
  facts->info.struct_size = sizeof(facts->info);
  facts->first.struct_size = sizeof(facts->first);
  facts->second.struct_size = sizeof(facts->second);
  if (EpStatus* status = host->graph->GetNodeInfo(node, &facts->info)) return status;
  if (facts->info.input_count < 1 || facts->info.inputs[0] == nullptr) return nullptr;
  if (EpStatus* status = host->graph->GetValueDefInfo(facts->info.inputs[0], &facts->first)) return status;
  if (facts->info.input_count < 2 || facts->info.inputs[1] == nullptr) return nullptr;
  return host->graph->GetValueDefInfo(facts->info.inputs[1], &facts->second);
}

bool IsRunnable(const NodeFacts& facts) {
  const bool known = *facts.info.domain == '\0' || Has("514_claims_any_domain");
  if (!known || facts.first.type == nullptr || (facts.first.flags & EP_VALUE_CONSTANT) != 0) return false;
  if ((facts.info.flags & EP_NODE_PLACED) != 0 && !Has("506_claims_placed_nodes")) return false;
  if (facts.first.type->element_type != EP_TYPE_FLOAT && !Has("515_claims_any_type")) return false;
  if (std::strcmp(facts.info.op_type, "Relu") == 0) return true;
  const EpTensorView* constant = facts.second.constant;
  return std::strcmp(facts.info.op_type, "Add") == 0 && constant != nullptr && constant->element_type == EP_TYPE_FLOAT;
}

}  // namespace

EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  const EpHostInfo* host = provider->plugin->host;
  EpGraphInfo info = {};
  info.struct_size = sizeof(info);
  if (EpStatus* status = host->graph->GetGraphInfo(graph, &info)) return status;
  static const EpNode* kept = nullptr;
  if (Has("513_keeps_graph") && kept != nullptr) {
    NodeFacts facts;
    if (EpStatus* status = Ask(host, kept, &facts)) return status;
  }
  kept = info.nodes[0];
  if (Has("609_writes_graph")) const_cast<char*>(info.name)[0] = 'x';
  if (Has("1012_foreign_handle")) {
    if (EpStatus* status = host->graph->GetGraphInfo(reinterpret_cast<const EpGraph*>(provider), &info)) return status;
  }
  static int asked = 0;
  ++asked;
  for (uint64_t i = 0; i < info.node_count; ++i) {
    NodeFacts facts;
    if (EpStatus* status = Ask(host, info.nodes[i], &facts)) return status;
    if (!IsRunnable(facts)) {
      if (EpStatus* status = host->capability->DeclineNode(sink, info.nodes[i], "only Relu, and Add with a constant"))
        return status;
      continue;
    }
    if (Has("511_changes_its_mind") && asked % 2 == 0) continue;
    if (Has("1705_claims_less_once_it_explained") && HasExplained()) continue;
    if (Has("510_claims_on_another_thread")) {
      EpStatus* status = nullptr;
      std::thread([&] { status = host->capability->SupportNodes(sink, &info.nodes[i], 1); }).join();
      if (status != nullptr) return status;
      continue;
    }
    if (EpStatus* status = host->capability->SupportNodes(sink, &info.nodes[i], 1)) return status;
  }
  return nullptr;
}

EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                          EpKernel** kernels) {
  const EpHostInfo* host = provider->plugin->host;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t total = Has("610_more_than_total") ? i : count;
    if (host->task->ReportProgress(task, i + 1, total, partitions[i]->name) != 0 && !Has("608_ignores_cancel")) {
      return Refuse(host, EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
    }
    if (IsAbout("14", "onnx")) {
      if (EpStatus* status = WriteAsOnnx(host, partitions[i]->graph)) return status;
    }
    EpGraphInfo info = {};
    info.struct_size = sizeof(info);
    if (EpStatus* status = host->graph->GetGraphInfo(partitions[i]->graph, &info)) return status;
    NodeFacts facts;
    if (EpStatus* status = Ask(host, info.nodes[0], &facts)) return status;
    auto* kernel = new EpKernel{provider, {}};
    kernels[i] = kernel;
    if (const EpTensorView* constant = facts.second.constant) {
      const auto* numbers = static_cast<const float*>(constant->data);
      kernel->program.operation = kAddConstant;
      kernel->program.constant.assign(numbers, numbers + constant->element_count);
      if (Has("606_keeps_constant")) {
        kernel->lent = numbers;
        kernel->lent_count = constant->element_count;
      }
      EpConstant* retained = nullptr;
      if (EpStatus* status =
              host->task->RetainConstant(task, facts.info.inputs[Has("612_retains_an_input") ? 0 : 1], &retained))
        return status;
      host->task->ReleaseConstant(retained);
      if (Has("613_releases_constant_twice")) host->task->ReleaseConstant(retained);
      const EpValueDef* const dropped = facts.info.inputs[1];
      if (EpStatus* status = Has("606_keeps_constant") ? nullptr : host->task->DropConstant(task, dropped))
        return status;
      if (Has("615_reads_what_it_dropped"))
        kernel->program.constant[0] = static_cast<const volatile float*>(numbers)[0];
    }
    provider->programs[partitions[i]->name] = kernel->program;
    provider->names.emplace_back(partitions[i]->name);
  }
  return nullptr;
}
