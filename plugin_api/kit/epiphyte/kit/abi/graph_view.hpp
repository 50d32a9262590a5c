// Graph view: nodes, values and attributes of the host's graph as small C++ values. They own nothing and are valid as
// long as the graph is (see ep_graph.h).
//
//   for (NodeView node : GraphView(host, graph).nodes()) {
//     if (node.Is("Relu") && node.input(0).element_type() == EP_TYPE_FLOAT) supported.push_back(node.handle());
//   }
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit {

class GraphView;
class NodeView;

class ValueView {
 public:
  ValueView() = default;
  ValueView(const EpHostInfo& host, const EpValueDef* handle) : handle_(handle) {
    info_.struct_size = sizeof(info_);
    if (handle != nullptr) ThrowIfFailed(host, host.graph->GetValueDefInfo(handle, &info_));
  }

  // False for an optional input or output that is left out.
  explicit operator bool() const { return handle_ != nullptr; }
  const EpValueDef* handle() const { return handle_; }
  std::string_view name() const { return info_.name == nullptr ? "" : info_.name; }
  uint64_t id() const { return info_.id; }
  bool IsTensor() const { return info_.type != nullptr && info_.type->kind == EP_KIND_TENSOR; }
  EpElementType element_type() const { return IsTensor() ? info_.type->element_type : EP_TYPE_UNDEFINED; }
  bool has_rank() const { return IsTensor() && info_.type->rank >= 0; }
  // The sizes of the dimensions; -1 for a size that is not known. Empty for a scalar, and when the rank is not known:
  // see has_rank().
  std::span<const int64_t> dims() const {
    return has_rank() ? std::span(info_.type->dims, static_cast<size_t>(info_.type->rank)) : std::span<const int64_t>();
  }
  bool IsStatic() const {
    if (!has_rank()) return false;
    for (int64_t dim : dims()) {
      if (dim < 0) return false;
    }
    return true;
  }
  // The data of a constant, else null.
  const EpTensorView* constant() const { return info_.constant; }
  bool IsGraphOutput() const { return (info_.flags & EP_VALUE_GRAPH_OUTPUT) != 0; }
  const EpNode* producer() const { return info_.producer; }
  std::span<const EpNode* const> consumers() const {
    return {info_.consumers, static_cast<size_t>(info_.consumer_count)};
  }
  const EpValueDefInfo& info() const { return info_; }

 private:
  const EpValueDef* handle_ = nullptr;
  EpValueDefInfo info_ = {};
};

class NodeView {
 public:
  NodeView(const EpHostInfo& host, const EpNode* handle) : host_(&host), handle_(handle) {
    info_.struct_size = sizeof(info_);
    ThrowIfFailed(host, host.graph->GetNodeInfo(handle, &info_));
  }

  const EpNode* handle() const { return handle_; }
  uint64_t id() const { return info_.id; }
  std::string_view name() const { return info_.name; }
  std::string_view op_type() const { return info_.op_type; }
  std::string_view domain() const { return info_.domain; }
  bool Is(std::string_view op_type, std::string_view domain = "") const {
    return op_type == info_.op_type && domain == info_.domain;
  }
  int64_t since_version() const { return info_.since_version; }
  // True when another provider has claimed the node already.
  bool placed() const { return (info_.flags & EP_NODE_PLACED) != 0; }
  size_t input_count() const { return static_cast<size_t>(info_.input_count); }
  size_t output_count() const { return static_cast<size_t>(info_.output_count); }
  size_t attribute_count() const { return static_cast<size_t>(info_.attribute_count); }
  bool has_subgraphs() const { return info_.subgraph_count != 0; }
  size_t subgraph_count() const { return static_cast<size_t>(info_.subgraph_count); }
  // Body number i of an If, Loop or Scan; i is below subgraph_count().
  GraphView subgraph(size_t i) const;
  // Values of enclosing graphs that the node's bodies read.
  std::vector<ValueView> implicit_inputs() const;
  // An index past the end gives the same as an optional value that is left out.
  ValueView input(size_t i) const { return ValueView(*host_, i < info_.input_count ? info_.inputs[i] : nullptr); }
  ValueView output(size_t i) const { return ValueView(*host_, i < info_.output_count ? info_.outputs[i] : nullptr); }

  const EpNodeInfo& info() const { return info_; }

  // Attribute number i; i is below attribute_count().
  EpAttributeInfo attribute(size_t i) const { return Describe(info_.attributes[i]); }
  bool HasAttribute(const char* name) const { return host_->graph->FindAttribute(handle_, name) != nullptr; }
  // False when the attribute is missing. Throws INVALID_GRAPH when it has another type.
  bool Attribute(const char* name, EpAttributeType type, EpAttributeInfo* info) const {
    const EpAttribute* attribute = host_->graph->FindAttribute(handle_, name);
    if (attribute == nullptr) return false;
    *info = Describe(attribute);
    if (info->type != type)
      throw Error(EP_STATUS_INVALID_GRAPH,
                  std::string("attribute '") + name + "' has another type than the operator's schema says");
    return true;
  }
  int64_t Int(const char* name, int64_t fallback) const {
    EpAttributeInfo info;
    return Attribute(name, EP_ATTRIBUTE_INT, &info) ? info.ints[0] : fallback;
  }
  float Float(const char* name, float fallback) const {
    EpAttributeInfo info;
    return Attribute(name, EP_ATTRIBUTE_FLOAT, &info) ? info.floats[0] : fallback;
  }
  std::string_view String(const char* name, std::string_view fallback) const {
    EpAttributeInfo info;
    return Attribute(name, EP_ATTRIBUTE_STRING, &info) ? std::string_view(info.strings[0].data, info.strings[0].size)
                                                       : fallback;
  }
  std::span<const int64_t> Ints(const char* name) const {
    EpAttributeInfo info;
    return Attribute(name, EP_ATTRIBUTE_INTS, &info) ? std::span(info.ints, static_cast<size_t>(info.count))
                                                     : std::span<const int64_t>();
  }
  std::span<const float> Floats(const char* name) const {
    EpAttributeInfo info;
    return Attribute(name, EP_ATTRIBUTE_FLOATS, &info) ? std::span(info.floats, static_cast<size_t>(info.count))
                                                       : std::span<const float>();
  }
  std::vector<std::string_view> Strings(const char* name) const {
    std::vector<std::string_view> strings;
    EpAttributeInfo info;
    if (!Attribute(name, EP_ATTRIBUTE_STRINGS, &info)) return strings;
    for (uint64_t i = 0; i < info.count; ++i) strings.emplace_back(info.strings[i].data, info.strings[i].size);
    return strings;
  }
  // Null when the attribute is missing.
  const EpTensorView* Tensor(const char* name) const {
    EpAttributeInfo info;
    return Attribute(name, EP_ATTRIBUTE_TENSOR, &info) ? info.tensors[0] : nullptr;
  }

 private:
  EpAttributeInfo Describe(const EpAttribute* attribute) const {
    EpAttributeInfo info = {};
    info.struct_size = sizeof(info);
    ThrowIfFailed(*host_, host_->graph->GetAttributeInfo(attribute, &info));
    return info;
  }

  const EpHostInfo* host_;
  const EpNode* handle_;
  EpNodeInfo info_ = {};
};

class GraphView {
 public:
  GraphView(const EpHostInfo& host, const EpGraph* handle) : host_(&host), handle_(handle) {
    info_.struct_size = sizeof(info_);
    ThrowIfFailed(host, host.graph->GetGraphInfo(handle, &info_));
  }

  const EpGraph* handle() const { return handle_; }
  std::string_view name() const { return info_.name; }
  // Opset version that the model imports of a domain; 0 when it imports none. A node's own version is
  // NodeView::since_version.
  int64_t OpsetOf(std::string_view domain) const {
    for (uint32_t i = 0; i < info_.opset_count; ++i) {
      if (domain == info_.opset_domains[i]) return info_.opset_versions[i];
    }
    return 0;
  }
  size_t node_count() const { return static_cast<size_t>(info_.node_count); }
  NodeView node(size_t i) const { return NodeView(*host_, info_.nodes[i]); }
  std::vector<NodeView> nodes() const { return All<NodeView>(info_.nodes, info_.node_count); }
  std::vector<ValueView> inputs() const { return All<ValueView>(info_.inputs, info_.input_count); }
  std::vector<ValueView> outputs() const { return All<ValueView>(info_.outputs, info_.output_count); }
  std::vector<ValueView> constants() const { return All<ValueView>(info_.constants, info_.constant_count); }
  const EpGraphInfo& info() const { return info_; }

 private:
  template <typename View, typename Handle>
  std::vector<View> All(const Handle* const* handles, uint64_t count) const {
    std::vector<View> views;
    views.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) views.emplace_back(*host_, handles[i]);
    return views;
  }

  const EpHostInfo* host_;
  const EpGraph* handle_;
  EpGraphInfo info_ = {};
};

inline GraphView NodeView::subgraph(size_t i) const { return GraphView(*host_, info_.subgraphs[i]); }

inline std::vector<ValueView> NodeView::implicit_inputs() const {
  std::vector<ValueView> values;
  for (uint64_t i = 0; i < info_.implicit_input_count; ++i) values.emplace_back(*host_, info_.implicit_inputs[i]);
  return values;
}

}  // namespace epiphyte::kit
