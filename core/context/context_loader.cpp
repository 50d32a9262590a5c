#include "core/context/context_loader.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/base/text.h"
#include "core/context/context_binding.h"
#include "core/context/context_model.h"

namespace epiphyte::core {
namespace {

void CheckRecord(const PayloadRecord& record, const ContextBlob& blob, const LoadOptions& options,
                 std::string_view what) {
  if (blob.size != record.size) {
    Fail(StatusCode::kInvalidGraph,
         "{} has {} bytes, but the context model was written with {}; the file was replaced or cut off: restore it or "
         "compile the model again",
         what, blob.size, record.size);
  }
  if (!options.verify_digests) return;
  std::string digest = options.group != nullptr ? options.group->DigestOf(blob, options.pool, options.pulse)
                       : blob.file              ? blob.file->Digest(options.pool, options.pulse)
                                                : Xxh128OfMapping(blob.data, blob.size, options.pool, options.pulse);
  if (digest != record.xxh128) {
    Fail(StatusCode::kInvalidGraph,
         "{} has digest {}, but the context model was written with {}; the file was replaced or damaged: restore it or "
         "compile the model again",
         what, digest, record.xxh128);
  }
}

// Nothing would be compared.
void RefuseUnrecorded(const std::vector<PayloadRecord>& records, const LoadOptions& options, std::string_view what) {
  if (records.empty() || !options.verify_digests) return;
  Fail(StatusCode::kInvalidGraph,
       "{}: the model has records of its payloads, but none of this one; compile the model again", what);
}

// Embedded payloads have no name: if the model has records of embedded payloads, one of them must be this one's.
void CheckEmbedded(const std::vector<PayloadRecord>& records, const ContextBlob& blob, const LoadOptions& options,
                   std::string_view what) {
  const PayloadRecord* nearest = nullptr;
  const bool by_size = options.embedded_verified || !options.verify_digests;
  std::string digest;  // once, however many records there are
  const auto fits = [&](const PayloadRecord& record) {
    if (digest.empty()) digest = Xxh128(blob.data, blob.size);
    return record.xxh128 == digest;
  };
  for (const PayloadRecord& record : records) {
    if (!record.file.empty()) continue;
    if (record.size == blob.size && (by_size || fits(record))) return;
    if (nearest == nullptr || record.size == blob.size) nearest = &record;
  }
  if (nearest == nullptr) return RefuseUnrecorded(records, options, what);
  CheckRecord(*nearest, blob, options, what);
}

ContextBlob OpenPayload(const std::string& name, const LoadOptions& options, const std::string& what) {
  if (options.store == nullptr && options.model_path.empty()) {
    Fail(StatusCode::kInvalidGraph,
         "{} is outside the model, and a model from memory has no folder; set ep.context_file_path", what);
  }
  try {
    if (options.store != nullptr) {
      CheckFileName(name, what);
      ContextStore::Bytes bytes = options.store->Open(name);
      return {bytes.data, bytes.size, std::move(bytes.owner)};
    }
    const std::filesystem::path path = ResolveBeside(options.model_path, name, what);
    if (options.group != nullptr) return options.group->OpenFile(path);
    const auto file = MappedFile::Open(path);
    return {file->data(), file->size(), file, file};
  } catch (const Error& error) {
    const bool named = error.message().starts_with(what);
    throw Error(StatusCode::kInvalidGraph, fmt::format("{}{}{}; put the file in its place or compile the model again",
                                                       named ? "" : what, named ? "" : ": ", error.message()));
  }
}

ContextNodeToLoad ToLoad(const BoundNode& bound) {
  const EpContextAttributes& attributes = bound.attributes;
  ContextNodeToLoad load;
  load.node = bound.node;
  load.main_context = attributes.main_context;
  load.source = attributes.source;
  load.partition_name = attributes.partition_name;
  load.ep_sdk_version = attributes.ep_sdk_version;
  load.hardware_architecture = attributes.hardware_architecture;
  load.notes = attributes.notes;
  load.onnx_model_filename = attributes.onnx_model_filename;
  load.max_size = attributes.max_size;
  for (const ValueDef* output : bound.node->outputs())
    load.output_types.push_back(output == nullptr ? nullptr : output->type());
  return load;
}

// The payload of a node that carries or names it, compared with what the model recorded.
ContextBlob CheckedPayload(const BoundNode& bound, const std::vector<PayloadRecord>& records,
                           const LoadOptions& options) {
  const EpContextAttributes& attributes = bound.attributes;
  const std::string node = fmt::format("EPContext node '{}' (source '{}')", NodePath(*bound.node), attributes.source);
  if (attributes.embed_mode == 1) {
    CheckEmbedded(records, attributes.payload, options, node + ": the embedded payload");
    return attributes.payload;
  }
  const std::string what = fmt::format("{}: file '{}'", node, PrintableLine(attributes.ep_cache_context, 200));
  ContextBlob blob = OpenPayload(attributes.ep_cache_context, options, what);
  const auto record = std::find_if(records.begin(), records.end(), [&](const PayloadRecord& candidate) {
    return candidate.file == attributes.ep_cache_context;
  });
  if (record != records.end()) {
    CheckRecord(*record, blob, options, what);
  } else {
    RefuseUnrecorded(records, options, what);
  }
  return blob;
}

}  // namespace

ContextBatch LoadPayloads(std::span<Node* const> nodes, const LoadOptions& options,
                          const std::map<std::string, std::string>& metadata) {
  const std::vector<PayloadRecord> records = ReadPayloadRecords(metadata);
  const ContextBinding binding(nodes, [](const std::string&) { return std::string("the provider of all"); });
  const std::vector<BoundNode>& bound_nodes = binding.nodes();
  ContextBatch batch;
  std::vector<int32_t> blob_of_carrier(bound_nodes.size(), -1);
  for (size_t i = 0; i < bound_nodes.size(); ++i) {
    const BoundNode& bound = bound_nodes[i];
    if (!bound.problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", bound.problem);
    batch.nodes.push_back(bound.node);
    batch.to_load.push_back(ToLoad(bound));
    if (bound.carrier != i) continue;
    blob_of_carrier[i] = static_cast<int32_t>(batch.blobs.size());
    batch.blobs.push_back(CheckedPayload(bound, records, options));
  }
  // A secondary may stand before its primary.
  for (size_t i = 0; i < bound_nodes.size(); ++i) {
    const size_t carrier = bound_nodes[i].carrier;
    batch.to_load[i].blob = carrier == kNoCarrier ? -1 : blob_of_carrier[carrier];
  }
  return batch;
}

}  // namespace epiphyte::core
