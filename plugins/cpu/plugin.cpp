// The cpu plugin: the common state of its providers, and the library's only exported symbol.
#include "epiphyte/kit/plugin/plugin.hpp"

#include "epiphyte/kit/abi/process_end.hpp"
#include "epiphyte/kit/plugin/microsoft.hpp"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/onednn/threading.h"
#include "plugins/cpu/provider.h"

namespace epiphyte::cpu {
namespace {

class Plugin final : public kit::Plugin {
 public:
  static constexpr bool kMakesContexts = true;

  explicit Plugin(const kit::PluginConfig& config)
      : kit::Plugin(config),
        architecture_(Architecture() + "/" + EffectiveIsa()),
        device_(kit::MakeDevice(EP_DEVICE_CPU, "CPU", "", "", architecture_.c_str())) {
    device_.flags = EP_DEVICE_INTEGRATED;
    RegisterAllKernels(registry_);
    MakeOneDnnObjects();
    kit::ProcessEnd::Notice();
    if (const char* message = BindOneDnnThreads()) log().Warning(message);
  }

  std::span<const EpDeviceInfo> Devices() override { return {&device_, 1}; }
  std::span<const kit::Operator> Operators() override { return kit::MicrosoftOperators(); }
  std::optional<std::span<const kit::Option>> Options() override { return Provider::Options(); }
  kit::ContextVerdict CheckContext(const kit::ContextHeader& header) override {
    return CheckContextHeader(header.info(), info().sources[0], registry_);
  }
  std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig& config) override {
    return std::make_unique<Provider>(registry_, config);
  }

 private:
  KernelRegistry registry_;
  const std::string architecture_;
  EpDeviceInfo device_;
};

}  // namespace
}  // namespace epiphyte::cpu

EPIPHYTE_KIT_PLUGIN(epiphyte::cpu::Plugin, "cpu", "Epiphyte", EPIPHYTE_CPU_VERSION, "EpiphyteCPU")
