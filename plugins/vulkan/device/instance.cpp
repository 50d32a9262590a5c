#include "plugins/vulkan/device/instance.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/abi/process_end.hpp"
#include "plugins/vulkan/device/vk_instance.h"

namespace epiphyte::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr size_t kMostMessages = 64;

// Opens the loader once per process, because volk keeps its result in global variables.
VkResult OpenLoader() {
  static const VkResult result = volkInitialize();
  return result;
}

// Parts of the ids of validation messages that are ignored.
constexpr std::string_view kIgnoredAdvice[] = {
    // Shaders are SPIR-V 1.3, for Vulkan 1.1, where WorkgroupSize is the way to give the size of workgroups.
    "SpirvDeprecated_WorkgroupSize",
    // The debugging extension is enabled on purpose, by tests that count messages.
    "specialuse-extension-debugging",
    // GPU-assisted validation reports the features that it turns on itself, and those that the device lacks.
    "WARNING-GPU-Assisted-Validation",
};

bool IsIgnored(std::string_view id) {
  return std::ranges::any_of(kIgnoredAdvice, [id](std::string_view each) { return id.find(each) != id.npos; });
}

bool HasLayer(const char* name) {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, name) == 0) return true;
  return false;
}

#if defined(VK_EXT_LAYER_SETTINGS_EXTENSION_NAME)
bool LayerHasExtension(const char* layer, const char* name) {
  uint32_t count = 0;
  if (vkEnumerateInstanceExtensionProperties(layer, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (vkEnumerateInstanceExtensionProperties(layer, &count, extensions.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(extensions, [&](const auto& each) { return std::strcmp(each.extensionName, name) == 0; });
}
#endif

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                         VkDebugUtilsMessageTypeFlagsEXT types,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  Instance& instance = *static_cast<Instance*>(user);
  const bool from_layer = (types & (VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                                    VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT)) != 0;
  const bool error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;
  const std::string name = data->pMessageIdName == nullptr ? "" : data->pMessageIdName;
  if (IsIgnored(name)) return VK_FALSE;
  const bool advice = instance.validation().best_practices && name.find("BestPractices") != std::string::npos;
  instance.Report(from_layer && (error || advice), name + ": " + (data->pMessage == nullptr ? "" : data->pMessage));
  return VK_FALSE;
}

}  // namespace

Validation ValidationOfEnvironment() {
  Validation validation;
  const char* text = std::getenv("EPIPHYTE_VULKAN_VALIDATION");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (word == "core") {
      validation.core = true;
    } else if (word == "sync") {
      validation.synchronization = true;
    } else if (word == "gpu") {
      validation.gpu_assisted = true;
    } else if (word == "best") {
      validation.best_practices = true;
    } else {
      kit::FailArgument("EPIPHYTE_VULKAN_VALIDATION: '", word, "' found; a list of core, sync, gpu and best is expected");
    }
  }
  return validation;
}

InstanceHandles::~InstanceHandles() {
  // Drivers shut themselves down when the process ends. The host's static variables, which may hold sessions, are
  // destroyed only after that, so nothing is destroyed here then.
  if (kit::ProcessEnd::IsOver()) return;
  if (messenger != VK_NULL_HANDLE) destroy_messenger(instance, messenger, nullptr);
  if (instance != VK_NULL_HANDLE) vk.vkDestroyInstance(instance, nullptr);
}

Instance::Instance(InstanceOptions options)
    : options_(std::move(options)), handles_(std::make_unique<InstanceHandles>()) {
  uint32_t version = VK_API_VERSION_1_0;
  if (vkEnumerateInstanceVersion != nullptr) vkEnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_1)
    kit::FailWith(EP_STATUS_ENGINE_ERROR, "the Vulkan loader has version ", VersionText(version),
                  ", 1.1 is needed; install a newer libvulkan1");

  std::vector<const char*> layers;
  std::vector<const char*> extensions;
  std::vector<VkValidationFeatureEnableEXT> enabled;
  std::vector<VkValidationFeatureDisableEXT> disabled;
  const Validation& validation = options_.validation;
  if (validation.Any()) {
    if (!HasLayer(kValidationLayer))
      kit::FailWith(EP_STATUS_NOT_FOUND, "the layer ", kValidationLayer, " is not there; install vulkan-validationlayers");
    layers.push_back(kValidationLayer);
    extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    if (!validation.core) disabled.push_back(VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT);
    if (validation.synchronization) enabled.push_back(VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT);
    if (validation.best_practices) enabled.push_back(VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT);
    if (validation.gpu_assisted) {
      enabled.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT);
      enabled.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT);
    }
  }
  const void* settings = nullptr;
#if defined(VK_EXT_LAYER_SETTINGS_EXTENSION_NAME)
  // Since version 1.4, synchronization validation checks what shaders access through descriptors only with this
  // setting.
  const VkBool32 yes = VK_TRUE;
  const VkLayerSettingEXT accesses = {kValidationLayer, "syncval_shader_accesses_heuristic",
                                      VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &yes};
  const VkLayerSettingsCreateInfoEXT layer_settings = {VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, nullptr, 1,
                                                       &accesses};
  if (validation.synchronization && LayerHasExtension(kValidationLayer, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME)) {
    extensions.push_back(VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
    settings = &layer_settings;
  }
#endif
  const VkValidationFeaturesEXT features = {VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                            settings,
                                            static_cast<uint32_t>(enabled.size()),
                                            enabled.data(),
                                            static_cast<uint32_t>(disabled.size()),
                                            disabled.data()};
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "epiphyte";
  application.pEngineName = "epiphyte_vulkan";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pNext = validation.Any() ? &features : nullptr;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult made = vkCreateInstance(&info, nullptr, &handles_->instance);
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER) return;  // without a driver there are no devices
  if (made != VK_SUCCESS) {
    handles_->instance = VK_NULL_HANDLE;
    FailCall("vkCreateInstance", made);
  }
  kit::ProcessEnd::Notice();

  InstanceFunctions& vk = handles_->vk;
