#include "core/abi/kernel_places.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/abi/device_tables.h"
#include "core/base/error.h"

namespace epiphyte::core {
namespace {

template <typename... Args>
[[noreturn]] void Refuse(const DescribedKernel& kernel, fmt::format_string<Args...> format, Args&&... args) {
  Fail(StatusCode::kEpFail, "provider '{}': DescribeKernel of '{}' {}; report this to the plugin's vendor",
       kernel.plugin.name, kernel.name, fmt::format(format, std::forward<Args>(args)...));
}

// Copies an array after a check of its count. `most`: the number of the kernel's inputs or outputs.
template <typename T>
std::vector<T> Copied(const T* array, uint32_t count, size_t most, const char* what, const DescribedKernel& kernel) {
  if (count > most) Refuse(kernel, "gives memories for {} {}, but the partition has {}", count, what, most);
  return array == nullptr ? std::vector<T>() : std::vector<T>(array, array + count);
}

bool NamesMemories(const std::vector<uint32_t>& sets) {
  return std::any_of(sets.begin(), sets.end(), [](uint32_t set) { return (set & ~EP_MEMORIES_HOST) != 0; });
}

void CheckSets(const std::vector<uint32_t>& sets, size_t memory_count, const char* what,
               const DescribedKernel& kernel) {
  for (size_t i = 0; i < sets.size(); ++i) {
    const uint32_t memories = sets[i] >> 1;
    if (memory_count >= EP_MAX_MEMORIES || memories >> memory_count == 0) continue;
    uint32_t memory = static_cast<uint32_t>(memory_count);
    while ((memories >> memory & 1) == 0) ++memory;
    Refuse(kernel, "names memory {} for {} {}, but its device has memories 0 to {}", memory, what, i, memory_count - 1);
  }
}

}  // namespace

KernelPlaces ReadKernelPlaces(const EpKernelInfo& info, const DescribedKernel& kernel) {
  KernelPlaces places;
  places.async = EP_HAS_FIELD(&info, EpKernelInfo, flags) && (info.flags & EP_KERNEL_ASYNC) != 0;
  // A plugin that knows only a part of the struct left the rest zero; these zeros mean nothing.
  if (EP_HAS_FIELD(&info, EpKernelInfo, output_aliases)) {
    if (info.reserved != 0) Refuse(kernel, "has {} in EpKernelInfo::reserved, 0 expected", info.reserved);
    places.device = info.device;
    places.inputs = Copied(info.input_memories, info.input_count, kernel.input_count, "inputs", kernel);
    places.outputs = Copied(info.output_memories, info.output_count, kernel.output_count, "outputs", kernel);
    places.aliases = Copied(info.output_aliases, info.output_count, kernel.output_count, "outputs", kernel);
  }
  for (size_t i = 0; i < places.aliases.size(); ++i) {
    const int32_t input = places.aliases[i];
    if (input < -1 || (input >= 0 && static_cast<size_t>(input) >= kernel.input_count)) {
      Refuse(kernel, "names input {} for output {} to be written over, but the partition has {} inputs; -1 means none",
             input, i, kernel.input_count);
    }
  }
  if (!places.on_device() && places.aliases.empty()) return places;

  const EpDeviceApi* const api = DeviceApiOf(kernel.plugin);
  if (api == nullptr) {
    Refuse(kernel, "speaks of {}, but the plugin has no " EP_DEVICE_EXTENSION " extension",
           places.async ? "asynchronous work" : "memories or aliases");
  }
  if (!places.on_device()) return places;
  if (std::count(kernel.devices.begin(), kernel.devices.end(), places.device) == 0) {
    Refuse(kernel, "says that it is on device {}, but its provider has device{} {}", places.device,
           kernel.devices.size() == 1 ? "" : "s", fmt::join(kernel.devices, ", "));
  }
  // A compile-only device isn't present, so its plugin can't be asked about its memories.
  if ((NamesMemories(places.inputs) || NamesMemories(places.outputs)) && IsPresent(kernel.plugin, places.device)) {
    const size_t count = MemoriesOf(kernel.plugin, *api, places.device).size();
    CheckSets(places.inputs, count, "input", kernel);
    CheckSets(places.outputs, count, "output", kernel);
  }
  return places;
}

}  // namespace epiphyte::core
