#include "core/abi/provider.h"

#include <algorithm>
#include <optional>

#include "core/abi/handles.h"
#include "core/abi/plugin_calls.h"
#include "core/abi/retained_constants.h"
#include "core/registry/provider_setup.h"

namespace epiphyte::core {
namespace {

// Everything known of a partition's outputs. `node` stands for the partition in the model's graph; null: it belongs to
// no model.
std::vector<OutputType> DescribeOutputs(const std::vector<TypePtr>& types, const Node* node) {
  std::vector<OutputType> outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    OutputType& output = outputs.emplace_back(OutputType::Of(node == nullptr ? nullptr : node->output(i)));
    output.type = types[i];
  }
  return outputs;
}

std::vector<TypePtr> TypesOf(const std::vector<ValueDef*>& values) {
  std::vector<TypePtr> types;
  for (const ValueDef* value : values) types.push_back(value->type());
  return types;
}

}  // namespace

std::shared_ptr<Provider> Provider::Create(const LoadedPlugin& plugin, const ProviderConfig& config) {
  return std::shared_ptr<Provider>(new Provider(plugin, config));
}

Provider::Provider(const LoadedPlugin& plugin, const ProviderConfig& config)
    : plugin_(plugin), thread_pool_(config.thread_pool), devices_(config.devices), progress_(config.progress) {
  if (config.spans != nullptr) profile_ = std::make_unique<Profile>(*config.spans, plugin.name);
  RequireDevices(plugin, config.devices);
  const std::vector<EpKeyValue> options = KeyValues(config.options);
  EpProviderConfig abi_config = {};
  abi_config.struct_size = sizeof(abi_config);
  abi_config.option_count = static_cast<uint32_t>(options.size());
  abi_config.options = options.data();
  abi_config.thread_pool = ToAbi(config.thread_pool);
  abi_config.devices = config.devices.data();
  abi_config.device_count = static_cast<uint32_t>(config.devices.size());
  abi_config.context_enabled = config.context_enabled ? 1 : 0;
  if (config.share.workspaces) {
    share_group_ = std::make_unique<EpShareGroup>(
        EpShareGroup{config.share.workspaces, plugin.descriptor, config.share.compiling, config.share.last});
  }
  abi_config.share_group = share_group_.get();
  abi_config.thread_count = config.thread_pool == nullptr ? 1 : config.thread_pool->wanted_threads();
  CallPlugin(plugin_, "CreateProvider",
             [&] { return plugin.descriptor->provider->CreateProvider(plugin.plugin, &abi_config, &provider_); });
  if (provider_ == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': CreateProvider succeeded but gave no provider", name());
  }
}

Provider::~Provider() {
  CallRelease(plugin_, "DestroyProvider", [&] { plugin_.descriptor->provider->DestroyProvider(provider_); });
  RetainedConstants::All().ReleaseAll(this);
}

bool Provider::SupportsContexts() const {
  const EpProviderApi& api = *plugin_.descriptor->provider;
  return api.GetEpContextNodes != nullptr && api.LoadContext != nullptr;
}

bool Provider::DefersPayload() const { return share_group_ && share_group_->compiling && !share_group_->last; }

Capability Provider::GetCapability(Graph& graph) {
  EpCapabilitySink sink(graph);
  CallPlugin(plugin_, "GetCapability",
             [&] { return plugin_.descriptor->provider->GetCapability(provider_, ToAbi(&graph), sink.handle()); });
  for (std::string& warning : sink.capability.warnings) warning = fmt::format("provider '{}': {}", name(), warning);
  return std::move(sink.capability);
}

// Takes over all kernels that the plugin filled in, or none. After a failure they are released here.
std::vector<std::unique_ptr<Kernel>> Provider::AdoptKernels(std::string_view function, std::vector<EpKernel*> made,
                                                            std::vector<PartitionInterface> faces,
                                                            std::exception_ptr failure, const Task* task) {
  const auto is_declined = [&](size_t i) { return task != nullptr && task->declined(i) != nullptr; };
  std::vector<KernelHandle> handles;
  try {
    handles.resize(made.size());
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  std::optional<size_t> refused;
  // A kernel that is released at once leaves the table, so a second copy of its handle must be cleared here.
  const auto forget = [&](size_t i) {
    std::replace(made.begin() + static_cast<ptrdiff_t>(i) + 1, made.end(), made[i], static_cast<EpKernel*>(nullptr));
  };
  // Each kernel is taken over or released at once, whatever happens to the others.
  for (size_t i = 0; i < made.size(); ++i) {
    try {
      KernelHandle handle(plugin_, made[i]);
      if (is_declined(i) ? made[i] != nullptr : !handle) refused = i;
      if (i < handles.size()) {
        handles[i] = std::move(handle);
      } else {
        forget(i);
      }
    } catch (...) {
      forget(i);
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (refused && is_declined(*refused)) {
    Fail(StatusCode::kEpFail, "provider '{}': {} declined partition '{}' and gave a kernel for it", name(), function,
         faces[*refused].name);
  }
  if (refused && made[*refused] == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': {} gave no kernel for partition '{}' ({} of {})", name(), function,
         faces[*refused].name, *refused + 1, made.size());
  }
  if (refused) {
    Fail(
        StatusCode::kEpFail,
        "provider '{}': {} gave the same kernel twice: that for partition '{}' is in use already; each partition needs "
        "a kernel of its own",
        name(), function, faces[*refused].name);
  }
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!handles[i]) {
      kernels.push_back(nullptr);
      continue;
    }
    PartitionInterface& face = faces[i];
    kernels.push_back(std::make_unique<Kernel>(shared_from_this(), std::move(handles[i]), std::move(face.name),
                                               face.input_count, std::move(face.output_types)));
  }
  return kernels;
}

