// The npu plugin: state that its providers share, and the library's one exported symbol.
//
// Each manifest over the library is a separate plugin. It has the manifest's name, the source from parameter `source`,
// and the SDK from parameter `sdk`. So SDKs of several vendors can be used side by side.
#include "epiphyte/kit/plugin/named_plugin.hpp"

#include <deque>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/options.h"
#include "plugins/npu/provider.h"
#include "plugins/npu/sdk_cache.h"

namespace epiphyte::npu {
namespace {

class Plugin final : public kit::Plugin {
 public:
  static constexpr bool kMakesContexts = true;

  explicit Plugin(const kit::PluginConfig& config)
      : kit::Plugin(config), shelf_(config.environment.directory, std::string(config.Parameter("sdk").value_or(""))) {
    try {
      AddDevices(*shelf_.Open(""));
    } catch (const kit::Error& error) {
      why_not_ = error.what();
    }
  }

  // A defective SDK is no fault of the plugin: the plugin then has no device and reports the reason.
  std::span<const EpDeviceInfo> Devices() override {
    if (devices_.empty())
      kit::FailWith(
          EP_STATUS_NOT_FOUND, why_not_,
          ". The manifest's parameter 'sdk' names the SDK, by its absolute path or as a file beside the plugin");
    return devices_;
  }
  std::optional<std::span<const kit::Option>> Options() override { return DeclaredOptions(); }
  std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig& config) override {
    return std::make_unique<Provider>(shelf_, config);
  }

  kit::ContextVerdict CheckContext(const kit::ContextHeader& header) override {
    const std::string source(header.origin().source);
    if (!source.empty() && source != info().sources[0])
      return kit::ContextVerdict::NotApplicable("its source is '" + source + "'");
    std::map<std::string, std::string> options;
    for (const kit::Option& option : DeclaredOptions())
      if (const auto value = header.Option(option.name())) options.emplace(option.name(), *value);
    try {
      const kit::OptionValues values(DeclaredOptions(), options);
      const auto sdk = shelf_.Open(values.Text("sdk"));
      const SdkContext context(sdk, NSDK_WITHOUT_DEVICE, OptionsOfSdk(options), log());
      kit::ContextVerdict verdict = JudgeCompatibility(context, header.compatibility_info());
      if (header.has_payload()) verdict.Worsen(context.Check(header.payload()));
      return verdict;
    } catch (const kit::Error& error) {
      return kit::ContextVerdict::Unsupported(error.what());
    }
  }

 private:
  const char* Keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  void AddDevices(const Sdk& sdk) {
    const auto& version = sdk.version();
    const std::string about = sdk.Title() + (version.build_id.empty() ? "" : " (" + version.build_id + ")");
    for (const SdkDevice& found : sdk.ListDevices()) {
      EpDeviceInfo device =
          kit::MakeDevice(EP_DEVICE_NPU, Keep(found.name), Keep(version.vendor), Keep(about), Keep(found.architecture));
      device.memory_bytes = found.memory_bytes;
      if (found.is_software) device.flags |= EP_DEVICE_SOFTWARE;
      devices_.push_back(device);
    }
    if (!devices_.empty()) return;
    if (!sdk.Can(NSDK_CAN_COMPILE)) {
      why_not_ = "the SDK '" + sdk.path() + "' finds no NPU here, and compiles for none";
      return;
    }
    const SdkContext context(shelf_.Open(""), NSDK_WITHOUT_DEVICE, {}, log());
    EpDeviceInfo device = kit::MakeDevice(EP_DEVICE_NPU, Keep(version.name), Keep(version.vendor), Keep(about),
                                          Keep(context.target().architecture));
    device.flags |= EP_DEVICE_COMPILE_ONLY;
    devices_.push_back(device);
  }

  SdkCache shelf_;
  std::string why_not_;
  std::deque<std::string> texts_;
  std::vector<EpDeviceInfo> devices_;
};

}  // namespace
}  // namespace epiphyte::npu

EPIPHYTE_KIT_NAMED_PLUGIN(epiphyte::npu::Plugin, "npu", "Epiphyte", EPIPHYTE_NPU_VERSION, "EpiphyteNPU")
