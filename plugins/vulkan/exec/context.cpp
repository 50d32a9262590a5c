#include "plugins/vulkan/exec/context.h"

#include <optional>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/exec/device_options.h"
#include "plugins/vulkan/exec/verify.h"

namespace epiphyte::vulkan {
namespace {

constexpr const char* kPipelines = "pipelines";
constexpr const char* kRebuilt = "its pipelines are built again; compile the model again to avoid that";

std::string HexText(uint64_t number) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 0; i < text.size(); ++i) text[text.size() - 1 - i] = kDigits[number >> (4 * i) & 15];
  return text;
}

// Names of the capabilities that kernels are chosen by.
std::string NamesOf(const Capabilities& capabilities) {
  std::string names;
  for (size_t i = 0; i < static_cast<size_t>(Capability::kCount); ++i)
    if (static_cast<Capability>(i) != Capability::kTimeline && capabilities.Has(static_cast<Capability>(i)))
      names += (names.empty() ? "" : ",") + std::string(NameOf(static_cast<Capability>(i)));
  return names;
}

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

kit::ContextVerdict CheckPayload(std::span<const std::byte> payload, const kit::CompatibilityKey& here,
                                 const OperatorTable& operators, const Capabilities& capabilities) {
  try {
    const kit::ContextContainer container(payload, kContextFormat, kit::ContainerDigests::kAll);
    kit::ContextVerdict found = here.Compare(container.key());
    for (const std::string_view name : kit::GraphNames(container)) {
      const kit::StoredGraph stored = kit::ReadGraph(container, name, kit::GraphCheck::kLater);
      VerifyGraph(stored.graph, stored.packed, operators, capabilities, GraphOrigin::kContext);
    }
    return found;
  } catch (const kit::Error& error) {
    return kit::ContextVerdict::Unsupported(error.what());
  }
}

}  // namespace

kit::CompatibilityKey ContextKey(const DeviceInfo& device, const Capabilities& capabilities, uint64_t kernels) {
  kit::CompatibilityKey key;
  key.Require("format", std::to_string(kContextFormat.version), "format {}");
  // The keys below affect only the pipelines and the choice of kernels, and both are rebuilt on a mismatch.
  key.Prefer("plugin", EPIPHYTE_VULKAN_VERSION, "version {} of the vulkan provider",
             "it works, but compiling the model again may give better code");
  key.Prefer("kernels", HexText(kernels), "kernels {}", kRebuilt);
  key.Prefer("vendor_id", std::to_string(device.vendor_id), "a device of vendor {}", kRebuilt);
  key.Prefer("device_id", std::to_string(device.device_id), "device {} of its vendor", kRebuilt);
  key.Prefer("device_name", device.name, "the device '{}'", kRebuilt);
  key.Prefer("device_uuid", TextOf(device.device_uuid), "the device {}", kRebuilt);
  key.Prefer("api_version", VersionText(device.api_version), "Vulkan {}", kRebuilt);
  key.Prefer("driver_id", std::to_string(device.driver_id), "driver number {}", kRebuilt);
  key.Prefer("driver_name", device.driver_name, "driver '{}'", kRebuilt);
  key.Prefer("driver_info", device.driver_info, "driver '{}'", kRebuilt);
  key.Prefer("driver_version", std::to_string(device.driver_version), "driver version {}", kRebuilt);
  key.Prefer("driver_uuid", TextOf(device.driver_uuid), "the driver {}", kRebuilt);
  key.Prefer("pipeline_cache_uuid", TextOf(device.pipeline_cache_uuid), "pipelines of {}", kRebuilt);
  key.Prefer("capabilities", NamesOf(capabilities), "the capabilities {}", kRebuilt);
  key.Prefer("subgroup",
             kit::TextOf(device.subgroup_size, ' ', device.subgroup_size_min, ' ', device.subgroup_size_max, ' ',
                         device.subgroup_operations, capabilities.full_subgroups ? " full" : ""),
             "subgroups {}", kRebuilt);
  key.Prefer("coop_matrix", device.coop_matrix_shapes, "cooperative matrices {}", kRebuilt);
  key.Prefer("limits",
             kit::TextOf(capabilities.max_workgroup_invocations, ' ', capabilities.max_shared_memory, ' ',
                         capabilities.max_buffer_range, ' ', capabilities.buffer_offset_alignment, ' ',
                         capabilities.max_bindings),
             "the limits {}", kRebuilt);
  return key;
}

void WriteContext(const kit::CompatibilityKey& key, std::span<const CompiledGraph* const> graphs,
                  std::span<const std::byte> pipelines,
                  const std::function<void(const void* data, uint64_t size)>& write) {
  kit::ContextContainerBuilder builder(kContextFormat, key.ToText());
  for (const CompiledGraph* graph : graphs) kit::AddGraph(builder, graph->graph(), graph->packed());
  if (!pipelines.empty()) builder.Add(kPipelines, pipelines.data(), pipelines.size());
  builder.Write(write);
}

std::shared_ptr<const kit::ContextContainer> OpenContext(std::span<const std::byte> payload) {
  return std::make_shared<const kit::ContextContainer>(payload, kContextFormat);
}

kit::OwnSection PipelinesOf(const kit::ContextContainer& context) {
  return context.Has(kPipelines) ? context.Own(context.NumberOf(kPipelines)) : kit::OwnSection();
}

kit::ContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source, const DeviceInfo& device,
                                       const Capabilities& capabilities, uint64_t kernels,
                                       const OperatorTable& operators) {
  if (!View(header.source).empty() && header.source != source)
    return kit::ContextVerdict::NotApplicable(
        kit::TextOf("its source is '", header.source, "', the vulkan provider's is '", source, "'"));
  const kit::CompatibilityKey here = ContextKey(device, capabilities, kernels);
  auto found =
      kit::ContextVerdict::NotApplicable("nothing is said about how it was made; check it together with its binary");
  if (const std::string_view info = View(header.compatibility_info); !info.empty()) found.Worsen(here.Compare(info));
  if (header.blob != nullptr)
    found.Worsen(CheckPayload({static_cast<const std::byte*>(header.blob), static_cast<size_t>(header.blob_size)}, here,
                              operators, capabilities));
  return found;
}

kit::ContextVerdict CheckContextForDevices(const kit::ContextHeader& header, std::string_view source,
                                           std::span<const DeviceInfo> devices, uint64_t kernels,
                                           const OperatorTable& operators) {
  std::optional<kit::ContextVerdict> best;
  try {
    for (const uint32_t index : DevicesToUse(devices, header.Option("use").value_or(""), header.devices())) {
      Capabilities capabilities = devices[index].capabilities;
      Disable(header.Option("disable").value_or(""), &capabilities);
      Prefer(header.Option("prefer").value_or(""), &capabilities);
      kit::ContextVerdict verdict =
          CheckContextHeader(header.info(), source, devices[index], capabilities, kernels, operators);
      if (best) {
        best->Improve(std::move(verdict));
      } else {
        best = std::move(verdict);
      }
    }
  } catch (const kit::Error& error) {
    // A session with these options would fail with this error.
    return kit::ContextVerdict::Unsupported(error.what());
  }
  return *best;
}

}  // namespace epiphyte::vulkan
