// The vulkan provider's contexts. A context holds the graphs of all partitions with their packed weights, in a
// container of the kit, and in a section of its own the driver's pipeline cache. Weights are used in place when the
// container is mapped.
//
// Graphs and weights depend on no device: another device or driver builds its pipelines anew and runs the same graphs.
// Nothing in a context is trusted. The container compares digests and checks every offset, count and size. Graphs are
// verified as a whole before anything is built from them (verify.h). A driver gets only pipeline data that it made
// itself (Device::UsePipelineCacheData). The same graphs give the same bytes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "epiphyte/ep_context.h"
#include "epiphyte/kit/abi/verdict.hpp"
#include "epiphyte/kit/container/container.hpp"
#include "epiphyte/kit/container/key.hpp"
#include "epiphyte/kit/plugin/context.hpp"
#include "plugins/vulkan/exec/compiled_graph.h"

namespace epiphyte::vulkan {

// The version also covers every packed format and the meaning of fused operators. Raise it with any change to one of
// them.
inline constexpr kit::ContainerFormat kContextFormat = {
    "\x01\xFF"
    "EPVKCX",
    1, "the vulkan context"};

// The key of a context that is made here: the properties of plugin, device and driver, and what a mismatch of each
// means. `capabilities` do not include those that are turned off. `kernels`: KernelSet::digest.
kit::CompatibilityKey ContextKey(const DeviceInfo& device, const Capabilities& capabilities, uint64_t kernels);

// Writes a context front to back through `write`. `pipelines`: Device::PipelineCacheData; may be empty.
void WriteContext(const kit::CompatibilityKey& key, std::span<const CompiledGraph* const> graphs,
                  std::span<const std::byte> pipelines,
                  const std::function<void(const void* data, uint64_t size)>& write);

std::shared_ptr<const kit::ContextContainer> OpenContext(std::span<const std::byte> payload);
// The driver's pipeline data in a context; empty if it has none.
kit::OwnSection PipelinesOf(const kit::ContextContainer& context);

// The verdict on a context of which the description, the payload or both are known.
kit::ContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source, const DeviceInfo& device,
                                       const Capabilities& capabilities, uint64_t kernels,
                                       const OperatorTable& operators);
// The same for the devices and capabilities that the header's options and devices select. If they select several
// devices, because there is no session, this is the best verdict. `devices` isn't empty.
kit::ContextVerdict CheckContextForDevices(const kit::ContextHeader& header, std::string_view source,
                                           std::span<const DeviceInfo> devices, uint64_t kernels,
                                           const OperatorTable& operators);

}  // namespace epiphyte::vulkan
