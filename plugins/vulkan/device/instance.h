// Instance: the Vulkan loader and the devices that it finds, opened at run time: nothing links to libvulkan.
//
//     const OpenedInstance opened = OpenInstance();
//     if (opened.instance == nullptr) Report(opened.why_not);   // "libvulkan.so.1 can't be loaded; install …"
//     const std::shared_ptr<Device> device =
//         Device::Open(opened.instance, ChooseDevice(opened.instance->devices(), choice));
//
// Opening an instance takes up to a third of a second and starts threads of the drivers, so share it.
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

// The checks of the Khronos validation layer that are on, for tests.
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
  // Turns off capabilities of devices for all users of the instance; may be empty.
  std::function<void(Capabilities& capabilities)> adjust;
  // Receives the messages of drivers and of the validation layer. [any thread]
  std::function<void(const std::string& message)> log;
};

struct InstanceHandles;  // vk_instance.h
class Instance;

struct OpenedInstance {
  std::shared_ptr<Instance> instance;  // null: there is no loader, or no driver
  std::string why_not;                 // set for an instance without devices, too; says what to install
};
// Throws nothing but bad_alloc.
OpenedInstance OpenInstance(InstanceOptions options = {});

// Returns the same instance to all callers with the same `adjusted`, a text that says what options.adjust does. It is
// kept until the process ends, for each value of VK_DRIVER_FILES and VK_ICD_FILENAMES. An instance with validation or
// without devices is not kept but opened anew. options.log receives no messages of a kept instance.
OpenedInstance OpenKeptInstance(InstanceOptions options, std::string_view adjusted);

// [any thread]
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::vector<DeviceInfo>& devices() const { return devices_; }
  const Validation& validation() const { return options_.validation; }
  // The devices that drivers list but devices() leaves out, with the reason: "llvmpipe: it has Vulkan 1.0, 1.1 is
  // needed".
  const std::vector<std::string>& refused() const { return refused_; }

  // Number of errors that the validation layer has reported so far. Warnings count if best practices are checked.
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
  std::string first_error_;  // first error since the last ThrowIfInvalid
  std::vector<std::string> messages_;
};

}  // namespace epiphyte::vulkan
