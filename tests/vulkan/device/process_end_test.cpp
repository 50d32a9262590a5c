// No driver function is called after the driver's own exit handler has run. A host may keep sessions in static
// variables, and such variables can outlive the driver: exit handlers run in reverse order, and NVIDIA's driver
// registers its handler when it is opened, after the variables exist.
#include <cstdlib>
#include <memory>

#include "plugins/vulkan/device/stream.h"
#include "plugins/vulkan/device/vk_device.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {
namespace {

bool driver_is_gone = false;

template <auto kMember>
struct Watched;
// A wrapper of a driver function that exits the process with code 3 when it is called after the driver is gone.
template <typename Result, typename... Arguments, Result(VKAPI_PTR* DeviceFunctions::*kMember)(Arguments...)>
struct Watched<kMember> {
  static inline Result(VKAPI_PTR* real)(Arguments...) = nullptr;
  static Result VKAPI_CALL Call(Arguments... arguments) {
    if (driver_is_gone) std::_Exit(3);
    return real(arguments...);
  }
  static void Watch(DeviceFunctions& vk) {
    real = vk.*kMember;
    if (real != nullptr) vk.*kMember = Call;
  }
};

class ProcessEndTest : public DeviceTest {
 protected:
  // Keeps the device and the program in static variables that exist before the driver is opened, as a host may, and
  // exits with a submission in progress.
  void EndWithAProgramUnderWay(bool timeline) {
    static std::shared_ptr<Device> device;
    static std::unique_ptr<HostProgram> program;
    device = OpenAs(true, timeline);
    DeviceFunctions& vk = device->handles().vk;
#define EPIPHYTE_VK_WATCH(name) Watched<&DeviceFunctions::name>::Watch(vk);
    EPIPHYTE_VK_DEVICE_FUNCTIONS(EPIPHYTE_VK_WATCH)
    EPIPHYTE_VK_OPTIONAL_FUNCTIONS(EPIPHYTE_VK_WATCH)
#undef EPIPHYTE_VK_WATCH
    const BufferRange a = Numbers(*device, 100);
    HostList list;
    list.commands = {Add(a, a, 1), Double(a)};
    list.inputs = {a};
    list.outputs = {a};
    program = std::make_unique<HostProgram>(device, list);
    EXPECT_EQ(Run(*program, std::vector<uint32_t>(100, 7)), std::vector<uint32_t>(100, 16));
    program->program().Submit(program->stream());
    std::atexit([] { driver_is_gone = true; });
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  }
};

TEST_F(ProcessEndTest, NothingIsCalledWhenTheDriverIsGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(EndWithAProgramUnderWay(true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(EndWithAProgramUnderWay(false), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace epiphyte::vulkan
