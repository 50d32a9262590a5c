#include "epiphyte/context.hpp"

#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/context/context_model.h"
#include "core/onnx/model_reader.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

// Bytes of a payload, wherever they are.
struct Payload {
  const void* data = nullptr;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;
};

Payload OpenPayload(const core::EpContextAttributes& attributes, const std::filesystem::path& model,
                    const std::string& node) {
  if (attributes.embed_mode == 1) return {attributes.payload.data, attributes.payload.size, attributes.payload.owner};
  std::filesystem::path path =
      core::ResolveBeside(model, attributes.ep_cache_context, "EP context of node '" + node + "'");
  std::shared_ptr<const core::MappedFile> file = core::MappedFile::Open(path);
  return {file->data(), file->size(), file};
}

// A file has one record; embedded payloads are told apart by their digest.
const core::PayloadRecord* FindRecord(const std::vector<core::PayloadRecord>& records, const ContextNodeInfo& node) {
  const core::PayloadRecord* embedded = nullptr;
  for (const core::PayloadRecord& record : records) {
    if (!node.file.empty()) {
      if (record.file == node.file) return &record;
    } else if (record.file.empty()) {
      if (record.xxh128 == node.digest) return &record;
      embedded = &record;
    }
  }
  return embedded;
}

void DescribePayload(const core::EpContextAttributes& attributes, const std::filesystem::path& model,
                     const std::vector<core::PayloadRecord>& records, ContextNodeInfo* info) {
  try {
    Payload payload = OpenPayload(attributes, model, info->name);
    info->size = payload.size;
    info->digest = core::Xxh128(payload.data, payload.size);
  } catch (const core::Error& error) {
    info->problem = error.message();
  }
  const core::PayloadRecord* record = FindRecord(records, *info);
  if (record == nullptr) return;
  info->recorded_digest = record->xxh128;
  if (!info->problem.empty()) return;
  if (record->size != info->size) {
    info->problem = "payload has " + std::to_string(info->size) + " bytes, the model recorded " +
                    std::to_string(record->size) + "; compile the model again";
  } else if (record->xxh128 != info->digest) {
    info->problem = "payload was changed after the model was written; compile the model again";
  }
}

struct Walk {
  const std::filesystem::path& model;
  const std::vector<core::PayloadRecord>& records;
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
    core::EpContextAttributes attributes = core::ReadContextAttributes(node);
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
    bool has_payload = attributes.embed_mode == 1 ? attributes.payload.size != 0 : !found.file.empty();
    if (has_payload || found.main_context) DescribePayload(attributes, model, records, &found);
  }
};

}  // namespace

ContextInfo InspectContext(const std::filesystem::path& model) {
  return Translate([&] {
    core::ReadOptions options;
    options.infer = false;
    core::Model content = core::ReadModelFile(model, options);
    ContextInfo info;
    info.model = model;
    info.metadata = content.metadata;
    std::vector<core::PayloadRecord> records = core::ReadPayloadRecords(content.metadata);
    Walk{model, records, &info}.Visit(*content.graph, "");
    return info;
  });
}

}  // namespace epiphyte
