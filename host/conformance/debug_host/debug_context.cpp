#include "host/conformance/debug_host/debug_context.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "host/conformance/debug_host/debug_host.h"

namespace epiphyte::conformance {
namespace {

using Payload = DebugContextSink::Payload;

DebugContextSink* Require(const EpContextSink* sink, const char* function) {
  return Live<EpContextSink, DebugContextSink>().Require(sink, function, Rule::kContextSinkEndsWithTheCall,
                                                         Rule::kContextSinkStaysOnItsThread);
}
Payload* Require(EpContextWriter* writer, const char* function) {
  return Live<EpContextWriter, Payload>().Require(writer, function, Rule::kWritersOfThisSink,
                                                  Rule::kContextSinkStaysOnItsThread);
}
EpStatus* NoSink() {
  return DebugHost::Current().NewStatus(EP_STATUS_INVALID_ARGUMENT, "the context sink or writer is of no use here");
}

EpStatus* EP_CALL GetSinkInfo(const EpContextSink* sink, EpContextSinkInfo* info) {
  const DebugContextSink* mine = Require(sink, "GetSinkInfo");
  return mine == nullptr ? NoSink() : mine->GetInfo(info);
}
EpStatus* EP_CALL BeginPayload(EpContextSink* sink, EpContextWriter** writer) {
  DebugContextSink* mine = Require(sink, "BeginPayload");
  return mine == nullptr ? NoSink() : mine->Begin(writer);
}
EpStatus* EP_CALL Write(EpContextWriter* writer, const void* data, uint64_t size) {
  Payload* mine = Require(writer, "Write");
  if (mine == nullptr) return NoSink();
  if (mine->ended)
    return DebugHost::Current().Refuse(Rule::kPayloadsAreEnded, "Write was called on a payload that was ended");
  if (size != 0) mine->bytes.append(static_cast<const char*>(data), size);
  return nullptr;
}
EpStatus* EP_CALL EndPayload(EpContextWriter* writer) {
  Payload* mine = Require(writer, "EndPayload");
  if (mine == nullptr) return NoSink();
  if (mine->ended) return DebugHost::Current().Refuse(Rule::kPayloadsAreEnded, "EndPayload was called twice");
  mine->ended = true;
  return nullptr;
}
EpStatus* EP_CALL AddNode(EpContextSink* sink, const EpContextNodeDesc* node) {
  DebugContextSink* mine = Require(sink, "AddNode");
  return mine == nullptr ? NoSink() : mine->Add(node);
}
EpStatus* EP_CALL SetCompatibilityInfo(EpContextSink* sink, const char* info) {
  DebugContextSink* mine = Require(sink, "SetCompatibilityInfo");
  if (mine == nullptr) return NoSink();
  mine->SetInfo(info);
  return nullptr;
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

bool IsOwnAttributeName(const std::string& name) {
  static const std::set<std::string> kOfTheOperator = {
      "main_context",          "ep_cache_context", "embed_mode", "ep_sdk_version", "onnx_model_filename",
      "hardware_architecture", "partition_name",   "source",     "notes",          "max_size"};
  if (name.empty() || name.starts_with("ep_") || kOfTheOperator.contains(name)) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; });
}

}  // namespace

const EpContextApi kDebugContextApi = {sizeof(EpContextApi), 0,       GetSinkInfo,         BeginPayload, Write,
                                       EndPayload,           AddNode, SetCompatibilityInfo};

DebugContextSink::DebugContextSink(Setting setting)
    : setting_(std::move(setting)),
      arena_(16 << 10, {"a context sink's info", Rule::kContextSinkEndsWithTheCall, Rule::kContextSinkEndsWithTheCall,
                        Rule::kContextSinkEndsWithTheCall}),
      handle_(Live<EpContextSink, DebugContextSink>().Open(this)) {
  info_.struct_size = sizeof(info_);
  info_.embed = setting_.embed ? 1 : 0;
  info_.node_name_prefix = arena_.Copy("");
  auto** names = arena_.New<const char*>(setting_.partition_names.size());
  for (size_t i = 0; i < setting_.partition_names.size(); ++i) names[i] = arena_.Copy(setting_.partition_names[i]);
  info_.partition_names = names;
  info_.partition_count = setting_.partition_names.size();
  arena_.Lend();
}

DebugContextSink::~DebugContextSink() {
  Live<EpContextSink, DebugContextSink>().Close(handle_);
  for (const auto& payload : payloads_) Live<EpContextWriter, Payload>().Close(payload->handle);
}

EpStatus* DebugContextSink::GetInfo(EpContextSinkInfo* info) const {
  return DebugHost::Current().FillRoom(info, info_, "GetSinkInfo");
}

