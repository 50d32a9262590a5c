// The context table: how a provider describes, after Compile, the contexts it made.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/abi/handles.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxPayloads = 1024;
constexpr size_t kMaxText = 1 << 20;

[[noreturn]] void NullArgument() {
  Fail(StatusCode::kInvalidArgument, "a null pointer was passed to a context function");
}

EpContextSink& SinkOf(const EpContextSink* handle) {
  if (handle == nullptr) NullArgument();
  if (EpContextSink* sink = CallScopedHandle<EpContextSink>::Find(handle)) return *sink;
  Fail(StatusCode::kInvalidArgument,
       "a context sink was used outside of the GetEpContextNodes call that it was given to, or on another thread");
}

// Makes a writer's handle: a number, not an address. A handle of an earlier call never means a payload of this one.
const EpContextWriter* NewHandle() {
  static std::atomic<uintptr_t> last{0};
  return reinterpret_cast<const EpContextWriter*>(2 * last.fetch_add(1, std::memory_order_relaxed) + 1);
}

OpenPayload* FindPayload(EpContextSink& sink, const EpContextWriter* handle) {
  auto found = std::find_if(sink.writers.begin(), sink.writers.end(),
                            [handle](const OpenPayload& payload) { return payload.handle == handle; });
  return found == sink.writers.end() ? nullptr : &*found;
}

OpenPayload& PayloadOf(const EpContextWriter* handle) {
  if (handle == nullptr) NullArgument();
  OpenPayload* found = nullptr;
  CallScopedHandle<EpContextSink>::FindIf(
      [&](EpContextSink& sink) { return (found = FindPayload(sink, handle)) != nullptr; });
  if (found != nullptr) return *found;
  Fail(StatusCode::kInvalidArgument,
       "a payload writer was used that the running GetEpContextNodes call didn't begin, or on another thread");
}

EpStatus* EP_CALL GetSinkInfo(const EpContextSink* handle, EpContextSinkInfo* info) {
  return Guard([&] {
    if (info == nullptr) NullArgument();
    EpContextSink& sink = SinkOf(handle);
    EpContextSinkInfo full{};
    full.embed = sink.embed ? 1 : 0;
    full.node_name_prefix = sink.prefix.c_str();
    full.partition_count = sink.partition_names.size();
    full.partition_names = sink.partition_names.data();
    FillAbi(full, info);
  });
}

EpStatus* EP_CALL BeginPayload(EpContextSink* handle, EpContextWriter** writer) {
  return Guard([&] {
    if (writer == nullptr) NullArgument();
    EpContextSink& sink = SinkOf(handle);
    if (sink.defers_payload) {
      Fail(StatusCode::kEpFail,
           "a payload was begun, but this session is not the last of its share group; keep what was compiled in the "
           "workspace and add nodes with payload null");
    }
    if (sink.writers.size() >= kMaxPayloads) {
      Fail(StatusCode::kEpFail, "more than {} payloads were begun; write one for all partitions", kMaxPayloads);
    }
    // Reserve first: the payload that new_writer makes must get its index, or the next payload would take it.
    sink.result.payloads.reserve(sink.result.payloads.size() + 1);
    sink.writers.reserve(sink.writers.size() + 1);
    sink.result.payloads.push_back(sink.new_writer());
    OpenPayload& made = sink.writers.emplace_back();
    made.handle = NewHandle();
    made.writer = sink.result.payloads.back().get();
    made.index = static_cast<int32_t>(sink.writers.size() - 1);
    *writer = const_cast<EpContextWriter*>(made.handle);
  });
}

EpStatus* EP_CALL Write(EpContextWriter* writer, const void* data, uint64_t size) {
  return Guard([&] {
    if (data == nullptr && size != 0) NullArgument();
    OpenPayload& payload = PayloadOf(writer);
    if (payload.ended) Fail(StatusCode::kEpFail, "a payload was written to after EndPayload");
    if (size == 0) return;
    const bool broken = std::exchange(payload.broken, true);
    payload.writer->Write(data, size);
    payload.broken = broken;
  });
}

EpStatus* EP_CALL EndPayload(EpContextWriter* writer) {
  return Guard([&] {
    OpenPayload& payload = PayloadOf(writer);
    if (payload.ended) Fail(StatusCode::kEpFail, "a payload was ended twice");
    if (payload.broken) Fail(StatusCode::kEpFail, "a payload was ended although writing to it had failed");
    payload.writer->End();
    payload.ended = true;
  });
}

