#include "host/conformance/debug_host/debug_graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {
namespace {

constexpr size_t kArenaRoom = 64 << 10;

// Kind of each handle, for graphs that exist and for graphs that have ended.
enum class HandleKind { kGraph, kNode, kValue, kAttribute };
struct Known {
  HandleKind kind;
  const void* info;
  bool open;
  Rule ended;
  const DebugGraph* graph;
  bool hidden = false;
};
struct KnownHandles {
  std::mutex mutex;
  std::map<const void*, Known> handles;
};
KnownHandles& Handles() {
  static auto* handles = new KnownHandles();
  return *handles;
}

// Returns null, and records a violation, when the plugin must not use `handle`.
const Known* Find(const void* handle, HandleKind kind, const char* function) {
  KnownHandles& known = Handles();
  std::lock_guard lock(known.mutex);
  const auto found = known.handles.find(handle);
  if (found == known.handles.end() || found->second.kind != kind) {
    DebugHost::Current().Violate(Rule::kHostsHandlesAreTheHosts,
                                 std::string(function) + " was called with a handle that no graph gave");
    return nullptr;
  }
  if (!found->second.open) {
    DebugHost::Current().Violate(
        found->second.ended,
        std::string(function) + (found->second.hidden ? " was called with a handle that is none of this call's business"
                                                      : " was called with a handle of a graph that has ended"));
    return nullptr;
  }
  return &found->second;
}

template <typename Info>
EpStatus* FillInfo(const void* handle, HandleKind kind, Info* info, const char* function) {
  DebugHost& host = DebugHost::Current();
  if (handle == nullptr || info == nullptr) {
    return host.NewStatus(EP_STATUS_INVALID_ARGUMENT, std::string(function) + ": null where a handle is due");
  }
  const Known* known = Find(handle, kind, function);
  if (known == nullptr) return host.NewStatus(EP_STATUS_INVALID_ARGUMENT, std::string(function) + ": no such handle");
  return host.FillRoom(info, *static_cast<const Info*>(known->info), function);
}

EpStatus* EP_CALL GetGraphInfo(const EpGraph* graph, EpGraphInfo* info) {
  return FillInfo(graph, HandleKind::kGraph, info, "GetGraphInfo");
}
EpStatus* EP_CALL GetNodeInfo(const EpNode* node, EpNodeInfo* info) {
  return FillInfo(node, HandleKind::kNode, info, "GetNodeInfo");
}
EpStatus* EP_CALL GetValueDefInfo(const EpValueDef* value, EpValueDefInfo* info) {
  return FillInfo(value, HandleKind::kValue, info, "GetValueDefInfo");
}
EpStatus* EP_CALL GetAttributeInfo(const EpAttribute* attribute, EpAttributeInfo* info) {
  return FillInfo(attribute, HandleKind::kAttribute, info, "GetAttributeInfo");
}
const EpAttribute* EP_CALL FindAttribute(const EpNode* node, const char* name) {
  if (node == nullptr || name == nullptr) return nullptr;
  const Known* known = Find(node, HandleKind::kNode, "FindAttribute");
  if (known == nullptr) return nullptr;
  const auto* info = static_cast<const EpNodeInfo*>(known->info);
  for (uint64_t i = 0; i < info->attribute_count; ++i) {
    const EpAttribute* attribute = info->attributes[i];
    if (std::strcmp(reinterpret_cast<const EpAttributeInfo*>(attribute)->name, name) == 0) return attribute;
  }
  return nullptr;
}

}  // namespace

const EpGraphApi kDebugGraphApi = {
    sizeof(EpGraphApi), 0, GetGraphInfo, GetNodeInfo, GetValueDefInfo, GetAttributeInfo, FindAttribute,
};

