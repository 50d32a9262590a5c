// Provider: the cpu plugin in one session. See ep_provider.h for when the host calls what.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epiphyte/ep_plugin.h"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/frame.h"
#include "plugins/cpu/exec/plan.h"
#include "plugins/cpu/share.h"

namespace epiphyte::cpu {

inline constexpr const char* kSource = "EpiphyteCPU";

struct Plugin {
  const EpHostInfo* host = nullptr;
  KernelRegistry registry;
  std::string architecture;
  EpDeviceInfo device{};
};

class Provider {
 public:
  Provider(const Plugin& plugin, const EpProviderConfig& config);

  const EpHostInfo* host() const { return plugin_.host; }
  void GetCapability(const EpGraph* graph, EpCapabilitySink* sink) const;
  void Compile(std::span<const EpPartitionInfo* const> partitions, EpTask* task, EpKernel** kernels);
  void GetEpContextNodes(EpContextSink* sink) const;
  void LoadContext(std::span<const EpContextNodeInfo* const> nodes, std::span<const EpContextBlob* const> blobs,
                   EpTask* task, EpKernel** kernels);

 private:
  PlanConfig MakePlanConfig(EpTask* task, const std::string& name) const;
  // See PlanConfig::retain; empty where the weights may outlive this provider.
  std::function<std::shared_ptr<void>(const EpValueDef*)> Retainer(EpTask* task) const;
  std::vector<std::shared_ptr<const Plan>> CompiledPlans() const;
  EpContextWriter* WritePayload(EpContextSink* sink, const ContextKey& key) const;
  std::shared_ptr<const kit::ContextContainer> Open(const EpContextBlob& blob) const;

  const Plugin& plugin_;
  Threads threads_;
  bool bfloat16_ = false;
  bool context_enabled_ = false;
  ShareMembership share_;
  std::shared_ptr<kit::WeightPool> weights_;           // while a context may be asked for
  std::vector<std::shared_ptr<const Plan>> compiled_;  // by partition index, while a context may be asked for
};

// A compiled partition, behind EpKernel.
struct CompiledKernel {
  const EpHostInfo* host;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const kit::ContextContainer> context;  // of a share group, for the group's next session
};

// Frames for one Execute at a time, most recently used first; behind EpKernelState.
class FrameSet {
 public:
  void Execute(const CompiledKernel& kernel, EpRun* run);

 private:
  static constexpr size_t kMostFrames = 8;
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // beyond this only the frame in use is kept
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace epiphyte::cpu
