// Provider: the cpu plugin in one session.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/plugin/options.hpp"
#include "epiphyte/kit/plugin/provider.hpp"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/frame.h"
#include "plugins/cpu/exec/plan.h"
#include "plugins/cpu/exec/warm_up.h"
#include "plugins/cpu/share.h"

namespace epiphyte::cpu {

class Provider final : public kit::Provider {
 public:
  static std::span<const kit::Option> Options();
  // The registry outlives the provider.
  Provider(const KernelRegistry& registry, const kit::ProviderConfig& config);

  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override;
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override;
  void SaveContexts(kit::ContextSink& sink) override;
  void LoadContexts(kit::ContextLoading& loading) override;

 private:
  using Container = std::shared_ptr<const kit::ContextContainer>;

  PlanConfig MakePlanConfig(const kit::Task& task, std::string_view name) const;
  std::vector<std::shared_ptr<const Plan>> CompiledPlans() const;
  kit::ContextWriter WritePayload(kit::ContextSink& sink, const ContextKey& key) const;
  Container Open(std::span<const std::byte> payload, const ContextKey& here) const;
  std::unique_ptr<kit::Kernel> Load(const kit::ContextLoading& loading, size_t node,
                                    const std::vector<Container>& contexts, const ContextKey& here) const;

  const KernelRegistry& registry_;
  const kit::Threads threads_;
  const kit::Log log_;
  const bool context_enabled_;
  kit::ShareGroup<ShareWorkspace> share_;
  std::string precision_;                              // the option `precision`, one of its choices in Options()
  std::shared_ptr<kit::WeightPool> weights_;           // while a context may be requested
  std::vector<std::shared_ptr<const Plan>> compiled_;  // by partition index; while a context may be requested
};

// Frames for one Execute call at a time, most recently used first.
class FrameSet {
 public:
  FrameSet() = default;
  // A null `frame` makes an empty set.
  explicit FrameSet(std::unique_ptr<Frame> frame) {
    if (frame != nullptr) frames_.push_back(std::move(frame));
  }

  void Execute(const Plan& plan, const kit::Run& run);
  size_t size() const { return frames_.size(); }

 private:
  static constexpr size_t kMostFrames = 8;
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // above this limit, only the frame in use is kept
  std::vector<std::unique_ptr<Frame>> frames_;
};

// Kernel of a compiled partition.
class CompiledKernel final : public kit::StatefulKernel<FrameSet> {
 public:
  // `context`: context of a share group, kept for the group's next session; null otherwise.
  explicit CompiledKernel(std::shared_ptr<const Plan> plan, std::shared_ptr<const kit::ContextContainer> context = {})
      : plan_(std::move(plan)), context_(std::move(context)) {}
  void Execute(const kit::Run& run, FrameSet& frames) override { frames.Execute(*plan_, run); }
  // The first state gets the warmed-up frame.
  std::unique_ptr<FrameSet> MakeState() const override;
  // Prepares the first run. Call it before any run. `is_cancelled`: see cpu::WarmUp.
  void WarmUp(const EpHostInfo& host, const std::function<bool()>& is_cancelled = {}) {
    warmed_up_ = cpu::WarmUp(*plan_, host, is_cancelled);
  }

 private:
  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const kit::ContextContainer> context_;
  mutable std::mutex warmed_up_mutex_;
  mutable std::unique_ptr<Frame> warmed_up_;  // until the first state takes it
};

}  // namespace epiphyte::cpu
