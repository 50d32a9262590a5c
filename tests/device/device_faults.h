// The test device with a fault: either one that its manifest names, or functions of its table that a test replaces.
//
//   const FaultyManifest manifest("no_memories");
//   environment_ = DeviceEnvironment({manifest.path()});     // "test_device" is that one now
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/device/device_fixture.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

class FaultyManifest {
 public:
  explicit FaultyManifest(const std::string& fault) {
    std::ifstream file(DeviceFolder() / "test_device.yaml");
    std::string text;
    for (std::string line; std::getline(file, line);) {
      text += line.starts_with("library:") ? std::string("library: ") + EPIPHYTE_TEST_DEVICE : line;
      text += '\n';
    }
    folder_.Write("test_device.yaml", text + "parameters: {fault: " + fault + "}\n");
  }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  TempDir folder_;
};

// Fixture for sessions on a test device with a fault.
class FaultyDeviceTest : public DeviceTest {
 protected:
  void Break(const std::string& fault) {
    manifest_ = std::make_unique<FaultyManifest>(fault);
    environment_ = DeviceEnvironment({manifest_->path()});
  }

 private:
  std::unique_ptr<FaultyManifest> manifest_;
};

}  // namespace epiphyte::test
