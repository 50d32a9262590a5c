#include "epiphyte/kit/plugin/device_memory.hpp"

#include <string>

namespace epiphyte::kit {

std::unique_ptr<DeviceBuffer> DeviceMemories::Import(uint32_t, uint32_t memory, const EpExternalMemory& external) {
  throw Error(EP_STATUS_INVALID_ARGUMENT, "handle type " + std::to_string(external.type) + " found, memory " +
                                              std::to_string(memory) + " imports none");
}
EpExternalMemory DeviceMemories::Export(DeviceBuffer&, EpHandleType type) {
  throw Error(EP_STATUS_INVALID_ARGUMENT, "handle type " + std::to_string(type) + " found, the memory exports none");
}
void* DeviceMemories::Map(DeviceBuffer&) { throw Error(EP_STATUS_INVALID_ARGUMENT, "the memory is not mappable"); }

}  // namespace epiphyte::kit
