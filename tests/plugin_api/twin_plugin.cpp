// Plugins with classes of the same name. They are compiled with the compiler's defaults, as by a vendor without our
// CMake function. TWIN_OP names the operator that a plugin runs, and TWIN_SDK the version of its SDK. Each plugin has
// two devices, which differ only in their names.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "epiphyte/kit/container/container.hpp"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace {

// The table is not a static of Devices(): a static of an inline function would be shared by both plugins.
constexpr EpDeviceInfo kDevices[] = {
    epiphyte::kit::MakeDevice(EP_DEVICE_NPU, "first", "tests", "1", "twin-1"),
    epiphyte::kit::MakeDevice(EP_DEVICE_NPU, "second", "tests", "1", "twin-2"),
};

}  // namespace

namespace twins {

namespace kit = epiphyte::kit;

class Kernel : public kit::Kernel {
 public:
  void Execute(const kit::Run& run) override {
    const EpTensorView& x = run.input(0);
    float* y = run.Output<float>(0, EP_TYPE_FLOAT, {x.dims, x.rank});
    for (uint64_t i = 0; i < x.element_count; ++i) {
      const float value = static_cast<const float*>(x.data)[i];
      y[i] = std::strcmp(TWIN_OP, "Neg") == 0 ? -value : std::fabs(value);
    }
  }
};

class Provider : public kit::Provider {
 public:
  static constexpr bool kMakesContexts = true;
  static constexpr const char* kSdkVersion = TWIN_SDK;
  static std::span<const EpDeviceInfo> Devices() { return kDevices; }

  explicit Provider(const kit::ProviderConfig&) {}

  bool Supports(const kit::NodeView& node, std::string* why_not) override {
    *why_not = "only " TWIN_OP;
    return node.Is(TWIN_OP) && node.input(0).element_type() == EP_TYPE_FLOAT;
  }
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override {
    if (partition.graph.node_count() != 1) throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, "only single nodes");
    return std::make_unique<Kernel>();
  }
  void SaveContext(const std::vector<std::string>& partitions, kit::ContextWriter& writer) override {
    kit::ContextContainerBuilder builder({"TWIN", 1});
    for (const std::string& name : partitions) builder.Add(name, nullptr, 0);
    builder.Write(writer);
  }
  std::unique_ptr<kit::Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload) override {
    kit::ContextContainer(payload, {"TWIN", 1}).Find(partition);
    return std::make_unique<Kernel>();
  }
};

}  // namespace twins

EPIPHYTE_KIT_PLUGIN(twins::Provider, TWIN_NAME, "tests", "1.0.0", TWIN_NAME "Source")
