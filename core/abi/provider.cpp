#include "core/abi/provider.h"

#include <algorithm>
#include <optional>

#include "core/abi/handles.h"
#include "core/abi/plugin_calls.h"

namespace epiphyte::core {
namespace {

EpProgress* ToAbi(const ProgressFunction& progress) {
  return progress ? reinterpret_cast<EpProgress*>(const_cast<ProgressFunction*>(&progress)) : nullptr;
}

}  // namespace

std::shared_ptr<Provider> Provider::Create(const LoadedPlugin& plugin, const ProviderConfig& config) {
  return std::shared_ptr<Provider>(new Provider(plugin, config));
}

Provider::Provider(const LoadedPlugin& plugin, const ProviderConfig& config)
    : plugin_(plugin), thread_pool_(config.thread_pool), progress_(config.progress) {
  if (config.device >= std::max<size_t>(1, plugin.devices.size())) {
    const size_t count = plugin.devices.size();
    FailHinting(
        Hint::kProbePlugins, StatusCode::kInvalidArgument,
        "provider '{}': device {} was asked for, but {}, and counting begins at 0; the catalog of plugins lists "
        "them",
        plugin.name, config.device,
        count > 1 ? fmt::format("its devices are 0 to {}", count - 1) : "its only device is 0");
  }
  std::vector<EpKeyValue> options;
  for (const auto& [key, value] : config.options) options.push_back({key.c_str(), value.c_str()});
  EpProviderConfig abi_config = {};
  abi_config.struct_size = sizeof(abi_config);
  abi_config.option_count = static_cast<uint32_t>(options.size());
  abi_config.options = options.data();
  abi_config.thread_pool = core::ToAbi(config.thread_pool);
  abi_config.device = config.device;
  abi_config.context_enabled = config.context_enabled ? 1 : 0;
  if (config.share.workspaces) {
    share_group_ = std::make_unique<EpShareGroup>(
        EpShareGroup{config.share.workspaces, plugin.descriptor, config.share.compiling, config.share.last});
  }
  abi_config.share_group = share_group_.get();
  abi_config.thread_count = config.thread_pool == nullptr ? 1 : config.thread_pool->wanted_threads();
  CallPlugin(name(), "CreateProvider",
             [&] { return plugin.descriptor->provider->CreateProvider(plugin.plugin, &abi_config, &provider_); });
  if (provider_ == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': CreateProvider succeeded but gave no provider", name());
  }
}

Provider::~Provider() {
  CallRelease(name(), "DestroyProvider", [&] { plugin_.descriptor->provider->DestroyProvider(provider_); });
}

bool Provider::SupportsContexts() const {
  const EpProviderApi& api = *plugin_.descriptor->provider;
  return api.GetEpContextNodes != nullptr && api.LoadContext != nullptr;
}

bool Provider::DefersPayload() const { return share_group_ && share_group_->compiling && !share_group_->last; }

Capability Provider::GetCapability(Graph& graph) {
  EpCapabilitySink sink(graph);
  CallPlugin(name(), "GetCapability", [&] {
    return plugin_.descriptor->provider->GetCapability(provider_, core::ToAbi(&graph), sink.handle());
  });
  for (std::string& warning : sink.capability.warnings) warning = fmt::format("provider '{}': {}", name(), warning);
  return std::move(sink.capability);
}

// Takes over what the plugin filled, all of it or nothing. What it filled is released here also when it failed.
std::vector<std::unique_ptr<Kernel>> Provider::AdoptKernels(std::string_view function, std::vector<EpKernel*> made,
                                                            const std::vector<std::string>& names,
                                                            std::vector<std::vector<TypePtr>> output_types,
                                                            std::exception_ptr failure) {
  std::vector<KernelHandle> handles;
  try {
    handles.resize(made.size());
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  std::optional<size_t> refused;
  // Each is taken over, or released at once, whatever became of the others.
  for (size_t i = 0; i < made.size(); ++i) {
    try {
      KernelHandle handle(plugin_, made[i]);
      if (!handle) refused = i;
      if (i < handles.size()) handles[i] = std::move(handle);
    } catch (...) {
      // Released, so that nobody knows it any more should it come again.
      std::replace(made.begin() + static_cast<ptrdiff_t>(i) + 1, made.end(), made[i], static_cast<EpKernel*>(nullptr));
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (refused && made[*refused] == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': {} gave no kernel for partition '{}' ({} of {})", name(), function,
         names[*refused], *refused + 1, made.size());
  }
  if (refused) {
    Fail(
        StatusCode::kEpFail,
        "provider '{}': {} gave the same kernel twice: that for partition '{}' is in use already; each partition needs "
        "a kernel of its own",
        name(), function, names[*refused]);
  }
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (size_t i = 0; i < made.size(); ++i) {
    kernels.push_back(
        std::make_unique<Kernel>(shared_from_this(), std::move(handles[i]), names[i], std::move(output_types[i])));
  }
  return kernels;
}

std::vector<std::unique_ptr<Kernel>> Provider::Compile(std::span<const Partition* const> partitions) {
  std::vector<EpPartitionInfo> infos(partitions.size());
  std::vector<const EpPartitionInfo*> pointers;
  std::vector<std::string> names;
  std::vector<std::vector<TypePtr>> output_types(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const Partition& partition = *partitions[i];
    infos[i].struct_size = sizeof(EpPartitionInfo);
    infos[i].index = static_cast<uint32_t>(partition_names_.size());
    infos[i].name = partition.name.c_str();
    infos[i].graph = core::ToAbi(partition.graph.get());
    pointers.push_back(&infos[i]);
    names.push_back(partition.name);
    partition_names_.push_back(partition.name);
    for (const ValueDef* output : partition.graph->outputs()) output_types[i].push_back(output->type());
  }
  std::vector<EpKernel*> made(partitions.size(), nullptr);
  std::exception_ptr failure;
  try {
    CallPlugin(name(), "Compile", [&] {
      return plugin_.descriptor->provider->Compile(provider_, pointers.data(), pointers.size(), ToAbi(progress_),
                                                   made.data());
    });
  } catch (...) {
    failure = std::current_exception();
  }
  return AdoptKernels("Compile", std::move(made), names, std::move(output_types), failure);
}

ContextNodes Provider::GetEpContextNodes(std::string_view node_name_prefix, bool embed,
                                         const std::function<std::unique_ptr<PayloadWriter>()>& new_writer) {
  EpContextSink sink;
  sink.prefix = node_name_prefix;
  sink.embed = embed;
  sink.defers_payload = DefersPayload();
  for (const std::string& partition : partition_names_) sink.partition_names.push_back(partition.c_str());
  sink.sources = plugin_.sources;
  sink.new_writer = new_writer;
  CallPlugin(name(), "GetEpContextNodes",
             [&] { return plugin_.descriptor->provider->GetEpContextNodes(provider_, sink.open.handle()); });
  std::vector<bool> covered(partition_names_.size(), false);
  bool has_primary = sink.result.nodes.empty();
  for (const ContextNode& node : sink.result.nodes) {
    covered[node.partition] = true;
    has_primary |= node.main_context == 1;
  }
  auto missing = std::find(covered.begin(), covered.end(), false);
  if (missing != covered.end()) {
    Fail(StatusCode::kEpFail, "provider '{}': GetEpContextNodes gave no node for partition '{}'", name(),
         partition_names_[static_cast<size_t>(missing - covered.begin())]);
  }
  if (!has_primary) {
    Fail(StatusCode::kEpFail,
         "provider '{}': GetEpContextNodes gave no node with main_context 1, so the context would have no payload",
         name());
  }
  const bool writes_group = share_group_ && share_group_->compiling && share_group_->last;
  if (writes_group && std::none_of(sink.writers.begin(), sink.writers.end(), [](const auto& w) { return w.ended; })) {
    Fail(StatusCode::kEpFail,
         "provider '{}': GetEpContextNodes of the last session of share group '{}' finished no payload; it must write "
         "the graphs of all sessions",
         name(), share_group_->workspaces->name());
  }
  return std::move(sink.result);
}

std::vector<std::unique_ptr<Kernel>> Provider::LoadContext(std::span<const ContextNodeToLoad> nodes,
                                                           std::span<const ContextBlob> blobs) {
  if (!SupportsContexts()) {
    Fail(StatusCode::kInvalidGraph,
         "provider '{}' owns source '{}' but can't load contexts; install a version that can", name(),
         nodes.empty() ? "" : nodes.front().source);
  }
  blobs_.insert(blobs_.end(), blobs.begin(), blobs.end());
  std::vector<EpContextNodeInfo> infos(nodes.size());
  std::vector<EpContextBlob> abi_blobs(blobs.size());
  std::vector<const EpContextNodeInfo*> info_pointers;
  std::vector<const EpContextBlob*> blob_pointers;
  std::vector<std::string> names;
  std::vector<std::vector<TypePtr>> output_types;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ContextNodeToLoad& node = nodes[i];
    infos[i] = {sizeof(EpContextNodeInfo),
                node.blob,
                node.main_context,
                core::ToAbi(node.node),
                node.source.c_str(),
                node.partition_name.c_str(),
                node.ep_sdk_version.c_str(),
                node.hardware_architecture.c_str(),
                node.notes.c_str(),
                node.onnx_model_filename.c_str(),
                node.max_size};
    info_pointers.push_back(&infos[i]);
    names.push_back(node.partition_name.empty() ? node.node->name() : node.partition_name);
    output_types.push_back(node.output_types);
  }
  for (size_t i = 0; i < blobs.size(); ++i) {
    abi_blobs[i] = {sizeof(EpContextBlob), 0, blobs[i].data, blobs[i].size};
    blob_pointers.push_back(&abi_blobs[i]);
  }
  std::vector<EpKernel*> made(nodes.size(), nullptr);
  std::exception_ptr failure;
  try {
    CallPlugin(name(), "LoadContext", [&] {
      return plugin_.descriptor->provider->LoadContext(provider_, info_pointers.data(), info_pointers.size(),
                                                       blob_pointers.data(), blob_pointers.size(), ToAbi(progress_),
                                                       made.data());
    });
  } catch (...) {
    failure = std::current_exception();
  }
  return AdoptKernels("LoadContext", std::move(made), names, std::move(output_types), failure);
}

}  // namespace epiphyte::core
