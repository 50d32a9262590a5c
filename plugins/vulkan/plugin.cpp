// The vulkan plugin: the state that its providers share, and the library's one exported symbol.
#include "epiphyte/kit/plugin/plugin.hpp"

#include <deque>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/plugin/microsoft.hpp"
#include "plugins/vulkan/exec/device_options.h"
#include "plugins/vulkan/provider.h"

namespace epiphyte::vulkan {
namespace {

EpDeviceKind KindOf(DeviceType type) {
  return type == DeviceType::kOther || type == DeviceType::kSoftware ? EP_DEVICE_OTHER : EP_DEVICE_GPU;
}

// The capability table as doctor shows it: "Vulkan 1.3.230: storage16, int64; not used because slow: subgroup 8;
// without coopmat".
std::string Describe(uint32_t version, const Capabilities& capabilities) {
  std::string has, slow, lacks;
  for (size_t i = 0; i < static_cast<size_t>(Capability::kCount); ++i) {
    const auto capability = static_cast<Capability>(i);
    std::string& list = capabilities.Has(capability) ? has : capabilities.IsSlow(capability) ? slow : lacks;
    list += (list.empty() ? "" : ", ") + std::string(NameOf(capability));
    if (&list == &lacks) continue;
    if (capability == Capability::kSubgroup) list += kit::TextOf(' ', capabilities.subgroup_size);
    const MatrixShape& matrix = capabilities.coop_matrix;
    if (capability == Capability::kCoopMatrix) list += kit::TextOf(' ', matrix.m, 'x', matrix.n, 'x', matrix.k);
  }
  return "Vulkan " + VersionText(version) + ": " + has + (slow.empty() ? "" : "; not used because slow: " + slow) +
         (lacks.empty() ? "" : "; without " + lacks);
}

class Plugin final : public kit::Plugin {
 public:
  static constexpr bool kMakesContexts = true;

  explicit Plugin(const kit::PluginConfig& config) : kit::Plugin(config) {
    InstanceOptions options;
    options.validation = ValidationOfEnvironment();
    // The manifest's parameter `disable` applies to all sessions and streams. A session's option `disable` applies to
    // its own kernels only.
    const std::string disabled(config.Parameter("disable").value_or(""));
    options.adjust = [disabled](Capabilities& capabilities) { Disable(disabled, &capabilities); };
    options.log = [log = log()](const std::string& message) { log.Warning(message); };
    OpenedInstance opened = OpenKeptInstance(std::move(options), disabled);
    why_not_ = std::move(opened.why_not);
    instance_ = std::move(opened.instance);
    RegisterAllOperators(operators_);
    if (instance_ == nullptr) return;
    pool_.emplace(instance_);
    memories_.emplace(*instance_, *pool_);
    for (const DeviceInfo& device : instance_->devices()) AddDevice(device);
  }

  std::span<const EpDeviceInfo> Devices() override {
    if (devices_.empty()) throw kit::Error(EP_STATUS_NOT_FOUND, why_not_);
    return devices_;
  }
  kit::DeviceMemories* Memories() override { return memories_ ? &*memories_ : nullptr; }
  std::span<const kit::Operator> Operators() override { return kit::MicrosoftOperators(); }
  std::optional<std::span<const kit::Option>> Options() override { return Provider::Options(); }
  kit::ContextVerdict CheckContext(const kit::ContextHeader& header) override {
    if (devices_.empty()) return kit::ContextVerdict::Unsupported("there is no device: " + why_not_);
    return CheckContextForDevices(header, info().sources[0], instance_->devices(), BuiltInKernels().digest(),
                                  operators_);
  }
  std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig& config) override {
    return std::make_unique<Provider>(operators_, *instance_, *pool_, *memories_, config);
  }

 private:
  const char* Keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  void AddDevice(const DeviceInfo& info) {
    EpDeviceInfo device = kit::MakeDevice(KindOf(info.type), Keep(info.name), Keep(info.driver_name),
                                          Keep(info.driver_info), Keep(Describe(info.api_version, info.capabilities)));
    device.vendor_id = info.vendor_id;
    device.device_id = info.device_id;
    device.uuid = Keep(HexOf(info.device_uuid));
    device.memory_bytes = info.local_memory;
    if (info.unified_memory) device.flags |= EP_DEVICE_INTEGRATED;
    if (info.type == DeviceType::kSoftware) device.flags |= EP_DEVICE_SOFTWARE;
    devices_.push_back(device);
  }

  OperatorTable operators_;
  std::string why_not_;
  std::shared_ptr<Instance> instance_;  // null: see why_not_
  std::optional<DevicePool> pool_;
  std::optional<DeviceMemories> memories_;
  std::deque<std::string> texts_;
  std::vector<EpDeviceInfo> devices_;
};

}  // namespace
}  // namespace epiphyte::vulkan

EPIPHYTE_KIT_PLUGIN(epiphyte::vulkan::Plugin, "vulkan", "Epiphyte", EPIPHYTE_VULKAN_VERSION, "EpiphyteVulkan")
