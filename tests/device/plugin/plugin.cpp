// The library's two exported symbols. It serves two manifests, so that tests have two plugins with devices.
#include <cstring>
#include <string_view>

#include "epiphyte/ep_entry.h"
#include "tests/device/plugin/control.h"
#include "tests/device/plugin/device_api.h"
#include "tests/device/plugin/provider.h"

namespace epiphyte::test::device {
namespace {

constexpr const char* kNames[] = {"test_device", "test_device_b"};
constexpr const char* kSources[][1] = {{"TestDevice"}, {"TestDeviceB"}};

constexpr EpDeviceInfo MakeDevice(const char* name, const char* location, const char* uuid) {
  EpDeviceInfo info = {};
  info.struct_size = sizeof info;
  info.kind = EP_DEVICE_OTHER;
  info.name = name;
  info.vendor = "tests";
  info.driver_version = "1.0";
  info.architecture = "thread";
  info.location = location;
  info.uuid = uuid;
  info.memory_bytes = uint64_t{1} << 30;
  return info;
}
constexpr EpDeviceInfo kDevices[][kDeviceCount] = {
    {MakeDevice("test 0", "test:0", "7e57a000"), MakeDevice("test 1", "test:1", "7e57a001")},
    {MakeDevice("test 0", "test:2", "7e57b000"), MakeDevice("test 1", "test:3", "7e57b001")}};

// Returns the manifest's parameter with that key; null if there is none.
const char* Parameter(const EpPluginEnvironment& environment, std::string_view key) {
  for (uint32_t i = 0; i < environment.parameter_count; ++i) {
    if (environment.parameters[i].key == key) return environment.parameters[i].value;
  }
  return nullptr;
}

template <int kNumber>
EpStatus* EP_CALL Initialize(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin) {
  return kit::Guard(*host, [&] {
    const char* const asked = Parameter(*environment, "fault");
    const char* const fault = asked == nullptr ? nullptr : FindFault(asked);
    if (asked != nullptr && fault == nullptr) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, std::string("parameter 'fault': '") + asked + "' is none");
    }
    *plugin = reinterpret_cast<EpPlugin*>(new Machine(*host, kNumber, fault));
  });
}

void EP_CALL Shutdown(EpPlugin* plugin) { delete &MachineOf(plugin); }

EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  for (uint32_t i = 0; i < capacity && i < kDeviceCount; ++i) devices[i] = &kDevices[MachineOf(plugin).number()][i];
  *count = kDeviceCount;
  return nullptr;
}

const void* EP_CALL GetExtension(EpPlugin*, const char* id) {
  return std::strcmp(id, EP_DEVICE_EXTENSION) == 0 ? &kDeviceApi : nullptr;
}

template <int kNumber, bool kWithStates>
const EpPluginDescriptor* Descriptor() {
  static const EpPluginDescriptor kDescriptor = {sizeof(EpPluginDescriptor),
                                                 EP_ABI_VERSION,
                                                 kNames[kNumber],
                                                 "tests",
                                                 "1.0.0",
                                                 kSources[kNumber],
                                                 1,
                                                 0,
                                                 Initialize<kNumber>,
                                                 Shutdown,
                                                 GetDevices,
                                                 nullptr,
                                                 &ProviderTable(kWithStates),
                                                 GetExtension};
  return &kDescriptor;
}

const EpPluginDescriptor* Query(const EpPluginEnvironment& environment) {
  const std::string_view name = environment.name;
  const char* const states = Parameter(environment, "states");
  const bool with_states = states == nullptr || std::string_view(states) != "0";
  if (name.empty() || name == kNames[0]) return with_states ? Descriptor<0, true>() : Descriptor<0, false>();
  if (name == kNames[1]) return with_states ? Descriptor<1, true>() : Descriptor<1, false>();
  return nullptr;
}

}  // namespace
}  // namespace epiphyte::test::device

const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo*, const EpPluginEnvironment* environment) {
  return epiphyte::test::device::Query(*environment);
}

extern "C" EP_EXPORT epiphyte::test::TestDeviceControl* EpTestDeviceControl();
epiphyte::test::TestDeviceControl* EpTestDeviceControl() { return &epiphyte::test::device::Control(); }