const char* Arena::Copy(std::string_view text) {
  char* copy = New<char>(text.size() + 1);
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

void* Arena::Take(size_t size, size_t alignment) {
  used_ = (used_ + alignment - 1) / alignment * alignment;
  if (used_ + size > memory_.size()) throw std::bad_alloc();
  std::byte* taken = memory_.data() + used_;
  used_ += size;
  std::memset(taken, 0, size);
  return taken;
}

DebugGraph::DebugGraph(const GraphSpec& spec, Rule ended)
    : spec_(spec),
      ended_(ended),
      arena_(kArenaRoom, {"a graph's memory", Rule::kConstantsAreReadOnly, Rule::kConstantsAreReadOnly, ended}) {
  Fill();
  arena_.Lend();
}

const EpTypeInfo* DebugGraph::TypeOf(const ValueSpec& value) {
  auto* type = arena_.New<EpTypeInfo>();
  type->struct_size = sizeof(EpTypeInfo);
  type->kind = value.kind;
  type->rank = -1;
  if (value.kind == EP_KIND_SEQUENCE) {
    ValueSpec element = value;
    element.kind = EP_KIND_TENSOR;
    type->element = TypeOf(element);
  } else if (value.kind != EP_KIND_UNKNOWN) {
    type->element_type = value.type;
    if (!value.has_rank) return type;
    type->rank = static_cast<int32_t>(value.dims.size());
    type->dims = arena_.Copy(std::span(value.dims));
  }
  return type;
}

const EpAttribute* DebugGraph::AttributeOf(const AttributeSpec& attribute) {
  auto* info = arena_.New<EpAttributeInfo>();
  info->struct_size = sizeof(EpAttributeInfo);
  info->type = attribute.type;
  info->name = arena_.Copy(attribute.name);
  info->count = std::max({attribute.ints.size(), attribute.floats.size(), attribute.strings.size()});
  if (!attribute.ints.empty()) info->ints = arena_.Copy(std::span(attribute.ints));
  if (!attribute.floats.empty()) info->floats = arena_.Copy(std::span(attribute.floats));
  if (!attribute.strings.empty()) {
    auto* strings = arena_.New<EpString>(attribute.strings.size());
    for (size_t i = 0; i < attribute.strings.size(); ++i) {
      strings[i] = {arena_.Copy(attribute.strings[i]), attribute.strings[i].size()};
    }
    info->strings = strings;
  }
  Handles().handles[info] = {HandleKind::kAttribute, info, true, ended_, this};
  return reinterpret_cast<const EpAttribute*>(info);
}

template <typename Handle, typename Pick>
const Handle* const* DebugGraph::HandlesOf(const std::vector<int>& indices, Pick pick) {
  auto** handles = arena_.New<const Handle*>(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    handles[i] = indices[i] < 0 ? nullptr : pick(static_cast<size_t>(indices[i]));
  }
  return handles;
}

void DebugGraph::Fill() {
  std::lock_guard lock(Handles().mutex);
  const auto value_of = [&](size_t i) { return value(i); };
  const auto node_of = [&](size_t i) { return node(i); };
  graph_ = arena_.New<EpGraphInfo>();
  nodes_ = arena_.New<EpNodeInfo>(spec_.nodes.size());
  values_ = arena_.New<EpValueDefInfo>(spec_.values.size());
  constants_.resize(spec_.values.size());
  std::vector<int> all_nodes;
  std::vector<int> all_constants;
  for (size_t i = 0; i < spec_.nodes.size(); ++i) {
    const NodeSpec& from = spec_.nodes[i];
    EpNodeInfo& to = nodes_[i];
    to.struct_size = sizeof(EpNodeInfo);
    to.flags = from.placed ? EP_NODE_PLACED : 0;
    to.id = i;
    to.name = arena_.Copy(from.name);
    to.op_type = arena_.Copy(from.op_type);
    to.domain = arena_.Copy(from.domain);
    to.since_version = from.since_version;
    to.inputs = HandlesOf<EpValueDef>(from.inputs, value_of);
    to.input_count = from.inputs.size();
    to.outputs = HandlesOf<EpValueDef>(from.outputs, value_of);
    to.output_count = from.outputs.size();
    auto** attributes = arena_.New<const EpAttribute*>(from.attributes.size());
    for (size_t k = 0; k < from.attributes.size(); ++k) attributes[k] = AttributeOf(from.attributes[k]);
    to.attributes = attributes;
    to.attribute_count = from.attributes.size();
    all_nodes.push_back(static_cast<int>(i));
    Handles().handles[&to] = {HandleKind::kNode, &to, true, ended_, this};
  }
  for (size_t i = 0; i < spec_.values.size(); ++i) {
    const ValueSpec& from = spec_.values[i];
    EpValueDefInfo& to = values_[i];
    to.struct_size = sizeof(EpValueDefInfo);
    to.id = i;
    to.name = arena_.Copy(from.name);
    to.type = TypeOf(from);
    const int index = static_cast<int>(i);
    if (std::count(spec_.inputs.begin(), spec_.inputs.end(), index) != 0) to.flags |= EP_VALUE_GRAPH_INPUT;
    if (std::count(spec_.outputs.begin(), spec_.outputs.end(), index) != 0) to.flags |= EP_VALUE_GRAPH_OUTPUT;
    std::vector<int> consumers;
    for (size_t k = 0; k < spec_.nodes.size(); ++k) {
      const NodeSpec& user = spec_.nodes[k];
      consumers.insert(consumers.end(), static_cast<size_t>(std::count(user.inputs.begin(), user.inputs.end(), index)),
                       static_cast<int>(k));
      const auto output = std::find(user.outputs.begin(), user.outputs.end(), index);
      if (output == user.outputs.end()) continue;
      to.producer = node(k);
      to.producer_output = static_cast<uint64_t>(output - user.outputs.begin());
    }
    to.consumers = HandlesOf<EpNode>(consumers, node_of);
    to.consumer_count = consumers.size();
    Handles().handles[&to] = {HandleKind::kValue, &to, true, ended_, this};
    if (!from.is_constant) continue;
    all_constants.push_back(index);
    to.flags |= EP_VALUE_CONSTANT;
    Constant& constant = constants_[i];
    const LentMemory::Rules rules = {"a constant's data", Rule::kConstantsAreReadOnly, Rule::kConstantsAreReadOnly,
                                     ended_};
    constant.data = std::make_unique<LentMemory>(from.data.size(), rules);
    std::copy(from.data.begin(), from.data.end(), constant.data->data());
    constant.data->MakeReadOnly();
    constant.view = std::make_unique<Arena>(1024, rules);
    auto* view = constant.view->New<EpTensorView>();
    view->struct_size = sizeof(EpTensorView);
    view->element_type = from.type;
    view->rank = static_cast<uint32_t>(from.dims.size());
    view->dims = constant.view->Copy(std::span(from.dims));
    view->element_count = 1;
    for (const int64_t dim : from.dims) view->element_count *= static_cast<uint64_t>(dim);
    view->byte_size = from.data.size();
    view->data = constant.data->data();
    constant.view->Lend();
    to.constant = view;
  }
  graph_->struct_size = sizeof(EpGraphInfo);
  graph_->name = arena_.Copy(spec_.name);
  graph_->nodes = HandlesOf<EpNode>(all_nodes, node_of);
  graph_->node_count = all_nodes.size();
  graph_->inputs = HandlesOf<EpValueDef>(spec_.inputs, value_of);
  graph_->input_count = spec_.inputs.size();
  graph_->outputs = HandlesOf<EpValueDef>(spec_.outputs, value_of);
  graph_->output_count = spec_.outputs.size();
  graph_->constants = HandlesOf<EpValueDef>(all_constants, value_of);
  graph_->constant_count = all_constants.size();
  auto** domains = arena_.New<const char*>(1);
  domains[0] = arena_.Copy("");
  graph_->opset_domains = domains;
  auto* versions = arena_.New<int64_t>(1);
  versions[0] = spec_.opset;
  graph_->opset_versions = versions;
  graph_->opset_count = 1;
  Handles().handles[graph_] = {HandleKind::kGraph, graph_, true, ended_, this};
}

const DebugGraph* DebugGraph::Of(const EpGraph* handle, const char* function) {
  const Known* known = Find(handle, HandleKind::kGraph, function);
  return known == nullptr ? nullptr : known->graph;
}

void DebugGraph::ShowOnly(size_t index, Rule hidden) {
  std::lock_guard lock(Handles().mutex);
  const NodeSpec& shown = spec_.nodes[index];
  const auto hide = [hidden](const void* handle) {
    Known& known = Handles().handles.at(handle);
    known.open = false;
    known.hidden = true;
    known.ended = hidden;
  };
  hide(graph_);
  for (size_t i = 0; i < spec_.nodes.size(); ++i) {
    if (i == index) continue;
    hide(&nodes_[i]);
    for (uint64_t k = 0; k < nodes_[i].attribute_count; ++k) hide(nodes_[i].attributes[k]);
  }
  for (size_t i = 0; i < spec_.values.size(); ++i) {
    const int value = static_cast<int>(i);
    const bool is_read = std::count(shown.inputs.begin(), shown.inputs.end(), value) != 0;
    const bool is_made = std::count(shown.outputs.begin(), shown.outputs.end(), value) != 0;
    if (!is_read && !is_made) hide(&values_[i]);
  }
}

int DebugGraph::IndexOf(const EpNode* handle) const {
  for (size_t i = 0; i < spec_.nodes.size(); ++i) {
    if (node(i) == handle) return static_cast<int>(i);
  }
  return -1;
}

int DebugGraph::IndexOf(const EpValueDef* handle) const {
  for (size_t i = 0; i < spec_.values.size(); ++i) {
    if (value(i) == handle) return static_cast<int>(i);
  }
  return -1;
}

void DebugGraph::Retain(int value) { ++constants_[static_cast<size_t>(value)].references; }

void DebugGraph::Drop(int value) {
  Constant& constant = constants_[static_cast<size_t>(value)];
  if (constant.references == 0) constant.data->TakeAway(Rule::kDroppedConstantsAreLeft);
}

void DebugGraph::Release(int value) {
  Constant& constant = constants_[static_cast<size_t>(value)];
  if (--constant.references > 0 || open_) return;
  constant.data->TakeAway();
  constant.view->TakeAway();
}

void DebugGraph::End() {
  if (!open_) return;
  open_ = false;
  {
    std::lock_guard lock(Handles().mutex);
    const auto close = [](const void* handle) { Handles().handles.at(handle).open = false; };
    close(graph_);
    for (size_t i = 0; i < spec_.nodes.size(); ++i) {
      for (uint64_t k = 0; k < nodes_[i].attribute_count; ++k) close(nodes_[i].attributes[k]);
      close(&nodes_[i]);
    }
    for (size_t i = 0; i < spec_.values.size(); ++i) close(&values_[i]);
  }
  arena_.TakeAway();
  for (Constant& constant : constants_) {
    if (constant.data == nullptr || constant.references > 0) continue;
    constant.data->TakeAway();
    constant.view->TakeAway();
  }
}

}  // namespace epiphyte::conformance
