#include "epiphyte/context.hpp"

#include "core/base/folder_lock.h"
#include "core/context/compatibility.h"
#include "core/context/context_model.h"
#include "core/context/node_payloads.h"
#include "core/context/recorded_bytes.h"
#include "core/context/seal.h"
#include "core/onnx/functions/context_functions.h"
#include "core/onnx/model_reader.h"
#include "core/runtime/provider_list.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

// `seal_problem` gets the message about a broken seal, or stays "". If it is null, the seal isn't checked.
core::Model Read(const std::filesystem::path& path, const std::shared_ptr<core::ContextStore>& store,
                 std::string* seal_problem) {
  core::ReadOptions options;
  // The digests of the initializers are not checked here.
  if (store) options = core::CheckedReading({.what = "", .digests = false, .store = store});
  options.accept_external = nullptr;
  if (seal_problem != nullptr) {
    options.accept_model = [seal_problem, accept = options.accept_model](std::string_view bytes,
                                                                         const core::Metadata& metadata) {
      if (accept) accept(bytes, metadata);
      try {
        core::RequireSeal(bytes.data(), bytes.size(), metadata, "the model");
      } catch (const core::Error& error) {
        *seal_problem = error.message();
      }
    };
  }
  options.infer = false;
  if (!store || !store->StoresModel()) return core::ReadModelFile(path, options);
  const core::ContextStore::Bytes bytes = store->Open(path.filename().string());
  return core::ReadModelMemory(bytes.data, bytes.size, bytes.owner, options);
}

core::Model ReadModel(const std::filesystem::path& path, const std::shared_ptr<core::ContextStore>& store,
                      std::string* seal_problem = nullptr) {
  core::Model model = Read(path, store, seal_problem);
  core::InlineContextFunctions(&model);
  return model;
}

struct Walk {
  core::NodePayloads& payloads;
  ContextInfo* info;

  void Visit(const core::Graph& graph, const std::string& path) {
    for (const auto& node : graph.nodes()) {
      if (node == nullptr) continue;
      if (core::IsContextNode(*node)) {
        Describe(*node, path);
      } else {
        ++info->plain_nodes;
      }
      for (const auto& attribute : node->attributes()) {
        for (const auto& nested : attribute->graphs()) {
          Visit(*nested, (path.empty() ? "" : path + "/") + node->name() + "/" + attribute->name());
        }
      }
    }
  }

  void Describe(const core::Node& node, const std::string& path) {
    core::ContextAttributes attributes = core::ReadContextAttributes(node);
    ContextNodeInfo& found = info->nodes.emplace_back();
    found.name = node.name();
    found.graph = path;
    found.source = attributes.source;
    found.partition = attributes.partition_name;
    found.main_context = attributes.main_context != 0;
    found.embed_mode = attributes.embed_mode;
    found.sdk_version = attributes.ep_sdk_version;
    found.hardware = attributes.hardware_architecture;
    found.notes = attributes.notes;
    found.onnx_model_filename = attributes.onnx_model_filename;
    found.max_size = attributes.max_size;
    if (attributes.embed_mode != 1) found.file = attributes.ep_cache_context;
    const core::NodePayload& payload = payloads.Open(node, attributes);
    found.size = payload.blob.size;
    found.digest = payload.digest;
    found.recorded_digest = payload.recorded_digest;
    found.problem = payload.problem;
  }
};

}  // namespace

ContextInfo InspectContext(const std::filesystem::path& model, const std::shared_ptr<ContextStore>& given_store) {
  return WithPublicErrors([&] {
    const std::shared_ptr<core::ContextStore> store = Access::Share(given_store);
    const core::FolderLock lock(model.parent_path(), core::FolderLock::kShared);
    core::Model content = ReadModel(model, store);
    ContextInfo info;
    info.model = model;
    info.metadata = content.metadata;
    core::NodePayloads payloads({.model = model, .store = store}, content.metadata);
    Walk{payloads, &info}.Visit(*content.graph, "");
    return info;
  });
}

std::string_view ContextVerdictName(ContextVerdict verdict) {
  return core::ContextVerdictName(static_cast<core::ContextVerdict>(verdict));
}

namespace {

ContextCheck Check(const Environment& environment, const std::filesystem::path& model, bool with_payloads,
                   const std::shared_ptr<core::ContextStore>& store, const core::ProviderRequest& request) {
  return WithPublicErrors([&] {
    const core::FolderLock lock(model.parent_path(), core::FolderLock::kShared);
    std::string seal_problem;
    core::Model content = ReadModel(model, store, with_payloads ? &seal_problem : nullptr);
    core::ContextReport report =
        core::CheckContexts(content, model, Access::Of(environment)->catalog(), with_payloads, store, request);
    ContextCheck check;
    for (core::NodeCheck& node : report.nodes) {
      check.nodes.push_back({std::move(node.node), std::move(node.source), std::move(node.provider),
                             static_cast<ContextVerdict>(node.verdict), std::move(node.reason)});
    }
    for (core::ProviderCheck& provider : report.providers) {
      check.providers.push_back(
          {std::move(provider.provider), static_cast<ContextVerdict>(provider.verdict), std::move(provider.reason)});
    }
    check.verdict = static_cast<ContextVerdict>(report.verdict);
    check.reason = std::move(report.reason);
    // A session refuses such a model, whatever its plugins answer about the payloads.
    if (!seal_problem.empty()) {
      check.verdict = ContextVerdict::kUnsupported;
      check.reason = std::move(seal_problem);
    }
    return check;
  });
}

}  // namespace

ContextCheck CheckContext(const Environment& environment, const std::filesystem::path& model, bool with_payloads,
                          const std::shared_ptr<ContextStore>& store) {
  return Check(environment, model, with_payloads, Access::Share(store), {});
}

ContextCheck CheckContext(const Environment& environment, const std::filesystem::path& model,
                          const SessionOptions& options, bool with_payloads) {
  const core::SessionConfig config = Access::Of(options);
  return Check(environment, model, with_payloads, config.context_store, core::RequestOf(config));
}

}  // namespace epiphyte
