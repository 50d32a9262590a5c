#include "tests/device/plugin/control.h"

#include <utility>

namespace epiphyte::test::device {

TestDeviceControl& Control() {
  static TestDeviceControl& control = *[] {
    auto* made = new TestDeviceControl;
    made->Reset();
    return made;
  }();
  return control;
}

void Complain(std::string text) {
  TestDeviceControl& control = Control();
  ++control.violations;
  const std::lock_guard lock(control.mutex);
  control.complaints.push_back(std::move(text));
}

const char* FindFault(std::string_view name) {
  for (const char* fault : kTestDeviceFaults) {
    if (name == fault) return fault;
  }
  return nullptr;
}

}  // namespace epiphyte::test::device
