// A host with graphs made of the ABI's own structs. Tests may fill them in freely, also with invalid values. The handle
// of a node, value, attribute or graph is the address of its description.
//
//   InfoGraph g;
//   EpNodeInfo& relu = g.Node("Relu", {&x}, {&y});
//   relu.attribute_count = 7;   // and no attributes
//   ir::Import(InfoHost(), g.Handle(), "test");
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "epiphyte/ep_host.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {

struct InfoStatus {
  EpStatusCode code;
  std::string message;
};

inline constexpr EpStatusApi kInfoStatusApi = {
    sizeof(EpStatusApi),
    0,
    [](EpStatusCode code, const char* message) {
      return reinterpret_cast<EpStatus*>(new InfoStatus{code, message});
    },
    [](const EpStatus* status) { return reinterpret_cast<const InfoStatus*>(status)->code; },
    [](const EpStatus* status) { return reinterpret_cast<const InfoStatus*>(status)->message.c_str(); },
    [](EpStatus* status) { delete reinterpret_cast<InfoStatus*>(status); },
};

// Copies the description behind a handle. A description with struct_size 0 makes the call fail.
template <typename Info, typename Handle>
EpStatus* EP_CALL DescribeHandle(const Handle* handle, Info* info) {
  const auto* known = reinterpret_cast<const Info*>(handle);
  if (known->struct_size == 0) return kInfoStatusApi.Create(EP_STATUS_FAIL, "the host is tired");
  *info = *known;
  return nullptr;
}

inline constexpr EpGraphApi kInfoGraphApi = {
    sizeof(EpGraphApi),
    0,
    &DescribeHandle<EpGraphInfo, EpGraph>,
    &DescribeHandle<EpNodeInfo, EpNode>,
    &DescribeHandle<EpValueDefInfo, EpValueDef>,
    &DescribeHandle<EpAttributeInfo, EpAttribute>,
    nullptr,
};

inline const EpHostInfo& InfoHost() {
  static constexpr EpHostInfo kHost = {sizeof(EpHostInfo),
                                       EP_ABI_VERSION,
                                       EP_ABI_VERSION,
                                       0,
                                       "test",
                                       "0",
                                       &kInfoStatusApi,
                                       &kSingleThreadServices,
                                       &kInfoGraphApi,
                                       nullptr,
                                       &kUncancelledTask,
                                       nullptr,
                                       nullptr,
                                       NoExtension};
  return kHost;
}

inline const EpNode* ToHandle(const EpNodeInfo& info) { return reinterpret_cast<const EpNode*>(&info); }
inline const EpValueDef* ToHandle(const EpValueDefInfo& info) { return reinterpret_cast<const EpValueDef*>(&info); }
inline const EpAttribute* ToHandle(const EpAttributeInfo& info) { return reinterpret_cast<const EpAttribute*>(&info); }
inline const EpGraph* ToHandle(const EpGraphInfo& info) { return reinterpret_cast<const EpGraph*>(&info); }