bool IsAttributeName(std::string_view name) {
  constexpr std::string_view kOthers = "_.-";
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), is_plain);
}

ContextExtras ReadExtras(const EpContextNodeDesc& node) {
  constexpr uint32_t kMost = 256;
  if (node.attribute_count > kMost || (node.attributes == nullptr && node.attribute_count != 0)) {
    Fail(StatusCode::kInvalidArgument, "an EPContext node has {} further attributes{}; at most {} are possible",
         node.attribute_count, node.attributes == nullptr ? " at null" : "", kMost);
  }
  ContextExtras extras;
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    const EpKeyValue& attribute = node.attributes[i];
    if (attribute.key == nullptr || attribute.value == nullptr) NullArgument();
    const std::string name(attribute.key, strnlen(attribute.key, 129));
    if (!IsAttributeName(name) || name.starts_with("ep_") || IsContextAttribute(name)) {
      Fail(StatusCode::kInvalidArgument,
           "an EPContext node has the further attribute '{}'; expected letters, digits, '_', '.' or '-', no name that "
           "the operator has and none that begins with 'ep_'",
           CleanText(attribute.key, 128));
    }
    if (std::any_of(extras.begin(), extras.end(), [&](const auto& other) { return other.first == name; })) {
      Fail(StatusCode::kInvalidArgument, "an EPContext node has the further attribute '{}' twice", name);
    }
    extras.emplace_back(name, CleanText(attribute.value, kMaxText));
  }
  return extras;
}

EpStatus* EP_CALL AddNode(EpContextSink* handle, const EpContextNodeDesc* node) {
  return Guard([&] {
    if (node == nullptr) NullArgument();
    EpContextSink& sink = SinkOf(handle);
    RequireAbi(*node);
    ContextNode added;
    added.partition = node->partition;
    added.main_context = node->main_context;
    added.max_size = node->max_size;
    if (node->partition >= sink.partition_names.size()) {
      Fail(StatusCode::kEpFail, "an EPContext node names partition {}, but there are {}", node->partition,
           sink.partition_names.size());
    }
    if (sink.partition_names[node->partition] == nullptr) {
      Fail(StatusCode::kEpFail, "an EPContext node names partition {}, which Compile declined", node->partition);
    }
    for (const ContextNode& other : sink.result.nodes) {
      if (other.partition == node->partition) {
        Fail(StatusCode::kEpFail, "partition '{}' got two EPContext nodes", sink.partition_names[node->partition]);
      }
    }
    if (node->main_context != 0 && node->main_context != 1) {
      Fail(StatusCode::kEpFail, "main_context is {}, expected 0 or 1", node->main_context);
    }
    if (sink.defers_payload && node->payload != nullptr) {
      Fail(StatusCode::kEpFail, "the EPContext node of partition '{}' has a payload, but a later session writes it",
           sink.partition_names[node->partition]);
    }
    if (node->main_context == 1 && !sink.defers_payload) {
      const OpenPayload* mine = FindPayload(sink, node->payload);
      if (mine == nullptr || !mine->ended) {
        Fail(StatusCode::kEpFail, "the primary EPContext node of partition '{}' has no finished payload",
             sink.partition_names[node->partition]);
      }
      added.payload = mine->index;
    }
    added.source = node->source != nullptr ? CleanText(node->source, 256)
                   : sink.sources.empty()  ? ""
                                           : sink.sources.front();
    if (std::find(sink.sources.begin(), sink.sources.end(), added.source) == sink.sources.end()) {
      Fail(StatusCode::kEpFail, "an EPContext node has source '{}', which the plugin's descriptor doesn't list",
           added.source);
    }
    added.ep_sdk_version = CleanText(node->ep_sdk_version, kMaxText);
    added.hardware_architecture = CleanText(node->hardware_architecture, kMaxText);
    added.notes = CleanText(node->notes, kMaxText);
    added.extras = ReadExtras(*node);
    sink.result.nodes.push_back(std::move(added));
  });
}

EpStatus* EP_CALL SetCompatibilityInfo(EpContextSink* handle, const char* info) {
  return Guard([&] {
    if (info == nullptr) NullArgument();
    EpContextSink& sink = SinkOf(handle);
    sink.result.compatibility_info = CleanText(info, kMaxText);
  });
}

}  // namespace

const EpContextApi kContextApi = {sizeof(EpContextApi), 0,       GetSinkInfo,         BeginPayload, Write,
                                  EndPayload,           AddNode, SetCompatibilityInfo};

}  // namespace epiphyte::core