CompiledPartitions Provider::Compile(std::span<const Partition* const> partitions) {
  std::vector<EpPartitionInfo> infos(partitions.size());
  std::vector<const EpPartitionInfo*> pointers;
  std::vector<PartitionInterface> faces(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    const Partition& partition = *partitions[i];
    infos[i].struct_size = sizeof(EpPartitionInfo);
    infos[i].index = static_cast<uint32_t>(partition_names_.size());
    infos[i].name = partition.name.c_str();
    infos[i].graph = ToAbi(partition.graph.get());
    pointers.push_back(&infos[i]);
    faces[i] = {partition.name, partition.graph->inputs().size(), {}};
    partition_names_.push_back(partition.name);
    declined_.push_back(false);
    faces[i].output_types = DescribeOutputs(TypesOf(partition.graph->outputs()), partition.node);
  }
  const size_t first = partition_names_.size() - partitions.size();
  std::vector<EpKernel*> made(partitions.size(), nullptr);
  std::exception_ptr failure;
  ShownConstants constants;
  for (const Partition* partition : partitions) constants.Add(*partition->graph);
  Task task(progress_, {partitions.size(), &constants, this, profile()});
  try {
    CallPlugin(plugin_, "Compile", [&] {
      return plugin_.descriptor->provider->Compile(provider_, pointers.data(), pointers.size(), task.handle(),
                                                   made.data());
    });
  } catch (...) {
    failure = std::current_exception();
  }
  task.End();
  CompiledPartitions compiled;
  compiled.kernels = AdoptKernels("Compile", std::move(made), std::move(faces), failure, &task);
  for (size_t i = 0; i < partitions.size(); ++i) {
    const std::string* reason = task.declined(i);
    compiled.declined.push_back(reason == nullptr ? "" : *reason);
    declined_[first + i] = reason != nullptr;
  }
  return compiled;
}

ContextNodes Provider::GetEpContextNodes(std::string_view node_name_prefix, bool embed,
                                         const std::function<std::unique_ptr<PayloadWriter>()>& new_writer) {
  EpContextSink sink;
  sink.prefix = node_name_prefix;
  sink.embed = embed;
  sink.defers_payload = DefersPayload();
  for (size_t i = 0; i < partition_names_.size(); ++i) {
    sink.partition_names.push_back(declined_[i] ? nullptr : partition_names_[i].c_str());
  }
  sink.sources = plugin_.sources;
  sink.new_writer = new_writer;
  {
    const Task task(progress_, {0, nullptr, nullptr, profile()});
    CallPlugin(plugin_, "GetEpContextNodes", [&] {
      return plugin_.descriptor->provider->GetEpContextNodes(provider_, sink.open.handle(), task.handle());
    });
  }
  std::vector<bool> covered = declined_;
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
  // Declined partitions are not counted in ContextNode::partition.
  std::vector<uint32_t> place(partition_names_.size());
  for (size_t i = 0, next = 0; i < place.size(); ++i) place[i] = static_cast<uint32_t>(declined_[i] ? next : next++);
  for (ContextNode& node : sink.result.nodes) node.partition = place[node.partition];
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
  if (share_group_) share_group_->workspaces->Keep(blobs);
  std::vector<EpContextNodeInfo> infos(nodes.size());
  std::vector<EpContextBlob> abi_blobs(blobs.size());
  std::vector<const EpContextNodeInfo*> info_pointers;
  std::vector<const EpContextBlob*> blob_pointers;
  std::vector<PartitionInterface> faces;
  std::vector<std::vector<EpKeyValue>> extras(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ContextNodeToLoad& node = nodes[i];
    extras[i] = KeyValues(node.extras);
    EpContextNodeInfo& info = infos[i];
    info.struct_size = sizeof(EpContextNodeInfo);
    info.blob = node.blob;
    info.node = ToAbi(node.node);
    info.source = node.source.c_str();
    info.partition_name = node.partition_name.c_str();
    info.ep_sdk_version = node.ep_sdk_version.c_str();
    info.hardware_architecture = node.hardware_architecture.c_str();
    info.notes = node.notes.c_str();
    info.onnx_model_filename = node.onnx_model_filename.c_str();
    info.attributes = extras[i].data();
    info.attribute_count = static_cast<uint32_t>(extras[i].size());
    info.main_context = node.main_context;
    info.max_size = node.max_size;
    info_pointers.push_back(&infos[i]);
    faces.push_back({node.partition_name.empty() ? node.node->name() : node.partition_name,
                     node.node == nullptr ? 0 : node.node->inputs().size(),
                     DescribeOutputs(node.output_types, node.node)});
  }
  for (size_t i = 0; i < blobs.size(); ++i) {
    abi_blobs[i] = {sizeof(EpContextBlob), 0, blobs[i].data, blobs[i].size};
    blob_pointers.push_back(&abi_blobs[i]);
  }
  std::vector<EpKernel*> made(nodes.size(), nullptr);
  std::exception_ptr failure;
  try {
    ShownConstants constants;
    for (const ContextNodeToLoad& node : nodes) {
      if (node.node != nullptr) constants.Add(*node.node);
    }
    const Task task(progress_, {0, &constants, this, profile()});
    CallPlugin(plugin_, "LoadContext", [&] {
      return plugin_.descriptor->provider->LoadContext(provider_, info_pointers.data(), info_pointers.size(),
                                                       blob_pointers.data(), blob_pointers.size(), task.handle(),
                                                       made.data());
    });
  } catch (...) {
    failure = std::current_exception();
  }
  return AdoptKernels("LoadContext", std::move(made), std::move(faces), failure, nullptr);
}

}  // namespace epiphyte::core
