// The vulkan provider's contexts: the graphs of all partitions with their packed weights, in a container of the kit's,
// and apart from them what the driver made of the shaders. Weights are used in place when it is mapped.
//
// Graphs and weights depend on no device: another one, or another driver, builds its pipelines anew and runs them.
// Nothing in it is trusted: the container compares digests and checks every offset, count and size; graphs are verified
// as a whole before anything is built of them (verify.h), and pipelines are given to a driver only if it made them
// (Device::UsePipelineCacheData). The same graphs give the same bytes.
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

// The properties that a context was made with, and what a mismatch means. `capabilities`: without those that are turned
// off.
kit::CompatibilityKey ContextKey(const DeviceInfo& device, const Capabilities& capabilities, uint64_t kernels);

// Writes a context front to back through `write`. `pipelines`: Device::PipelineCacheData; may be empty.
void WriteContext(const kit::CompatibilityKey& key, std::span<const CompiledGraph* const> graphs,
                  std::span<const std::byte> pipelines,
                  const std::function<void(const void* data, uint64_t size)>& write);

std::shared_ptr<const kit::ContextContainer> OpenContext(std::span<const std::byte> payload);
// Empty when there are none.
kit::OwnSection PipelinesOf(const kit::ContextContainer& context);

// The verdict on a context that is known by its description, by its bytes, or by both.
kit::ContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source, const DeviceInfo& device,
                                       const Capabilities& capabilities, uint64_t kernels,
                                       const OperatorTable& operators);
// The same for the device and the capabilities that the header's options and devices name. Without a session it is the
// verdict for the device on which the context does best. `devices` isn't empty.
kit::ContextVerdict CheckContextForDevices(const kit::ContextHeader& header, std::string_view source,
                                           std::span<const DeviceInfo> devices, uint64_t kernels,
                                           const OperatorTable& operators);

}  // namespace epiphyte::vulkan
