// Provider: the vulkan plugin in one session.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "epiphyte/kit/plugin/options.hpp"
#include "epiphyte/kit/plugin/provider.hpp"
#include "plugins/vulkan/exec/context.h"
#include "plugins/vulkan/exec/device_memories.h"
#include "plugins/vulkan/exec/replay.h"
#include "plugins/vulkan/share.h"

namespace epiphyte::vulkan {

class Provider final : public kit::Provider {
 public:
  static std::span<const kit::Option> Options();
  // The operator table, the instance, the devices and the memories outlive the provider.
  Provider(const OperatorTable& operators, Instance& instance, DevicePool& devices, const DeviceMemories& memories,
           const kit::ProviderConfig& config);

  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override;
  void Explain(std::string_view partition, const kit::GraphView& graph, kit::Explanation& explanation) override;
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override;
  void SaveContexts(kit::ContextSink& sink) override;
  void LoadContexts(kit::ContextLoading& loading) override;

 private:
  using Container = std::shared_ptr<const kit::ContextContainer>;

  kit::CompatibilityKey Key() const;
  CompileConfig MakeConfig(const kit::Task& task, std::string_view name) const;
  std::vector<std::shared_ptr<CompiledGraph>> CompiledGraphs() const;
  kit::ContextWriter WritePayload(kit::ContextSink& sink) const;
  Container Open(std::span<const std::byte> payload) const;
  std::unique_ptr<kit::Kernel> MakeKernel(std::shared_ptr<CompiledGraph> graph,
                                          std::shared_ptr<const kit::ContextContainer> context = {}) const;
  std::unique_ptr<kit::Kernel> Load(const kit::ContextLoading& loading, size_t node,
                                    const std::vector<Container>& contexts) const;

  const OperatorTable& operators_;
  const kit::Threads threads_;
  const kit::Log log_;
  const bool context_enabled_;
  kit::ShareGroup<ShareWorkspace> share_;
  const DeviceMemories& memories_;
  uint32_t index_ = 0;           // index among the instance's devices
  kit::DeviceRuns device_runs_;  // false if the host has no devices or the session listed other devices
  std::shared_ptr<Device> device_;
  std::shared_ptr<MemoryLimit> limit_;                    // null: no limit
  Capabilities capabilities_;                             // the device's, as the session's options adjust them
  std::vector<std::shared_ptr<CompiledGraph>> compiled_;  // by partition index; kept if a context may be saved
};

// The kernel of a compiled partition. It submits to the run's stream, and reads and writes values in place. Inputs that
// the host has to read are requested in host memory. Outputs that the host knows without running anything are made in
// host memory.
class CompiledKernel final : public kit::StatefulKernel<ReplaySet> {
 public:
  // `device_runs` is false if the host has no devices, or doesn't know that this one is used. Values are then in host
  // memory, and Execute waits for the device. `memories`: the set of memories that values can be in. `context`: the
  // container that holds constants of the graph; null if no container does.
  CompiledKernel(const kit::DeviceRuns& device_runs, uint32_t device, uint32_t memories,
                 std::shared_ptr<CompiledGraph> graph, const kit::Threads& threads,
                 std::shared_ptr<const kit::ContextContainer> context = {});
  void Describe(EpKernelInfo* info) const override;
  void Execute(const kit::Run& run, ReplaySet& replays) override;

 private:
  const std::shared_ptr<const kit::ContextContainer> context_;
  const std::shared_ptr<CompiledGraph> graph_;
  const kit::Threads threads_;
  PreparedReplay prepared_;
  const kit::DeviceRuns device_runs_;
  const uint32_t device_;
  std::vector<uint32_t> input_memories_;
  std::vector<uint32_t> output_memories_;
};

}  // namespace epiphyte::vulkan
