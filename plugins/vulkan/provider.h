// Provider: the vulkan plugin in one session.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "epiphyte/kit/plugin/options.hpp"
#include "epiphyte/kit/plugin/provider.hpp"
#include "plugins/vulkan/exec/device_pool.h"
#include "plugins/vulkan/exec/replay.h"

namespace epiphyte::vulkan {

class Provider final : public kit::Provider {
 public:
  static std::span<const kit::Option> Options();
  // They outlive the provider.
  Provider(const OperatorTable& operators, Instance& instance, DevicePool& devices, const kit::ProviderConfig& config);

  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override;
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override;

 private:
  CompileConfig MakeConfig(const kit::Task& task, std::string_view name) const;

  const OperatorTable& operators_;
  const kit::Threads threads_;
  std::shared_ptr<Device> device_;
  Capabilities capabilities_;  // the device's, without those that options turn off
};

// A compiled partition.
class CompiledKernel final : public kit::StatefulKernel<ReplaySet> {
 public:
  CompiledKernel(std::shared_ptr<CompiledGraph> graph, const kit::Threads& threads)
      : graph_(std::move(graph)), threads_(threads) {}
  void Execute(const kit::Run& run, ReplaySet& replays) override { replays.Execute(*graph_, run, threads_); }

 private:
  const std::shared_ptr<CompiledGraph> graph_;
  const kit::Threads threads_;
};

}  // namespace epiphyte::vulkan