#define EPIPHYTE_VK_LOAD(name)                                                                       \
  vk.name = reinterpret_cast<PFN_##name>(vkGetInstanceProcAddr(handles_->instance, #name));          \
  if (vk.name == nullptr) kit::FailWith(EP_STATUS_ENGINE_ERROR, "the Vulkan loader has no " #name);
  EPIPHYTE_VK_INSTANCE_FUNCTIONS(EPIPHYTE_VK_LOAD)
#undef EPIPHYTE_VK_LOAD
#define EPIPHYTE_VK_LOAD(name) \
  vk.name = reinterpret_cast<PFN_##name>(vkGetInstanceProcAddr(handles_->instance, #name));
  EPIPHYTE_VK_OPTIONAL_INSTANCE_FUNCTIONS(EPIPHYTE_VK_LOAD)
#undef EPIPHYTE_VK_LOAD

  if (validation.Any()) {
    const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(handles_->instance, "vkCreateDebugUtilsMessengerEXT"));
    handles_->destroy_messenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(handles_->instance, "vkDestroyDebugUtilsMessengerEXT"));
    if (create == nullptr || handles_->destroy_messenger == nullptr)
      kit::FailWith(EP_STATUS_ENGINE_ERROR, "validation was asked for, and the Vulkan loader has no debug messengers");
    VkDebugUtilsMessengerCreateInfoEXT messenger = {VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                            VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
    messenger.pfnUserCallback = OnMessage;
    messenger.pUserData = this;
    const VkResult result = create(handles_->instance, &messenger, nullptr, &handles_->messenger);
    if (result != VK_SUCCESS) FailCall("vkCreateDebugUtilsMessengerEXT", result);
  }

  uint32_t count = 0;
  VkResult listed = vk.vkEnumeratePhysicalDevices(handles_->instance, &count, nullptr);
  std::vector<VkPhysicalDevice> all(listed == VK_SUCCESS ? count : 0);
  if (listed == VK_SUCCESS) listed = vk.vkEnumeratePhysicalDevices(handles_->instance, &count, all.data());
  if (listed < 0) FailCall("vkEnumeratePhysicalDevices", listed);
  all.resize(count);
  for (const VkPhysicalDevice device : all) {
    VkPhysicalDeviceProperties properties;
    vk.vkGetPhysicalDeviceProperties(device, &properties);
    const std::string name = properties.deviceName;
    if (properties.apiVersion < VK_API_VERSION_1_1) {
      refused_.push_back(name + ": it has Vulkan " + VersionText(properties.apiVersion) + ", 1.1 is needed");
    } else if (ComputeFamily(vk, device) < 0) {
      refused_.push_back(name + ": it has no queue that computes");
    } else {
      DeviceInfo description = DescribeDevice(vk, device);
      description.index = static_cast<uint32_t>(devices_.size());
      if (options_.adjust) options_.adjust(description.capabilities);
      devices_.push_back(std::move(description));
      handles_->physical.push_back(device);
    }
  }
}

Instance::~Instance() = default;

void Instance::Report(bool error, std::string message) {
  if (options_.log) options_.log(message);
  if (error) errors_.fetch_add(1);
  const std::lock_guard lock(mutex_);
  if (error && first_error_.empty()) first_error_ = message;
  if (messages_.size() < kMostMessages) messages_.push_back(std::move(message));
}

std::vector<std::string> Instance::TakeValidationMessages() {
  const std::lock_guard lock(mutex_);
  return std::exchange(messages_, {});
}

void Instance::ThrowIfInvalid() {
  if (errors_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  if (!first_error_.empty())
    throw kit::Error(EP_STATUS_EP_FAIL, "the Vulkan validation layer reports: " + std::exchange(first_error_, {}));
}

OpenedInstance OpenInstance(InstanceOptions options) {
  OpenedInstance opened;
  if (OpenLoader() != VK_SUCCESS) {
    opened.why_not = "the Vulkan loader, libvulkan.so.1, can't be opened; install libvulkan1 and the device's Vulkan driver";
    return opened;
  }
  try {
    const std::shared_ptr<Instance> instance(new Instance(std::move(options)));
    if (instance->devices().empty()) {
      opened.why_not = "no Vulkan device was found";
      for (const std::string& refused : instance->refused()) opened.why_not += "; " + refused;
      opened.why_not += "; install the device's Vulkan driver, or mesa-vulkan-drivers, and see that VK_DRIVER_FILES, if set, names it";
    }
    if (instance->handles().instance != VK_NULL_HANDLE) opened.instance = instance;
  } catch (const kit::Error& error) {
    opened.why_not = error.what();
  }
  return opened;
}

OpenedInstance OpenKeptInstance(InstanceOptions options, std::string_view adjusted) {
  if (options.validation.Any()) return OpenInstance(std::move(options));
  // The statics are never destroyed, because drivers may be gone before them when the process ends.
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::map<std::string, std::shared_ptr<Instance>>;
  std::string key(adjusted);
  for (const char* const variable : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
    if (const char* const value = std::getenv(variable)) key += kit::TextOf('\n', variable, '=', value);
  const std::lock_guard lock(mutex);
  std::shared_ptr<Instance>& known = kept[key];
  if (known != nullptr) return {known, ""};
  options.log = nullptr;  // the receiver of messages may end before the instance does
  OpenedInstance opened = OpenInstance(std::move(options));
  if (opened.instance != nullptr && !opened.instance->devices().empty()) known = opened.instance;
  return opened;
}

}  // namespace epiphyte::vulkan
