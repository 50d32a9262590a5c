// The context table: what a provider says after Compile about the contexts it made.
#include <algorithm>
#include <utility>

#include "core/abi/handles.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxPayloads = 1024;
constexpr size_t kMaxText = 1 << 20;

[[noreturn]] void NullArgument() {
  Fail(StatusCode::kInvalidArgument, "a null pointer was passed to a context function");
}

EpStatus* EP_CALL GetSinkInfo(const EpContextSink* sink, EpContextSinkInfo* info) {
  return Guard([&] {
    if (sink == nullptr || info == nullptr) NullArgument();
    if (!EP_HAS_FIELD(info, EpContextSinkInfo, partition_names)) {
      Fail(StatusCode::kInvalidArgument,
           "EpContextSinkInfo::struct_size is smaller than in ABI 0.1; set it to sizeof(EpContextSinkInfo)");
    }
    info->embed = sink->embed ? 1 : 0;
    info->node_name_prefix = sink->prefix.c_str();
    info->partition_count = sink->partition_names.size();
    info->partition_names = sink->partition_names.data();
  });
}

EpStatus* EP_CALL BeginPayload(EpContextSink* sink, EpContextWriter** writer) {
  return Guard([&] {
    if (sink == nullptr || writer == nullptr) NullArgument();
    if (sink->defers_payload) {
      Fail(StatusCode::kEpFail,
           "a payload was begun, but this session is not the last of its share group; keep what was compiled in the "
           "workspace and add nodes with payload null");
    }
    if (sink->writers.size() >= kMaxPayloads) {
      Fail(StatusCode::kEpFail, "more than {} payloads were begun; write one for all partitions", kMaxPayloads);
    }
    sink->result.payloads.push_back(sink->new_writer());
    auto made = std::make_unique<EpContextWriter>();
    made->sink = sink;
    made->writer = sink->result.payloads.back().get();
    made->index = static_cast<int32_t>(sink->writers.size());
    *writer = made.get();
    sink->writers.push_back(std::move(made));
  });
}

EpStatus* EP_CALL Write(EpContextWriter* writer, const void* data, uint64_t size) {
  return Guard([&] {
    if (writer == nullptr || (data == nullptr && size != 0)) NullArgument();
    if (writer->ended) Fail(StatusCode::kEpFail, "a payload was written to after EndPayload");
    if (size == 0) return;
    const bool broken = std::exchange(writer->broken, true);
    writer->writer->Write(data, size);
    writer->broken = broken;
  });
}

EpStatus* EP_CALL EndPayload(EpContextWriter* writer) {
  return Guard([&] {
    if (writer == nullptr) NullArgument();
    if (writer->ended) Fail(StatusCode::kEpFail, "a payload was ended twice");
    if (writer->broken) Fail(StatusCode::kEpFail, "a payload was ended although writing to it had failed");
    writer->writer->End();
    writer->ended = true;
  });
}

EpStatus* EP_CALL AddNode(EpContextSink* sink, const EpContextNodeDesc* node) {
  return Guard([&] {
    if (sink == nullptr || node == nullptr) NullArgument();
    if (!EP_HAS_FIELD(node, EpContextNodeDesc, max_size)) {
      Fail(StatusCode::kEpFail,
           "EpContextNodeDesc::struct_size is smaller than in ABI 0.1; set it to sizeof(EpContextNodeDesc)");
    }
    ContextNode added;
    added.partition = node->partition;
    added.main_context = node->main_context;
    added.max_size = node->max_size;
    if (node->partition >= sink->partition_names.size()) {
      Fail(StatusCode::kEpFail, "an EPContext node names partition {}, but there are {}", node->partition,
           sink->partition_names.size());
    }
    for (const ContextNode& other : sink->result.nodes) {
      if (other.partition == node->partition) {
        Fail(StatusCode::kEpFail, "partition '{}' got two EPContext nodes", sink->partition_names[node->partition]);
      }
    }
    if (node->main_context != 0 && node->main_context != 1) {
      Fail(StatusCode::kEpFail, "main_context is {}, expected 0 or 1", node->main_context);
    }
    if (sink->defers_payload && node->payload != nullptr) {
      Fail(StatusCode::kEpFail, "the EPContext node of partition '{}' has a payload, but a later session writes it",
           sink->partition_names[node->partition]);
    }
    if (node->main_context == 1 && !sink->defers_payload) {
      auto mine = std::find_if(sink->writers.begin(), sink->writers.end(),
                               [&](const auto& writer) { return writer.get() == node->payload; });
      if (mine == sink->writers.end() || !(*mine)->ended) {
        Fail(StatusCode::kEpFail, "the primary EPContext node of partition '{}' has no finished payload",
             sink->partition_names[node->partition]);
      }
      added.payload = (*mine)->index;
    }
    added.source = node->source != nullptr ? CleanText(node->source, 256)
                   : sink->sources.empty() ? ""
                                           : sink->sources.front();
    if (std::find(sink->sources.begin(), sink->sources.end(), added.source) == sink->sources.end()) {
      Fail(StatusCode::kEpFail, "an EPContext node has source '{}', which the plugin's descriptor doesn't list",
           added.source);
    }
    added.ep_sdk_version = CleanText(node->ep_sdk_version, kMaxText);
    added.hardware_architecture = CleanText(node->hardware_architecture, kMaxText);
    added.notes = CleanText(node->notes, kMaxText);
    sink->result.nodes.push_back(std::move(added));
  });
}

EpStatus* EP_CALL SetCompatibilityInfo(EpContextSink* sink, const char* info) {
  return Guard([&] {
    if (sink == nullptr || info == nullptr) NullArgument();
    sink->result.compatibility_info = CleanText(info, kMaxText);
  });
}

}  // namespace

const EpContextApi kContextApi = {sizeof(EpContextApi), 0,       GetSinkInfo,         BeginPayload, Write,
                                  EndPayload,           AddNode, SetCompatibilityInfo};

}  // namespace epiphyte::core
