#include "plugins/vulkan/provider.h"

#include <map>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/import.hpp"
#include "plugins/vulkan/exec/claims.h"

namespace epiphyte::vulkan {
namespace {

std::string AllCapabilities() {
  std::string names;
  for (size_t i = 0; i < static_cast<size_t>(Capability::kCount); ++i)
    names += (i == 0 ? "" : ", ") + std::string(NameOf(static_cast<Capability>(i)));
  return names;
}

// Of the option `disable`: names with commas or spaces between them, in brackets if one likes.
void Disable(std::string_view list, Capabilities* capabilities) {
  constexpr std::string_view kBetween = ", []";
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(kBetween), list.size()));
    if (list.empty()) return;
    const std::string_view name = list.substr(0, list.find_first_of(kBetween));
    list.remove_prefix(name.size());
    const std::optional<Capability> capability = CapabilityOf(name);
    if (name == "all") {
      for (size_t i = 0; i < static_cast<size_t>(Capability::kCount); ++i)
        capabilities->Disable(static_cast<Capability>(i));
    } else if (capability) {
      capabilities->Disable(*capability);
    } else {
      kit::FailArgument("option 'disable' names '", name, "'; capabilities are ", AllCapabilities(), "; or all");
    }
  }
}

uint32_t ChooseIndex(const Instance& instance, const kit::ProviderConfig& config, const std::string& wanted) {
  if (wanted.empty()) return config.devices.at(0);
  return ChooseDevice(instance.devices(), {.device = wanted, .allow_software = true}).index;
}

}  // namespace

std::span<const kit::Option> Provider::Options() {
  static constexpr kit::Option kOptions[] = {
      kit::Option::String("use", "",
                          "the device by its UUID, its type (discrete, integrated, virtual, software) or part of its "
                          "name, instead of by its number"),
      kit::Option::String("disable", "",
                          "capabilities of the device that are not used: storage16, storage8, int64, fp16, int8, "
                          "dot_product, subgroup, shared_memory, coopmat; or all"),
      kit::Option::Int("memory_limit", 0, "MiB of the device's memory that sessions with this limit may use; 0: all", 0,
                       int64_t{1} << 30),
  };
  return kOptions;
}

Provider::Provider(const OperatorTable& operators, Instance& instance, DevicePool& devices,
                   const kit::ProviderConfig& config)
    : operators_(operators), threads_(config.threads()) {
  const kit::OptionValues options(Options(), config.options);
  const uint32_t index = ChooseIndex(instance, config, options.Text("use"));
  capabilities_ = instance.devices().at(index).capabilities;
  Disable(options.Text("disable"), &capabilities_);
  device_ = devices.Get(index, static_cast<uint64_t>(options.Int("memory_limit")) << 20);
}

void Provider::GetCapability(const kit::GraphView& graph, kit::Claims& claims) {
  const ir::Graph imported = ir::Import(host(), graph.handle(), std::string(graph.name()));
  std::map<const EpNode*, bool> placed;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const kit::NodeView node = graph.node(i);
    placed.emplace(node.handle(), node.placed());
  }
  std::vector<bool> taken;
  for (const ir::Node& node : imported.nodes) taken.push_back(placed[node.handle]);
  const std::vector<NodeClaim> found = ClaimNodes(imported, taken, operators_, capabilities_);
  for (size_t n = 0; n < found.size(); ++n) {
    if (taken[n]) continue;
    if (found[n].claimed) {
      claims.Support(imported.nodes[n].handle);
    } else {
      claims.Decline(imported.nodes[n].handle, found[n].why_not);
    }
  }
}

CompileConfig Provider::MakeConfig(const kit::Task& task, std::string_view name) const {
  CompileConfig config;
  config.operators = &operators_;
  config.device = device_;
  config.capabilities = capabilities_;
  config.progress = [task, name = std::string(name)](uint64_t done, uint64_t total) {
    task.Report(done, total, name.c_str());
  };
  return config;
}

std::unique_ptr<kit::Kernel> Provider::Compile(const kit::Partition& partition) {
  ir::Graph graph = ir::Import(host(), partition.graph.handle(), std::string(partition.name));
  CompileConfig config = MakeConfig(partition.task, partition.name);
  config.retain = [&](ir::Constant& constant) { ir::Retain(host(), partition.task.handle(), constant); };
  return std::make_unique<CompiledKernel>(CompiledGraph::Build(std::move(graph), config), threads_);
}

}  // namespace epiphyte::vulkan
