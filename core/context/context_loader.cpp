#include "core/context/context_loader.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/base/text.h"
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
  if (nearest != nullptr) CheckRecord(*nearest, blob, options, what);
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

}  // namespace

ContextBatch LoadPayloads(std::span<Node* const> nodes, const LoadOptions& options,
                          const std::map<std::string, std::string>& metadata) {
  ContextBatch batch;
  std::vector<PayloadRecord> records = ReadPayloadRecords(metadata);
  std::map<std::string, int32_t> blob_of_file;
  std::vector<int32_t> primaries;
  for (Node* node : nodes) {
    EpContextAttributes attributes = ReadContextAttributes(*node);
    ContextNodeToLoad load;
    load.node = node;
    load.main_context = attributes.main_context;
    load.source = attributes.source;
    load.partition_name = attributes.partition_name;
    load.ep_sdk_version = attributes.ep_sdk_version;
    load.hardware_architecture = attributes.hardware_architecture;
    load.notes = attributes.notes;
    load.onnx_model_filename = attributes.onnx_model_filename;
    load.max_size = attributes.max_size;
    for (const ValueDef* output : node->outputs())
      load.output_types.push_back(output == nullptr ? nullptr : output->type());

    if (attributes.embed_mode == 0 && !attributes.ep_cache_context.empty()) {
      auto [found, is_new] =
          blob_of_file.try_emplace(attributes.ep_cache_context, static_cast<int32_t>(batch.blobs.size()));
      load.blob = found->second;
      if (is_new) {
        std::string what = fmt::format("EPContext node '{}' (source '{}'): file '{}'", NodePath(*node),
                                       attributes.source, PrintableLine(attributes.ep_cache_context, 200));
        ContextBlob blob = OpenPayload(attributes.ep_cache_context, options, what);
        auto record = std::find_if(records.begin(), records.end(), [&](const PayloadRecord& candidate) {
          return candidate.file == attributes.ep_cache_context;
        });
        if (record != records.end()) {
          CheckRecord(*record, blob, options, what);
        } else if (!records.empty() && options.verify_digests) {
          Fail(StatusCode::kInvalidGraph,
               "{}: the model has records of its payloads, but none of this one; "
               "compile the model again",
               what);
        }
        batch.blobs.push_back(std::move(blob));
      }
    } else if (attributes.embed_mode == 1 && attributes.main_context == 1) {
      load.blob = static_cast<int32_t>(batch.blobs.size());
      std::string what =
          fmt::format("EPContext node '{}' (source '{}'): the embedded payload", NodePath(*node), attributes.source);
      CheckEmbedded(records, attributes.payload, options, what);
      batch.blobs.push_back(attributes.payload);
    }
    if (attributes.main_context == 1) primaries.push_back(load.blob);
    batch.nodes.push_back(node);
    batch.to_load.push_back(std::move(load));
  }
  // A secondary finds its graph in the primary's payload: the one it names, or the only one.
  for (size_t i = 0; i < batch.to_load.size(); ++i) {
    ContextNodeToLoad& load = batch.to_load[i];
    if (load.main_context == 1) continue;
    if (primaries.empty()) {
      Fail(StatusCode::kInvalidGraph,
           "EPContext node '{}' (source '{}') has main_context 0, but no node with main_context 1 and a source of the "
           "same provider is in the model; compile the model again",
           NodePath(*load.node), load.source);
    }
    bool names_primary = std::find(primaries.begin(), primaries.end(), load.blob) != primaries.end();
    if (!names_primary)
      load.blob =
          std::all_of(primaries.begin(), primaries.end(), [&](int32_t blob) { return blob == primaries.front(); })
              ? primaries.front()
              : -1;
  }
  return batch;
}

}  // namespace epiphyte::core
