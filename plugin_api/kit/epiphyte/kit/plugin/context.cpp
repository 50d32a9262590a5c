#include "epiphyte/kit/plugin/context.hpp"

#include <algorithm>

#include "epiphyte/kit/plugin/handles.hpp"

namespace epiphyte::kit {
namespace {

std::optional<std::string_view> Find(const EpKeyValue* pairs, uint32_t count, std::string_view key) {
  for (uint32_t i = 0; i < count; ++i) {
    if (pairs[i].key == key) return pairs[i].value;
  }
  return std::nullopt;
}

const char* OrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

ContextSink::ContextSink(const EpHostInfo& host, EpContextSink* sink, EpTask* task, const ShareMembership& share)
    : host_(host), sink_(sink), task_(host, task), defers_payload_(share.defers_payload()) {
  info_.struct_size = sizeof(info_);
  ThrowIfFailed(host, host.context->GetSinkInfo(sink, &info_));
  for (uint32_t i = 0; i < info_.partition_count; ++i) {
    if (info_.partition_names[i] != nullptr) partitions_.push_back({i, info_.partition_names[i]});
  }
}

ContextWriter ContextSink::BeginPayload() {
  EpContextWriter* writer = nullptr;
  ThrowIfFailed(host_, host_.context->BeginPayload(sink_, &writer));
  return ContextWriter(host_, writer);
}

void ContextSink::AddNode(const ContextNode& node) {
  if (node.sdk_version.empty()) {
    throw Error(EP_STATUS_EP_FAIL,
                "a context without a version can't be judged later: declare kSdkVersion, override "
                "Provider::SdkVersion, or set ContextNode::sdk_version");
  }
  std::vector<EpKeyValue> attributes;
  attributes.reserve(node.attributes.size());
  for (const auto& [key, value] : node.attributes) attributes.push_back({key.c_str(), value.c_str()});
  EpContextWriter* const payload = node.payload == nullptr ? nullptr : node.payload->handle();
  bool carries = false;
  if (payload == nullptr) {
    carries = !has_deferred_;
    has_deferred_ = true;
  } else if (std::find(carried_.begin(), carried_.end(), payload) == carried_.end()) {
    carries = true;
    carried_.push_back(payload);
  }
  EpContextNodeDesc desc = {};
  desc.struct_size = sizeof(desc);
  desc.partition = node.partition;
  desc.main_context = carries ? 1 : 0;
  desc.payload = carries ? payload : nullptr;
  desc.source = OrNull(node.source);
  desc.ep_sdk_version = OrNull(node.sdk_version);
  desc.hardware_architecture = OrNull(node.hardware);
  desc.notes = OrNull(node.notes);
  desc.attributes = attributes.data();
  desc.attribute_count = static_cast<uint32_t>(attributes.size());
  desc.max_size = node.max_size;
  ThrowIfFailed(host_, host_.context->AddNode(sink_, &desc));
}

void ContextSink::SetCompatibilityInfo(const std::string& info) {
  ThrowIfFailed(host_, host_.context->SetCompatibilityInfo(sink_, info.c_str()));
}

std::optional<std::string_view> ContextNodeView::Attribute(std::string_view key) const {
  return Find(info_->attributes, info_->attribute_count, key);
}

ContextLoading::ContextLoading(const EpHostInfo& host, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                               const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task, EpKernel** kernels)
    : host_(host), task_(host, task), kernels_(kernels) {
  for (uint64_t i = 0; i < node_count; ++i) nodes_.emplace_back(host, *nodes[i]);
  for (uint64_t i = 0; i < blob_count; ++i) {
    payloads_.emplace_back(static_cast<const std::byte*>(blobs[i]->data), static_cast<size_t>(blobs[i]->size));
    numbers_.push_back(static_cast<uint32_t>(i));
  }
}

std::span<const uint32_t> ContextLoading::PayloadsOf(size_t i) const {
  const int32_t blob = nodes_.at(i).info().blob;
  const bool any = blob == -1;
  if (any ? numbers_.empty() : blob < 0 || static_cast<size_t>(blob) >= numbers_.size()) {
    throw Error(EP_STATUS_INVALID_GRAPH,
                "EPContext node for partition '" + std::string(nodes_[i].partition_name()) + "' has no payload");
  }
  return any ? std::span(numbers_) : std::span(numbers_).subspan(static_cast<size_t>(blob), 1);
}

void ContextLoading::SetKernel(size_t i, std::unique_ptr<Kernel> kernel) {
  const ContextNodeView& node = nodes_.at(i);
  if (kernel == nullptr || kernels_[i] != nullptr) {
    throw Error(EP_STATUS_EP_FAIL, "loading partition '" + std::string(node.partition_name()) +
                                       (kernel == nullptr ? "' gave no kernel; throw INVALID_GRAPH for a context that "
                                                            "can't be used"
                                                          : "' gave a second kernel"));
  }
  kernels_[i] = ToHandle(host_, std::move(kernel));
}

void ContextLoading::ThrowUnlessComplete() const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (kernels_[i] != nullptr) continue;
    throw Error(EP_STATUS_EP_FAIL,
                "LoadContexts set no kernel for partition '" + std::string(nodes_[i].partition_name()) + "'");
  }
}

std::optional<std::string_view> ContextHeader::Attribute(std::string_view key) const {
  return Find(header_.attributes, header_.attribute_count, key);
}

std::optional<std::string_view> ContextHeader::Option(std::string_view key) const {
  return Find(header_.options, header_.option_count, key);
}

}  // namespace epiphyte::kit
