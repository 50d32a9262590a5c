// Contexts: the compiled partitions that a provider saves and later loads again.
//
// The short way is Provider::SaveContext and LoadContext: one payload for all partitions. Override SaveContexts and
// LoadContexts for several payloads, sources, attributes, notes or compatibility information:
//
//   void SaveContexts(kit::ContextSink& sink) override {
//     kit::ContextWriter payload = sink.BeginPayload();
//     payload.Write(bytes.data(), bytes.size());
//     payload.End();
//     for (const kit::SavedPartition& partition : sink.partitions()) {
//       sink.AddNode({.partition = partition.index, .payload = &payload, .sdk_version = "2.3", .hardware = "x1",
//                     .attributes = {{"acme_tiles", "4"}}});
//     }
//     sink.SetCompatibilityInfo("driver=2.3");
//   }
//
//   void LoadContexts(kit::ContextLoading& loading) override {
//     for (size_t i = 0; i < loading.size(); ++i) {
//       const kit::ContextNodeView& node = loading.node(i);
//       loading.SetKernel(i, loading.FirstThatHas(i, [&](std::span<const std::byte> payload) {
//         return Load(payload, node.partition_name());       // throws INVALID_GRAPH if the graph isn't in this one
//       }));
//     }
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/ep_plugin.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/graph_view.hpp"
#include "epiphyte/kit/abi/share.hpp"
#include "epiphyte/kit/abi/task.hpp"
#include "epiphyte/kit/plugin/context_origin.hpp"
#include "epiphyte/kit/plugin/kernel.hpp"

namespace epiphyte::kit {

// A payload that is being written, front to back. Valid until SaveContexts returns.
class ContextWriter {
 public:
  ContextWriter(const EpHostInfo& host, EpContextWriter* writer) : host_(&host), writer_(writer) {}
  void Write(const void* data, uint64_t size) { ThrowIfFailed(*host_, host_->context->Write(writer_, data, size)); }
  // Call it once, before the first node that refers to the payload.
  void End() { ThrowIfFailed(*host_, host_->context->EndPayload(writer_)); }
  EpContextWriter* handle() const { return writer_; }

 private:
  const EpHostInfo* host_;
  EpContextWriter* writer_;
};

struct SavedPartition {
  uint32_t index = 0;     // Partition::index
  std::string_view name;  // LoadContexts asks for the graph by this name
};

// One EPContext node, as a provider describes it.
struct ContextNode {
  uint32_t partition = 0;  // SavedPartition::index
  // Nodes of one payload name the same writer; the first of them carries the payload. Null: the session belongs to a
  // share group, and the last session of the group writes the payload (ContextSink::defers_payload).
  const ContextWriter* payload = nullptr;
  std::string source = {};  // "": the plugin's first source
  std::string sdk_version = {};
  std::string hardware = {};
  std::string notes = {};
  // Further attributes of the node. Keys consist of letters, digits, '_', '.' and '-'. Attributes that EPContext has,
  // and names that begin with "ep_", are not allowed.
  std::vector<std::pair<std::string, std::string>> attributes = {};
  int64_t max_size = 0;  // size of a buffer that loading the payload needs; 0: not written
};

// Receives a provider's contexts during one GetEpContextNodes.
class ContextSink {
 public:
  ContextSink(const EpHostInfo& host, EpContextSink* sink, EpTask* task, const ShareMembership& share);
  ContextSink(const ContextSink&) = delete;
  ContextSink& operator=(const ContextSink&) = delete;

  // Partitions that were compiled in this session and not declined. Each gets a node.
  std::span<const SavedPartition> partitions() const { return partitions_; }
  // True when payloads are embedded in the model: keep them below 2 GiB.
  bool embeds() const { return info_.embed != 0; }
  std::string_view node_name_prefix() const { return info_.node_name_prefix; }
  // True when a later session of the share group writes the payload. Then begin no payload, and keep the data for it in
  // the workspace.
  bool defers_payload() const { return defers_payload_; }

  ContextWriter BeginPayload();
  // Throws for a node without an SDK version: without it, a later session can't tell whether the context fits.
  void AddNode(const ContextNode& node);
  // Information that Plugin::CheckContext gets back later. The last call counts.
  void SetCompatibilityInfo(const std::string& info);
  const Task& task() const { return task_; }

