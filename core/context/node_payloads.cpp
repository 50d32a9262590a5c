#include "core/context/node_payloads.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/base/hash.h"
#include "core/base/mapped_file.h"
#include "core/base/safe_path.h"
#include "core/base/text.h"
#include "core/context/recorded_bytes.h"
#include "core/context/seal.h"
#include "core/onnx/read/file_kind.h"

namespace epiphyte::core {
namespace {

// Runs `look` and turns what it throws into the payload's problem.
template <typename Look>
void Noting(NodePayload* payload, Look&& look) {
  try {
    look();
  } catch (const Error& error) {
    payload->problem = error.message();
    payload->code = error.code();
  }
}

}  // namespace

ContextBlob CopyOf(const ContextBlob& blob) {
  constexpr std::align_val_t kAlignment{kPayloadAlignment};
  std::shared_ptr<void> copy(::operator new(blob.size, kAlignment),
                             [](void* memory) { ::operator delete(memory, kAlignment); });
  std::memcpy(copy.get(), blob.data, blob.size);
  return {copy.get(), blob.size, copy, blob.file};
}

ContextBlob Aligned(const ContextBlob& blob) {
  return reinterpret_cast<uintptr_t>(blob.data) % kPayloadAlignment == 0 ? blob : CopyOf(blob);
}

NodePayloads::NodePayloads(PayloadAccess access, const Metadata& metadata)
    : access_(std::move(access)), records_(ReadPayloadRecords(metadata)), used_(records_.size(), false) {}

const NodePayload& NodePayloads::Open(const Node& node, const ContextAttributes& attributes) {
  const auto label = [&] {
    return fmt::format("EPContext node '{}' (source '{}')", NodePath(node), PrintableLine(attributes.source, 200));
  };
  if (!attributes.HasPayload()) return none_;
  if (!attributes.IsFile()) {
    auto [found, is_new] = embedded_.try_emplace(&node);
    NodePayload* payload = &found->second;
    if (is_new) {
      payload->blob = attributes.embedded;
      Noting(payload, [&] { LookAtEmbedded(label() + ": the embedded payload", payload); });
    }
    return *payload;
  }
  const std::string& name = attributes.ep_cache_context;
  auto [found, is_new] = files_.try_emplace(name);
  NodePayload* payload = &found->second;
  if (is_new) {
    const std::string what = fmt::format("{}: file '{}'", label(), PrintableLine(name, 200));
    Noting(payload, [&] { LookAtFile(name, what, payload); });
  }
  return *payload;
}

const NodePayload& NodePayloads::Require(const Node& node, const ContextAttributes& attributes) {
  const NodePayload& payload = Open(node, attributes);
  if (payload.problem.empty()) return payload;
  const Hint hint = payload.code == StatusCode::kInvalidGraph ? Hint::kVerify : Hint::kNone;
  throw Error(payload.code, payload.problem, payload.is_unrecorded ? Hint::kReseal : hint);
}

NodePayload NodePayloads::OpenRecorded(const PayloadRecord& record) const {
  NodePayload payload;
  payload.recorded_digest = record.xxh128;
  const std::string what = fmt::format("file '{}'", PrintableLine(record.file, 200));
  Noting(&payload, [&] {
    payload.blob = OpenFile(record.file, what);
    Compare(what, &record, /*with_digest=*/true, &payload);
  });
  return payload;
}

void NodePayloads::LookAtFile(const std::string& name, std::string_view what, NodePayload* payload) {
  // A file that can't be opened still counts as a use of its record: the record is not at fault.
  const PayloadRecord* record = nullptr;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].file != name) continue;
    used_[i] = true;
    if (record == nullptr) record = &records_[i];
  }
  if (record != nullptr) payload->recorded_digest = record->xxh128;
  const bool verified = access_.digests != PayloadAccess::kNone;
  const bool is_shared = access_.group != nullptr && access_.store != nullptr && record != nullptr;
  if (is_shared) {
    payload->blob = access_.group->FindStored(access_.store, *record, verified);
    if (payload->blob.data != nullptr) return;
  }
  payload->blob = OpenFile(name, what);
  Compare(what, record, verified, payload);
  if (is_shared) payload->blob = access_.group->KeepStored(access_.store, *record, verified, Aligned(payload->blob));
}

