#include "epiphyte/kit/plugin/provider.hpp"

#include <optional>

namespace epiphyte::kit {
namespace {

// Fails for a function that a class derived from Provider should have overridden.
[[noreturn]] void FailMissing(const char* what) { throw Error(EP_STATUS_NOT_IMPLEMENTED, what); }

}  // namespace

bool Provider::Supports(const NodeView&, std::string* why_not) {
  *why_not = "the provider claims no node: it overrides neither Supports nor GetCapability";
  return false;
}

void Provider::GetCapability(const GraphView& graph, Claims& claims) {
  std::string why_not;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const NodeView node = graph.node(i);
    if (node.placed()) continue;
    why_not.clear();
    if (Supports(node, &why_not)) {
      claims.Support(node);
    } else {
      claims.Decline(node, why_not);
    }
  }
}

void Provider::Explain(std::string_view, const GraphView&, Explanation&) {}

std::unique_ptr<Kernel> Provider::Compile(const Partition&) {
  FailMissing("the provider compiles nothing: it overrides neither Compile nor CompileAll");
}

void Provider::CompileAll(Compilation& compilation) {
  const std::span<const Partition> partitions = compilation.partitions();
  for (size_t i = 0; i < partitions.size(); ++i) {
    compilation.task().Report(i, partitions.size(), partitions[i].name.data());
    try {
      compilation.SetKernel(i, Compile(partitions[i]));
    } catch (const Declined& declined) {
      compilation.Decline(i, declined.what());
    }
  }
}

void Provider::SaveContext(const std::vector<std::string>&, ContextWriter&) {
  FailMissing("this provider saves no contexts: it overrides neither SaveContext nor SaveContexts");
}

void Provider::KeepContext(const std::vector<std::string>&) {
  FailMissing("this provider can't put the contexts of several sessions into one payload");
}

std::unique_ptr<Kernel> Provider::LoadContext(std::string_view, std::span<const std::byte>) {
  FailMissing("this provider loads no contexts: it overrides neither LoadContext nor LoadContexts");
}

void Provider::CheckContext(const ContextOrigin& origin) const {
  for (const std::string& why : {SdkMismatch(origin, SdkVersion()), HardwareMismatch(origin, Hardware())}) {
    if (!why.empty()) throw Error(EP_STATUS_INVALID_GRAPH, why);
  }
}

void Provider::SaveContexts(ContextSink& sink) {
  std::vector<std::string> names;
  for (const SavedPartition& partition : sink.partitions()) names.emplace_back(partition.name);
  std::optional<ContextWriter> payload;
  if (sink.defers_payload()) {
    KeepContext(names);
  } else {
    payload = sink.BeginPayload();
    SaveContext(names, *payload);
    payload->End();
  }
  ContextNode node;
  node.payload = payload ? &*payload : nullptr;
  node.sdk_version = SdkVersion();
  node.hardware = Hardware();
  for (const SavedPartition& partition : sink.partitions()) {
    node.partition = partition.index;
    sink.AddNode(node);
  }
}

void Provider::LoadContexts(ContextLoading& loading) {
  for (size_t i = 0; i < loading.size(); ++i) {
    const ContextNodeView& node = loading.node(i);
    CheckContext(node.origin());
    loading.SetKernel(i, loading.FirstThatHas(i, [&](std::span<const std::byte> payload) {
      return LoadContext(node.partition_name(), payload);
    }));
  }
}

}  // namespace epiphyte::kit
