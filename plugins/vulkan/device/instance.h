// Instance: the Vulkan loader and the devices that it finds, opened at run time: nothing links to libvulkan.
//
//     const OpenedInstance opened = OpenInstance();
//     if (opened.instance == nullptr) Report(opened.why_not);   // "libvulkan.so.1 can't be loaded; install libvulkan1 …"
//     const std::shared_ptr<Device> device = Device::Open(opened.instance, ChooseDevice(opened.instance->devices(), choice));
//
// Opening one takes up to a third of a second and some threads of the drivers': share it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vulkan/device/device_info.h"

namespace epiphyte::vulkan {

// Which checks of the Khronos validation layer are on: for tests.
struct Validation {
  bool core = false;
  bool synchronization = false;
  bool gpu_assisted = false;  // opens devices without robust buffer access, which would hide out-of-bounds accesses
  bool best_practices = false;

  bool Any() const { return core || synchronization || gpu_assisted || best_practices; }
};

// Reads the environment variable EPIPHYTE_VULKAN_VALIDATION: a list such as "core,sync,gpu,best". Throws
// INVALID_ARGUMENT for other words.
Validation ValidationOfEnvironment();

struct InstanceOptions {
  Validation validation;
  // Turns capabilities of devices off, for all that use them; may be empty.
  std::function<void(Capabilities& capabilities)> adjust;
  // Receives the messages of drivers and of the validation layer. [any thread]
  std::function<void(const std::string& message)> log;
};

struct InstanceHandles;  // vk_instance.h
class Instance;

struct OpenedInstance {
  std::shared_ptr<Instance> instance;  // null: there is no loader, or no driver
  std::string why_not;                 // set for an instance without devices too; says what to install
};
// Throws nothing but bad_alloc.
OpenedInstance OpenInstance(InstanceOptions options = {});

// The same for all that come with the same `adjusted`, which says what options.adjust does, at once or one after another:
// it is kept until the process ends, as long as VK_DRIVER_FILES and VK_ICD_FILENAMES stay as they are. With validation, or
// without devices, it is opened anew. options.log hears nothing of a kept one.
OpenedInstance OpenKeptInstance(InstanceOptions options, std::string_view adjusted);

// [any thread]
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::vector<DeviceInfo>& devices() const { return devices_; }
  const Validation& validation() const { return options_.validation; }
  // Why devices that drivers list are not among devices(): "llvmpipe: Vulkan 1.0, 1.1 is needed".
  const std::vector<std::string>& refused() const { return refused_; }

  // Number of errors that the validation layer has reported so far. Warnings count where best practices are checked.
  uint64_t validation_errors() const { return errors_.load(); }
  std::vector<std::string> TakeValidationMessages();
  // Throws EP_FAIL with the first message when there were any errors since the last call.
  void ThrowIfInvalid();
  // Called by the validation layer's messenger.
  void Report(bool error, std::string message);

  InstanceHandles& handles() const { return *handles_; }

 private:
  friend OpenedInstance OpenInstance(InstanceOptions options);
  explicit Instance(InstanceOptions options);

  InstanceOptions options_;
  std::unique_ptr<InstanceHandles> handles_;
  std::vector<DeviceInfo> devices_;
  std::vector<std::string> refused_;
  std::atomic<uint64_t> errors_ = 0;
  std::mutex mutex_;
  std::string first_error_;  // since the last ThrowIfInvalid
  std::vector<std::string> messages_;
};

}  // namespace epiphyte::vulkan