// Owns the structs and the lists that they point to. The sizes of all structs are set.
class InfoGraph {
 public:
  // Adds a float tensor.
  EpValueDefInfo& Value(const char* name, std::vector<int64_t> dims) {
    EpValueDefInfo& info = Sized(values_);
    info.name = name;
    info.type = &Type(std::move(dims));
    return info;
  }
  EpTypeInfo& Type(std::vector<int64_t> dims) {
    EpTypeInfo& type = Sized(types_);
    type.kind = EP_KIND_TENSOR;
    type.element_type = EP_TYPE_FLOAT;
    type.rank = static_cast<int32_t>(dims.size());
    type.dims = Keep(std::move(dims));
    return type;
  }
  // Adds a constant with the floats in `elements`.
  EpValueDefInfo& Constant(const char* name, std::vector<int64_t> dims, std::vector<float> elements) {
    EpValueDefInfo& info = Value(name, dims);
    info.flags = EP_VALUE_CONSTANT;
    info.constant = &Tensor(EP_TYPE_FLOAT, std::move(dims), elements);
    return info;
  }
  template <typename T>
  EpTensorView& Tensor(EpElementType type, std::vector<int64_t> dims, const std::vector<T>& elements) {
    EpTensorView& view = Sized(tensors_);
    std::vector<char>& bytes = bytes_.emplace_back(elements.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
    view.element_type = type;
    view.rank = static_cast<uint32_t>(dims.size());
    view.dims = Keep(std::move(dims));
    view.data = bytes.data();
    view.element_count = elements.size();
    view.byte_size = bytes.size();
    return view;
  }
  EpNodeInfo& Node(const char* op_type, const std::vector<const EpValueDefInfo*>& inputs,
                   const std::vector<const EpValueDefInfo*>& outputs) {
    EpNodeInfo& info = Sized(nodes_);
    info.name = op_type;
    info.op_type = op_type;
    info.domain = "";
    info.since_version = 1;
    info.inputs = Handles<EpValueDef>(inputs);
    info.input_count = inputs.size();
    info.outputs = Handles<EpValueDef>(outputs);
    info.output_count = outputs.size();
    return info;
  }
  EpAttributeInfo& Attribute(EpNodeInfo& node, const char* name, EpAttributeType type) {
    EpAttributeInfo& info = Sized(attributes_);
    info.name = name;
    info.type = type;
    std::vector<const EpAttributeInfo*> all;
    for (uint64_t i = 0; i < node.attribute_count; ++i)
      all.push_back(reinterpret_cast<const EpAttributeInfo*>(node.attributes[i]));
    all.push_back(&info);
    node.attributes = Handles<EpAttribute>(all);
    node.attribute_count = all.size();
    return info;
  }
  // Returns the graph of all nodes, with these inputs and outputs.
  EpGraphInfo& Graph(const std::vector<const EpValueDefInfo*>& inputs,
                     const std::vector<const EpValueDefInfo*>& outputs) {
    std::vector<const EpNodeInfo*> nodes;
    for (const EpNodeInfo& node : nodes_) nodes.push_back(&node);
    graph_ = {};
    graph_.struct_size = sizeof graph_;
    graph_.nodes = Handles<EpNode>(nodes);
    graph_.node_count = nodes.size();
    graph_.inputs = Handles<EpValueDef>(inputs);
    graph_.input_count = inputs.size();
    graph_.outputs = Handles<EpValueDef>(outputs);
    graph_.output_count = outputs.size();
    return graph_;
  }
  const EpGraph* Handle() const { return ToHandle(graph_); }

  // Returns the address of a copy that lives as long as the graph.
  const int64_t* Keep(std::vector<int64_t> list) { return numbers_.emplace_back(std::move(list)).data(); }
  // Returns the list of handles. Null entries stand for omitted inputs and outputs.
  template <typename Handle, typename Info>
  const Handle* const* Handles(const std::vector<const Info*>& infos) {
    std::vector<const void*>& list = handles_.emplace_back();
    for (const Info* info : infos) list.push_back(info);
    return reinterpret_cast<const Handle* const*>(list.data());
  }

 private:
  template <typename Info>
  static Info& Sized(std::deque<Info>& infos) {
    Info& info = infos.emplace_back();
    info.struct_size = sizeof info;
    return info;
  }

  std::deque<EpValueDefInfo> values_;
  std::deque<EpTypeInfo> types_;
  std::deque<EpTensorView> tensors_;
  std::deque<EpNodeInfo> nodes_;
  std::deque<EpAttributeInfo> attributes_;
  std::deque<std::vector<int64_t>> numbers_;
  std::deque<std::vector<const void*>> handles_;
  std::deque<std::vector<char>> bytes_;
  EpGraphInfo graph_ = {};
};

}  // namespace epiphyte::test
