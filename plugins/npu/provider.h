// Provider: the npu plugin in one session.
#pragma once

#include <memory>
#include <vector>

#include "epiphyte/kit/abi/share.hpp"
#include "epiphyte/kit/plugin/provider.hpp"
#include "plugins/npu/client/program.h"
#include "plugins/npu/exec/kernel.h"
#include "plugins/npu/exec/partition.h"
#include "plugins/npu/sdk_cache.h"
#include "plugins/npu/share.h"

namespace epiphyte::npu {

class Provider final : public kit::Provider {
 public:
  // `shelf` outlives the provider.
  Provider(SdkCache& shelf, const kit::ProviderConfig& config);

  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override;
  void Explain(std::string_view partition, const kit::GraphView& graph, kit::Explanation& explanation) override;
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override;
  void SaveContexts(kit::ContextSink& sink) override;
  void LoadContexts(kit::ContextLoading& loading) override;

 private:
  using Partitions = std::vector<std::shared_ptr<const NpuPartition>>;

  // The SDK's id of the session's device, or NSDK_WITHOUT_DEVICE.
  static uint32_t DeviceOf(const Sdk& sdk, const kit::ProviderConfig& config);
  // The scratch and weight groups that the session's programs share.
  ProgramOptions MakeProgramOptions();
  std::shared_ptr<const Program> Load(std::span<const std::byte> payload, const ProgramOptions& options) const;
  std::unique_ptr<kit::Kernel> MakeKernel(const kit::ContextNodeView& node,
                                          std::shared_ptr<const Program> program) const;

  const kit::Log log_;
  const bool context_enabled_;
  const bool shares_scratch_;
  kit::ShareGroup<ShareWorkspace> share_;
  const std::shared_ptr<const Sdk> sdk_;
  const uint32_t device_;
  std::string key_;  // key of the context in the share group
  std::shared_ptr<const SdkContext> context_;
  Partitions compiled_;  // by partition index, while the host may ask for a context; null: declined
};

// Compatibility of contexts, as far as it can be told without their blobs: "sdk=…;architecture=…;blob=…".
std::string CompatibilityInfo(const SdkContext& context);
// The verdict on such a text; NOT_APPLICABLE if it names no blob version.
kit::ContextVerdict JudgeCompatibility(const SdkContext& context, std::string_view info);

}  // namespace epiphyte::npu