 private:
  const EpHostInfo& host_;
  EpContextSink* sink_;
  Task task_;
  bool defers_payload_;
  EpContextSinkInfo info_ = {};
  std::vector<SavedPartition> partitions_;
  std::vector<EpContextWriter*> carried_;  // payloads that a node carries already
  bool has_deferred_ = false;
};

// One EPContext node to load. Valid until LoadContexts returns.
class ContextNodeView {
 public:
  ContextNodeView(const EpHostInfo& host, const EpContextNodeInfo& info) : host_(&host), info_(&info) {}

  std::string_view partition_name() const { return info_->partition_name; }
  ContextOrigin origin() const { return ContextOrigin::Of(*info_); }
  std::string_view onnx_model_filename() const { return info_->onnx_model_filename; }
  bool is_main() const { return info_->main_context != 0; }
  int64_t max_size() const { return info_->max_size; }
  // One of the node's further attributes (ContextNode::attributes).
  std::optional<std::string_view> Attribute(std::string_view key) const;
  // The EPContext node with its inputs and outputs.
  NodeView node() const { return NodeView(*host_, info_->node); }
  const EpContextNodeInfo& info() const { return *info_; }

 private:
  const EpHostInfo* host_;
  const EpContextNodeInfo* info_;
};

// The nodes of one LoadContext and their payloads. Treat the payload bytes as hostile. They stay valid until the
// provider is destroyed.
class ContextLoading {
 public:
  ContextLoading(const EpHostInfo& host, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                 const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task, EpKernel** kernels);
  ContextLoading(const ContextLoading&) = delete;
  ContextLoading& operator=(const ContextLoading&) = delete;

  size_t size() const { return nodes_.size(); }
  const ContextNodeView& node(size_t i) const { return nodes_[i]; }
  std::span<const std::span<const std::byte>> payloads() const { return payloads_; }
  // Indices of the payloads that can hold the node's graph. There is one index, unless the node does not name its
  // payload and there are several payloads. Throws INVALID_GRAPH when there is none.
  std::span<const uint32_t> PayloadsOf(size_t i) const;
  // Calls `load` on each payload of PayloadsOf(i), in order, until a call does not throw INVALID_GRAPH, and returns
  // that call's result. Other exceptions, and the exception for the last payload, leave the function.
  template <typename Load>
  auto FirstThatHas(size_t i, Load&& load) const -> decltype(load(std::span<const std::byte>())) {
    const std::span<const uint32_t> places = PayloadsOf(i);
    for (const uint32_t place : places.first(places.size() - 1)) {
      try {
        return load(payloads_[place]);
      } catch (const Error& error) {
        if (error.code() != EP_STATUS_INVALID_GRAPH) throw;
      }
    }
    return load(payloads_[places.back()]);
  }
  void SetKernel(size_t i, std::unique_ptr<Kernel> kernel);
  const Task& task() const { return task_; }

 private:
  friend class Trampolines;
  void ThrowUnlessComplete() const;

  const EpHostInfo& host_;
  Task task_;
  std::vector<ContextNodeView> nodes_;
  std::vector<std::span<const std::byte>> payloads_;
  std::vector<uint32_t> numbers_;  // 0, 1, 2, … up to the number of payloads, exclusive
  EpKernel** kernels_;
};

// The facts about a context before it is loaded, and the devices that it is to run on; for Plugin::CheckContext.
class ContextHeader {
 public:
  explicit ContextHeader(const EpContextHeader& header) : header_(header) {}

  ContextOrigin origin() const { return ContextOrigin::Of(header_); }
  std::string_view compatibility_info() const {
    return header_.compatibility_info == nullptr ? std::string_view() : header_.compatibility_info;
  }
  std::optional<std::string_view> Attribute(std::string_view key) const;
  std::optional<std::string_view> Option(std::string_view key) const;
  // Devices of the session that asks. Empty without a session: then the verdict is for the plugin's best device.
  std::span<const uint32_t> devices() const { return {header_.devices, header_.device_count}; }
  // False: only the attributes are known.
  bool has_payload() const { return header_.blob != nullptr; }
  std::span<const std::byte> payload() const {
    return {static_cast<const std::byte*>(header_.blob), static_cast<size_t>(has_payload() ? header_.blob_size : 0)};
  }
  const EpContextHeader& info() const { return header_; }

 private:
  const EpContextHeader& header_;
};

}  // namespace epiphyte::kit
