#include "core/runtime/constant_evaluator.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/graph/run_state.h"

namespace epiphyte::core {

namespace {

// Declared size in bytes; 0 when it is unknown.
uint64_t DeclaredBytes(const ValueDef& value) {
  if (!value.type() || !value.type()->IsTensor() || !value.type()->IsStatic()) return 0;
  std::vector<int64_t> dims;
  for (const Dim& dim : *value.type()->shape()) dims.push_back(dim.value);
  return DataTypeBytes(value.type()->element_type(), ElementCount(dims));
}

}  // namespace

ConstantEvaluator::ConstantEvaluator(const LoadedPlugin* plugin, ThreadPool* thread_pool, const FoldingLimits& limits,
                                     FoldingBudget::Report report)
    : plugin_(plugin), thread_pool_(thread_pool), budget_(limits, std::move(report)) {}

bool ConstantEvaluator::Evaluate(const Node& node, uint64_t max_bytes, std::vector<ConstantPtr>* outputs) {
  if (plugin_ == nullptr || !node.subgraphs().empty() || budget_.is_spent()) return false;
  auto graph = std::make_unique<Graph>("constant_folding");
  for (const auto& [domain, version] : node.graph().opsets()) graph->SetOpset(domain, version);
  std::vector<ValueDef*> inputs;
  uint64_t input_bytes = 0;
  for (const ValueDef* input : node.inputs()) {
    ValueDef* copy = nullptr;
    if (input != nullptr) {
      const ConstantPtr& constant = input->ResolvedConstant();
      if (constant == nullptr) return false;
      copy = graph->FindValue(input->name());
      if (copy == nullptr) {
        copy = graph->AddConstant(input->name(), constant);
        input_bytes += constant->byte_size();
      }
    }
    inputs.push_back(copy);
  }
  std::vector<ValueDef*> made;
  std::vector<ValueDef*> wanted;
  max_bytes = std::min(max_bytes, budget_.MostResultBytes(input_bytes));
  for (const ValueDef* output : node.outputs()) {
    if (output != nullptr && DeclaredBytes(*output) > max_bytes) return false;
    made.push_back(output == nullptr ? nullptr : graph->AddValue(output->name(), output->type()));
    if (made.back() != nullptr) wanted.push_back(made.back());
  }
  std::vector<Attribute> attributes;
  for (const auto& attribute : node.attributes()) attributes.push_back(attribute->Clone());
  graph->AddNode(node.op_type(), node.domain(), node.since_version(), inputs, made, std::move(attributes), node.name());
  graph->SetOutputs(wanted);
  graph->Finalize();
  try {
    if (provider_ == nullptr) {
      ProviderConfig config;
      config.thread_pool = thread_pool_;
      if (plugin_->options) Complete(*plugin_->options, &config.options);
      provider_ = Provider::Create(*plugin_, config);
    }
    if (provider_->GetCapability(*graph).units.empty()) return false;
    Partition partition;
    partition.name = "constant_folding";
    partition.graph = std::move(graph);
    const Partition* pointer = &partition;
    const std::unique_ptr<Kernel> kernel = std::move(provider_->Compile({&pointer, 1}).kernels.front());
    if (kernel == nullptr) return false;
    std::vector<ValuePtr> results(wanted.size());
    {
      const FoldingBudget::Computation computation(budget_);
      RunState run({max_bytes, max_bytes * 2}, computation.stop());
      kernel->Execute({}, results, &run);
    }
    size_t next = 0;
    outputs->clear();
    for (const ValueDef* output : node.outputs()) {
      if (output == nullptr) {
        outputs->push_back(nullptr);
        continue;
      }
      ValuePtr result = results[next++];
      if (!result->IsTensor()) return false;
      budget_.CountResult(result->byte_size());
      outputs->push_back(ToConstant(result));
    }
    return true;
  } catch (const Error& error) {
    Log(LogLevel::kDebug, "transform", "node '{}' ({}) was not folded: {}", node.name(), node.op_type(),
        error.message());
    return false;
  }
}

}  // namespace epiphyte::core
