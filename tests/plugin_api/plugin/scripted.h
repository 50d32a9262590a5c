// ScriptedPlugin: a kit plugin in this process. Each of its functions calls a lambda of the test.
//
//   Scripted scripted;
//   scripted.script.claim = [](const kit::GraphView& graph, kit::Claims& claims) { … };
//   auto provider = scripted.Make();
//   EXPECT_EQ(scripted.Claim(*provider, kModelText).units.size(), 2u);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/abi/context_check.h"
#include "epiphyte/kit/plugin/plugin.hpp"
#include "tests/plugin_api/provider_harness.h"

namespace epiphyte::test {

// A kernel that adds a number to its input.
class AddKernel : public kit::Kernel {
 public:
  explicit AddKernel(float number) : number_(number) {}
  void Execute(const kit::Run& run) override {
    const EpTensorView& x = run.input(0);
    float* y = run.Output<float>(0, EP_TYPE_FLOAT, {x.dims, x.rank});
    for (uint64_t i = 0; i < x.element_count; ++i) y[i] = static_cast<const float*>(x.data)[i] + number_;
  }

 private:
  float number_;
};

// Defaults for empty members: every node is claimed, partitions get kernels that add nothing, and contexts are one
// empty payload.
struct Script {
  std::function<void(const kit::ProviderConfig& config)> create;
  std::function<void(const kit::GraphView& graph, kit::Claims& claims)> claim;
  std::function<void(kit::Compilation& compilation)> compile;
  std::function<void(kit::ContextSink& sink)> save;
  std::function<void(kit::ContextLoading& loading)> load;
  std::function<kit::ContextVerdict(const kit::ContextHeader& header)> check;
};

class ScriptedProvider final : public kit::Provider {
 public:
  ScriptedProvider(const Script& script, const kit::ProviderConfig& config) : script_(script) {
    if (script.create) script.create(config);
  }

  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override {
    if (script_.claim) return script_.claim(graph, claims);
    for (const kit::NodeView& node : graph.nodes()) claims.Support(node);
  }
  void CompileAll(kit::Compilation& compilation) override {
    if (script_.compile) return script_.compile(compilation);
    for (size_t i = 0; i < compilation.partitions().size(); ++i)
      compilation.SetKernel(i, std::make_unique<AddKernel>(0.0f));
  }
  void SaveContexts(kit::ContextSink& sink) override {
    if (script_.save) return script_.save(sink);
    kit::ContextWriter payload = sink.BeginPayload();
    payload.End();
    for (const kit::SavedPartition& partition : sink.partitions())
      sink.AddNode({.partition = partition.index, .payload = &payload, .sdk_version = "1"});
  }
  void LoadContexts(kit::ContextLoading& loading) override {
    if (script_.load) return script_.load(loading);
    for (size_t i = 0; i < loading.size(); ++i) loading.SetKernel(i, std::make_unique<AddKernel>(0.0f));
  }

 private:
  const Script& script_;
};

class Scripted {
 public:
  Scripted() : harness_("scripted", Environment(this)) {}

  Script script;

  const core::LoadedPlugin& plugin() const { return harness_.plugin(); }
  const ProviderHarness& harness() const { return harness_; }
  std::shared_ptr<core::Provider> Make(core::ShareMembership share = {}) const {
    return harness_.Make(std::move(share));
  }
  // Returns the provider's claims for a model.
  core::Capability Claim(core::Provider& provider, std::string_view text) {
    const std::string bytes = OnnxFromText(text);
    models_.push_back(core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {}));
    models_.back().graph->Finalize();
    return provider.GetCapability(*models_.back().graph);
  }
  // Returns the names of the nodes' first outputs.
  static std::vector<std::string> NamesOf(const std::vector<core::Node*>& nodes) {
    std::vector<std::string> names;
    for (const core::Node* node : nodes) names.emplace_back(node->outputs()[0]->name());
    return names;
  }

 private:
  class Plugin final : public kit::Plugin {
   public:
    static constexpr bool kMakesContexts = true;
    using kit::Plugin::Plugin;
    std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig& config) override {
      return std::make_unique<ScriptedProvider>(running_->script, config);
    }
    kit::ContextVerdict CheckContext(const kit::ContextHeader& header) override {
      return running_->script.check ? running_->script.check(header) : kit::Plugin::CheckContext(header);
    }
  };
  static const EpPluginDescriptor* EP_CALL Query(const EpHostInfo*, const EpPluginEnvironment*) {
    return EPIPHYTE_KIT_DESCRIPTOR(Plugin, "scripted", "tests", "1.0.0", "Scripted", "OlderScripted");
  }
  static std::unique_ptr<core::Environment> Environment(Scripted* scripted) {
    running_ = scripted;
    core::CatalogOptions options;
    options.use_environment = false;
    options.use_user_folder = false;
    auto environment = std::make_unique<core::Environment>(std::move(options));
    environment->catalog().Register(Query, 500);
    return environment;
  }

  static inline Scripted* running_ = nullptr;  // the only instance
  ProviderHarness harness_;
  std::vector<core::Model> models_;
};

}  // namespace epiphyte::test
