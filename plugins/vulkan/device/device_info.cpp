#include "plugins/vulkan/device/device_info.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {
namespace {

constexpr std::string_view kTypes[] = {"other", "integrated", "discrete", "virtual", "software"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string WithoutDashes(std::string text) {
  std::erase(text, '-');
  return text;
}

// Preference among the types that fit the user's choice. The device with the highest rank is chosen.
int Rank(DeviceType type) {
  switch (type) {
    case DeviceType::kDiscrete:
      return 4;
    case DeviceType::kIntegrated:
      return 3;
    case DeviceType::kVirtual:
      return 2;
    case DeviceType::kOther:
      return 1;
    case DeviceType::kSoftware:
      return 0;
  }
  return 0;
}

[[noreturn]] void FailChoice(std::span<const DeviceInfo> devices, const DeviceChoice& choice, std::string_view why) {
  std::string there;
  for (const DeviceInfo& device : devices)
    there += (there.empty() ? "" : ", ") + std::to_string(device.index) + " '" + device.name + "' (" +
             std::string(NameOf(device.type)) + ")";
  kit::FailWith(EP_STATUS_NOT_FOUND, "Vulkan device '", choice.device, "': ", why, "; there are: ",
                there.empty() ? "none" : there);
}

}  // namespace

std::string HexOf(const Uuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : uuid) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

std::string TextOf(const Uuid& uuid) {
  std::string text = HexOf(uuid);
  for (const size_t dash : {8, 13, 18, 23}) text.insert(dash, 1, '-');
  return text;
}

std::string_view NameOf(DeviceType type) { return kTypes[static_cast<size_t>(type)]; }

std::string VersionText(uint32_t version) {
  return kit::TextOf((version >> 22) & 0x7f, '.', (version >> 12) & 0x3ff, '.', version & 0xfff);
}

const DeviceInfo& ChooseDevice(std::span<const DeviceInfo> devices, const DeviceChoice& choice) {
  const std::string wanted = Lower(choice.device);
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  if (!wanted.empty() && error == std::errc() && end == wanted.data() + wanted.size()) {
    if (index >= devices.size()) FailChoice(devices, choice, "there is none of that index");
    return devices[index];
  }

  const bool by_type = std::ranges::find(kTypes, wanted) != std::end(kTypes);
  const DeviceInfo* best = nullptr;
  bool software = false;
  for (const DeviceInfo& device : devices) {
    const bool by_name = Lower(device.name).find(wanted) != std::string::npos;  // always true if `wanted` is empty
    const bool exact = (by_type && NameOf(device.type) == wanted) || HexOf(device.device_uuid) == WithoutDashes(wanted);
    if (!exact && (by_type || !by_name)) continue;
    if (!exact && device.type == DeviceType::kSoftware && !choice.allow_software) {
      software = true;
      continue;
    }
    if (best == nullptr || Rank(device.type) > Rank(best->type)) best = &device;
  }
  if (best == nullptr)
    FailChoice(devices, choice,
               software ? "only a software device fits; say 'software' if that is wanted" : "none fits");
  return *best;
}

}  // namespace epiphyte::vulkan
