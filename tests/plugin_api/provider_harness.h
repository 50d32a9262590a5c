// A plugin's provider without a session: compiles a model's partitions, saves the payload, loads it and runs it.
//
//   ProviderHarness cpu("cpu");
//   auto provider = cpu.Make({});
//   CompiledModel model = cpu.Compile(*provider, kModelText);
//   SavedContext saved = Save(*provider);
//   auto kernel = cpu.Load(*cpu.Make({}), model, saved.payloads[0]);
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/onnx/model_reader.h"
#include "core/partition/partitioner.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {

// Returns bytes with the alignment of a mapped file. They end where the allocation ends, so that sanitizers detect
// reads beyond.
inline core::ContextBlob ToBlob(const std::string& bytes) {
  std::shared_ptr<void> memory(::operator new(bytes.size() + 1, std::align_val_t(64)),
                               [](void* p) { ::operator delete(p, std::align_val_t(64)); });
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  return {memory.get(), bytes.size(), memory};
}

struct CompiledModel {
  core::Model model;
  std::vector<core::Partition> partitions;
  std::vector<std::unique_ptr<core::Kernel>> kernels;
};

struct SavedContext {
  std::vector<core::ContextNode> nodes;
  std::vector<std::string> payloads;
  std::string compatibility_info;
};

inline SavedContext Save(core::Provider& provider) {
  struct Writer final : core::PayloadWriter {
    explicit Writer(std::string* to) : bytes(to) {}
    void Write(const void* data, uint64_t size) override { bytes->append(static_cast<const char*>(data), size); }
    void End() override {}
    std::string* bytes;
  };
  std::vector<std::unique_ptr<std::string>> payloads;
  core::ContextNodes nodes = provider.GetEpContextNodes("", false, [&]() -> std::unique_ptr<core::PayloadWriter> {
    payloads.push_back(std::make_unique<std::string>());
    return std::make_unique<Writer>(payloads.back().get());
  });
  SavedContext saved;
  saved.nodes = std::move(nodes.nodes);
  saved.compatibility_info = nodes.compatibility_info;
  for (auto& payload : payloads) saved.payloads.push_back(std::move(*payload));
  return saved;
}

class ProviderHarness {
 public:
  explicit ProviderHarness(std::string name, std::unique_ptr<core::Environment> environment = BuildTreeEnvironment())
      : environment_(std::move(environment)), plugin_(environment_->catalog().Load(name)) {}

  const core::LoadedPlugin& plugin() const { return plugin_; }

  std::shared_ptr<core::Provider> Make(core::ShareMembership share) const {
    core::ProviderConfig config;
    config.context_enabled = true;
    config.share = std::move(share);
    return core::Provider::Create(plugin_, config);
  }

  CompiledModel Compile(core::Provider& provider, std::string_view text, std::string prefix = "") const {
    const std::string bytes = OnnxFromText(text);
    CompiledModel compiled;
    compiled.model = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {});
    core::PartitionProvider candidate{plugin_.name, "", [&](core::Graph& graph) { return provider.GetCapability(graph); }};
    compiled.partitions = core::PartitionGraph(*compiled.model.graph, {&candidate, 1}, prefix).partitions;
    std::vector<const core::Partition*> pointers;
    for (const core::Partition& partition : compiled.partitions) {
      partition.graph->Finalize();
      pointers.push_back(&partition);
    }
    compiled.kernels = provider.Compile(pointers).kernels;
    return compiled;
  }

  // Loads the kernels of `model` from a payload.
  std::vector<std::unique_ptr<core::Kernel>> Load(core::Provider& provider, const CompiledModel& model,
                                                  const core::ContextBlob& blob) const {
    std::vector<core::ContextNodeToLoad> nodes;
    for (const core::Partition& partition : model.partitions) {
      core::ContextNodeToLoad node;
      node.node = partition.node;
      node.blob = 0;
      node.main_context = nodes.empty() ? 1 : 0;
      node.source = plugin_.sources.front();
      node.partition_name = partition.name;
      for (const core::ValueDef* output : partition.node->outputs()) node.output_types.push_back(output->type());
      nodes.push_back(std::move(node));
    }
    return provider.LoadContext(nodes, {&blob, 1});
  }

 private:
  std::unique_ptr<core::Environment> environment_;
  const core::LoadedPlugin& plugin_;
};

// Returns the first output of a kernel.
inline std::vector<float> RunKernel(core::Kernel& kernel, const std::vector<core::ValuePtr>& inputs,
                                    size_t outputs = 1) {
  std::vector<core::Value*> pointers;
  for (const core::ValuePtr& input : inputs) pointers.push_back(input.get());
  std::vector<core::ValuePtr> results(outputs);
  kernel.Execute(pointers, results);
  return FloatsOf(*results[0]);
}

}  // namespace epiphyte::test