// Embedded payloads have no name. If the model has records of embedded payloads, one of them must match.
void NodePayloads::LookAtEmbedded(std::string_view what, NodePayload* payload) {
  const ContextBlob& blob = payload->blob;
  const bool by_size = access_.digests == PayloadAccess::kNone ||
                       (access_.digests == PayloadAccess::kRecorded && access_.embedded_verified);
  const PayloadRecord* own = nullptr;
  const PayloadRecord* nearest = nullptr;
  for (size_t i = 0; i < records_.size(); ++i) {
    const PayloadRecord& record = records_[i];
    if (!record.file.empty()) continue;
    if (nearest == nullptr || record.size == blob.size) nearest = &record;
    if (record.size != blob.size) continue;
    if (!by_size && payload->digest.empty()) payload->digest = DigestOf(blob);
    if (!by_size && record.xxh128 != payload->digest) continue;
    used_[i] = true;
    own = &record;
  }
  const PayloadRecord* record = own != nullptr ? own : nearest;
  if (record != nullptr) payload->recorded_digest = record->xxh128;
  Compare(what, record, !by_size, payload);
}

void NodePayloads::Compare(std::string_view what, const PayloadRecord* record, bool with_digest,
                           NodePayload* payload) const {
  const auto digest = [&] {
    if (payload->digest.empty()) payload->digest = DigestOf(payload->blob);
    return payload->digest;
  };
  if (access_.digests == PayloadAccess::kAll) digest();
  if (record != nullptr) {
    const std::string problem =
        Mismatch(what, *record, payload->blob.size, with_digest ? std::function<std::string()>(digest) : nullptr);
    if (!problem.empty()) Fail(StatusCode::kInvalidGraph, "{}", problem);
  } else if (!records_.empty() && access_.digests != PayloadAccess::kNone) {
    // The payload would not be compared with anything.
    payload->is_unrecorded = true;
    Fail(StatusCode::kInvalidGraph, "{}: the model has records of its payloads, but none of this one; {}", what,
         kChangeAdvice);
  }
}

ContextBlob NodePayloads::OpenNamed(const std::string& name, std::string_view what) const {
  if (access_.store != nullptr) {
    CheckFileName(name, what);
    ContextStore::Bytes bytes = access_.store->Open(name);
    return {bytes.data, bytes.size, std::move(bytes.owner)};
  }
  const std::filesystem::path path = ResolveBeside(access_.model, name, what);
  if (access_.group != nullptr) return access_.group->OpenFile(path);
  const auto file = MappedFile::Open(path);
  return {file->data(), file->size(), file, file};
}

ContextBlob NodePayloads::OpenFile(const std::string& name, std::string_view what) const {
  if (access_.store == nullptr && access_.model.empty()) {
    Fail(StatusCode::kInvalidGraph,
         "{} is outside the model, and a model from memory has no folder; set ep.context_file_path", what);
  }
  try {
    ContextBlob blob = OpenNamed(name, what);
    RefuseLfsPointer({static_cast<const char*>(blob.data), blob.size}, fmt::format("file '{}'", name));
    return blob;
  } catch (const Error& error) {
    const bool named = error.message().starts_with(what);
    Fail(StatusCode::kInvalidGraph, "{}{}{}; put the file in its place or compile the model again", named ? "" : what,
         named ? "" : ": ", error.message());
  }
}

std::string NodePayloads::DigestOf(const ContextBlob& blob) const {
  if (blob.file == nullptr) return Xxh128OfMapping(blob.data, blob.size, access_.pool, access_.on_progress);
  return access_.group != nullptr ? access_.group->DigestOf(blob, access_.pool, access_.on_progress)
                                  : blob.file->Digest(access_.pool, access_.on_progress);
}

std::vector<const PayloadRecord*> NodePayloads::UnusedRecords() const {
  std::vector<const PayloadRecord*> unused;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (!used_[i]) unused.push_back(&records_[i]);
  }
  return unused;
}

}  // namespace epiphyte::core