EpStatus* DebugContextSink::Begin(EpContextWriter** writer) {
  if (setting_.defers_payload) {
    return DebugHost::Current().Refuse(Rule::kGroupsPayloadComesLast,
                                       "BeginPayload was called in an earlier session of a compiling share group");
  }
  payloads_.push_back(std::make_unique<Payload>());
  payloads_.back()->sink = this;
  payloads_.back()->handle = Live<EpContextWriter, Payload>().Open(payloads_.back().get());
  *writer = payloads_.back()->handle;
  return nullptr;
}

void DebugContextSink::SetInfo(const char* info) { compatibility_info_ = Text(info); }

EpStatus* DebugContextSink::Add(const EpContextNodeDesc* node) {
  DebugHost& host = DebugHost::Current();
  if (node == nullptr || node->struct_size < sizeof(EpContextNodeDesc)) {
    return host.Refuse(Rule::kInfosHaveASize, "AddNode: a description whose struct_size covers it is expected");
  }
  if (node->reserved != 0)
    return host.Refuse(Rule::kNodeReservedIsZero, "reserved of a context node is " + std::to_string(node->reserved));
  if (node->partition >= setting_.partition_names.size()) {
    return host.Refuse(Rule::kPartitionsByIndex, "a node for partition " + std::to_string(node->partition) + " of " +
                                                     std::to_string(setting_.partition_names.size()));
  }
  if (node->main_context != 0 && node->main_context != 1) {
    return host.Refuse(Rule::kMainContextIsAFlag, "main_context " + std::to_string(node->main_context));
  }
  if (node->source != nullptr && std::count(setting_.sources.begin(), setting_.sources.end(), node->source) == 0) {
    return host.Refuse(Rule::kSourcesAreOwn, "a node with a source that the plugin doesn't own");
  }
  SavedNode saved;
  saved.partition = node->partition;
  saved.main_context = node->main_context;
  saved.max_size = node->max_size;
  if (node->payload != nullptr) {
    if (node->main_context == 0)
      return host.Refuse(Rule::kPrimariesHavePayloads, "a node with main_context 0 has a payload");
    Payload* payload = Require(node->payload, "AddNode");
    if (payload == nullptr) return NoSink();
    if (payload->sink != this)
      return host.Refuse(Rule::kWritersOfThisSink, "AddNode was called with a payload of another sink");
    if (!payload->ended)
      return host.Refuse(Rule::kPayloadsAreEnded, "AddNode was called with a payload that was not ended");
    for (size_t i = 0; i < payloads_.size(); ++i) {
      if (payloads_[i].get() == payload) saved.payload = static_cast<int>(i);
    }
  } else if (node->main_context == 1 && !setting_.defers_payload) {
    return host.Refuse(Rule::kPrimariesHavePayloads, "a node with main_context 1 has no payload");
  }
  saved.source = node->source == nullptr ? (setting_.sources.empty() ? "" : setting_.sources.front()) : node->source;
  saved.ep_sdk_version = Text(node->ep_sdk_version);
  saved.hardware_architecture = Text(node->hardware_architecture);
  saved.notes = Text(node->notes);
  std::set<std::string> names;
  for (uint32_t i = 0; i < node->attribute_count; ++i) {
    const EpKeyValue& attribute = node->attributes[i];
    if (!IsOwnAttributeName(Text(attribute.key)) || !names.insert(attribute.key).second) {
      return host.Refuse(Rule::kFurtherAttributes, "a further attribute is named '" + Text(attribute.key) + "'");
    }
    saved.attributes.emplace_back(attribute.key, Text(attribute.value));
  }
  nodes_.push_back(std::move(saved));
  return nullptr;
}

SavedContext DebugContextSink::Take(bool needs_payload) {
  DebugHost& host = DebugHost::Current();
  SavedContext saved;
  saved.partition_names = setting_.partition_names;
  for (size_t i = 0; i < setting_.partition_names.size(); ++i) {
    const auto count =
        std::count_if(nodes_.begin(), nodes_.end(), [i](const SavedNode& node) { return node.partition == i; });
    if (count != 1) {
      host.Violate(Rule::kANodeForEachPartition,
                   std::to_string(count) + " nodes for partition '" + setting_.partition_names[i] + "', 1 is expected");
    }
  }
  for (const auto& payload : payloads_) {
    if (!payload->ended) host.Violate(Rule::kPayloadsAreEnded, "a payload was begun and not ended");
    saved.payloads.push_back(payload->bytes);
  }
  if (needs_payload && saved.payloads.empty())
    host.Violate(Rule::kLastSessionWrites, "the last session of a compiling share group wrote no payload");
  saved.nodes = nodes_;
  saved.compatibility_info = compatibility_info_;
  return saved;
}

}  // namespace epiphyte::conformance
