#include "core/context/node_payload.h"

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

std::string Label(const Node& node, const EpContextAttributes& attributes) {
  return fmt::format("EPContext node '{}' (source '{}')", NodePath(node), attributes.source);
}

}  // namespace

NodePayloads::NodePayloads(const std::filesystem::path& model, const std::map<std::string, std::string>& metadata)
    : model_(model), records_(ReadPayloadRecords(metadata)), used_(records_.size(), false) {}

const NodePayload& NodePayloads::Open(const Node& node, const EpContextAttributes& attributes) {
  if (attributes.embed_mode == 1) {
    auto [found, is_new] = embedded_.try_emplace(&node);
    if (is_new && attributes.main_context == 1) {
      found->second.blob = attributes.payload;
      Compare(node, attributes, &found->second);
    }
    return found->second;
  }
  if (attributes.ep_cache_context.empty()) return none_;
  auto [found, is_new] = files_.try_emplace(attributes.ep_cache_context);
  if (is_new) found->second = OpenFile(node, attributes);
  return found->second;
}

NodePayload NodePayloads::OpenFile(const Node& node, const EpContextAttributes& attributes) {
  NodePayload payload;
  const std::string what =
      fmt::format("{}: file '{}'", Label(node, attributes), PrintableLine(attributes.ep_cache_context, 200));
  if (model_.empty()) {
    payload.problem = what + " is outside the model, and a model from memory has no folder; give the model as a file";
    return payload;
  }
  try {
    const auto file = MappedFile::Open(ResolveBeside(model_, attributes.ep_cache_context, what));
    payload.blob = {file->data(), file->size(), file, file};
    payload.digest = file->Digest(nullptr);
  } catch (const Error& error) {
    payload.problem = error.message();
  }
  // A file that can't be opened uses its record too: the record is not what is wrong.
  Compare(node, attributes, &payload);
  return payload;
}

void NodePayloads::Compare(const Node& node, const EpContextAttributes& attributes, NodePayload* payload) {
  const bool is_file = attributes.embed_mode == 0;
  if (!is_file) payload->digest = Xxh128(payload->blob.data, payload->blob.size);
  const PayloadRecord* record = nullptr;
  for (size_t i = 0; i < records_.size(); ++i) {
    const PayloadRecord& candidate = records_[i];
    const bool fits = is_file ? candidate.file == attributes.ep_cache_context
                              : candidate.file.empty() && candidate.xxh128 == payload->digest;
    if (fits) {
      used_[i] = true;
      record = &candidate;
    } else if (!is_file && candidate.file.empty() && record == nullptr) {
      record = &candidate;
    }
  }
  if (record != nullptr) payload->recorded_digest = record->xxh128;
  if (!payload->problem.empty() || records_.empty()) return;
  const std::string what =
      is_file ? fmt::format("{}: file '{}'", Label(node, attributes), PrintableLine(attributes.ep_cache_context, 200))
              : fmt::format("{}: the embedded payload", Label(node, attributes));
  if (record == nullptr) {
    payload->problem =
        fmt::format("{}: the model has records of its payloads, but none of this one; compile the model again", what);
    return;
  }
  if (record->size != payload->blob.size) {
    payload->problem = fmt::format(
        "{} has {} bytes, the model was written with {}; it was replaced or cut off: restore it or compile the model "
        "again",
        what, payload->blob.size, record->size);
  } else if (record->xxh128 != payload->digest) {
    payload->problem = fmt::format(
        "{} has digest {}, the model was written with {}; it was replaced or damaged: restore it or compile the model "
        "again",
        what, payload->digest, record->xxh128);
  }
}

std::vector<const PayloadRecord*> NodePayloads::UnusedRecords() const {
  std::vector<const PayloadRecord*> unused;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (!used_[i]) unused.push_back(&records_[i]);
  }
  return unused;
}

}  // namespace epiphyte::core
